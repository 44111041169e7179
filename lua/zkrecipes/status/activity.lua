-- Stores the activity of one host: what it holds, which coroutines wait for what, and counters. It costs little and keeps nothing
-- alive; status.lua shows it.
--
-- Waits are found among the records of wait.lua: a record for such a wait has its object. So a coroutine that is killed or canceled
-- disappears from here together with its wait. Waits of another kind are in a list.

local core = require "zkrecipes.core"
local hosts = require "zkrecipes.host.host"
local wait = require "zkrecipes.host.wait"

local M = {}

-- Methods that wait for a hold; class > its method that waits for something else that is shown; and methods that release a hold. These
-- are words of the API, which all recipes share. A wait is noted before anything is granted, so the class of the result cannot tell.
M.gives = { acquire = true, campaign = true, read = true, write = true }
M.waits = { barrier = "wait", cyclic_barrier = "wait", double_barrier = "enter", latch = "wait" }
local ENDS = { "release", "resign" }

-- Upper bounds of the histogram of waits, in seconds.
M.BOUNDS = { 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60 }

-- Metatable of holds > function that tells whether a hold is over for good; a hold that is not valid now may become valid again.
-- And > function that returns the host of a hold.
local over_by, host_by = {}, {}

-- Hold > its number in its host's `holds`; and the holds that were granted in the background. Lua 5.1 would keep a hold forever whose
-- value here led back to it, and the host of a simulated world leads to everything in that world.
local number_of, in_background = setmetatable({}, { __mode = "k" }), setmetatable({}, { __mode = "k" })

-- `holds`: number > hold. Weak values are removed before finalizers run, weak keys after: with weak keys we would meet collected holds.
-- `waiting`: the records of waits, with their object and start time; see begin. `trees`: number > watched copy, as `holds`.
-- `objects`: number > what else the program takes part in; see takes_part.
local function new()
  local record = { holds = setmetatable({}, { __mode = "v" }), waiting = setmetatable({}, { __mode = "k" }),
    trees = setmetatable({}, { __mode = "v" }), objects = setmetatable({}, { __mode = "v" }), copied = 0, joined = 0,
    granted = 0, ended = 0, lost = 0, failed = {}, waits = {}, seconds = 0 }
  for i = 1, #M.BOUNDS + 1 do record.waits[i] = 0 end
  return record
end

hosts.extend(function(host)
  host.activity = new()
  function host.client.holding() return M.holding(host) end
end)

-- Stores that there is this watched copy.
function M.copies(host, tree)
  local record = host.activity
  record.copied = record.copied + 1
  record.trees[record.copied] = tree
end

local state_of = setmetatable({}, { __mode = "k" }) -- object > its function `state`

-- Stores that the program takes part in something. object: has `path`. state(object): a few words; nil: it is over.
function M.takes_part(host, object, state)
  local record = host.activity
  record.joined = record.joined + 1
  record.objects[record.joined], state_of[object] = object, state
end

-- Calls found(number, object, words) for each object that is not over.
function M.each_object(host, found)
  for number, object in pairs(host.activity.objects) do
    local words = state_of[object](object)
    if words then found(number, object, words) end
  end
end

local function count_wait(record, seconds)
  local i = 1
  while M.BOUNDS[i] and seconds > M.BOUNDS[i] do i = i + 1 end
  record.waits[i] = record.waits[i] + 1
  record.seconds = record.seconds + seconds
end

-- Stores that the running coroutine was granted this, or that its hold is over or belongs to it no longer. give_back(hold): releases
-- it if the program does not; nil: call release or resign.
function M.granted(host, hold, give_back)
  if host.adapter.granted then host.adapter.granted(hold, give_back) end
end

function M.ended(host, hold)
  if host.adapter.ended then host.adapter.ended(hold) end
end

-- Counts the outcome of a wait that began at `since`.
function M.outcome(host, since, hold, message, code)
  local record, adapter = host.activity, host.adapter
  if not hold then
    record.failed[code] = (record.failed[code] or 0) + 1
    return nil, message, code
  end
  record.granted = record.granted + 1
  count_wait(record, adapter.now() - since)
  record.holds[record.granted] = hold
  number_of[hold] = record.granted
  in_background[hold] = adapter.in_background and adapter.in_background() or nil
  M.granted(host, hold)
  return hold
end

local function record_of(host, slot, object)
  local record = wait.slot(host, slot)
  record.object, record.since = object, host.adapter.now()
  return record
end

-- Waits in this slot at the object.
function M.await(host, slot, object) return wait.await(host, slot, record_of(host, slot, object)) end

-- Waits in this slot for a hold of the object.
function M.await_hold(host, slot, object)
  local record = record_of(host, slot, object)
  local since = record.since
  return M.outcome(host, since, wait.await(host, slot, record))
end

-- ---- Waits of more than one slot ---------------------------------------------------------------

-- Stores that this record stands for a wait for a hold of `object`.
function M.begin(host, record, object)
  record.object, record.since = object, host.adapter.now()
  host.activity.waiting[record] = true
end

function M.forget(host, record) host.activity.waiting[record] = nil end

-- Calls found(object, since) for each wait, except those whose coroutines were killed.
function M.each_waiting(host, found)
  for _, record in pairs(host.waiters) do
    if record and record.object then found(record.object, record.since) end
  end
  local gone = host.parked and host.adapter.gone
  for note in pairs(host.activity.waiting) do
    if not (note.awake or gone and note.token and gone(note.token)) then found(note.object, note.since) end
  end
end

-- ---- Its end -----------------------------------------------------------------------------------

local function is_over(hold) return over_by[debug.getmetatable(hold)](hold) end
M.is_over = is_over

local function note_end(hold)
  local number = number_of[hold]
  if not number then return end
  local host = host_by[debug.getmetatable(hold)](hold)
  local record, how = host.activity, is_over(hold) and "lost" or "ended"
  record[how] = record[how] + 1
  record.holds[number], number_of[hold], in_background[hold] = nil, nil, nil
  M.ended(host, hold)
end

-- Counts the holds that are lost and not released yet.
function M.prune(host)
  for _, hold in pairs(host.activity.holds) do
    if is_over(hold) then note_end(hold) end
  end
end

-- Makes the methods that end a hold count it, and `<close>` calls them.
function M.follow(class)
  over_by[class.meta], host_by[class.meta] = class.inner.over, class.inner.host or core.host
  for _, name in ipairs(ENDS) do
    local method = class.methods[name]
    if method then
      class.methods[name] = function(self, ...)
        if number_of[self] then note_end(self) end
        return method(self, ...)
      end
      class.meta.__close = function(hold) hold[name](hold) end
    end
  end
end

-- How much is held for requests.
function M.holding(host)
  local count = 0
  for _, hold in pairs(host.activity.holds) do
    if not in_background[hold] and hold:valid() then count = count + 1 end
  end
  return count
end

core.own(debug.getinfo(1, "S").source)
return M
