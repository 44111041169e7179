-- What the tasks of a partitioner share; partitioner.lua has the story. The user's object refers to it, and it does not refer to the user's
-- object, so that this can be collected.
--
-- The steward is the task that follows the group. It divides, and starts and gives up the keepers.
--
-- What can go wrong: there is no memory for a lock: the steward divides again after a pause. The steward's coroutine is ended from outside:
-- the partitioner is closed, as nothing would divide any more.

local changes = require "zkrecipes.recipes.partitioner.changes"
local core = require "zkrecipes.core"
local dispatch = require "zkrecipes.host.dispatch"
local division = require "zkrecipes.recipes.partitioner.division"
local keepers = require "zkrecipes.recipes.partitioner.keeper"
local paths = require "zkrecipes.path"
local random = require "zkrecipes.random"
local requests = require "zkrecipes.lost_answers"
local runs = require "zkrecipes.recipes.partitioner.run"
local tasks = require "zkrecipes.host.tasks"
local wait = require "zkrecipes.host.wait"
local waiters = require "zkrecipes.host.waiters"

local BURST = 5 -- it divides so many times `settle` after the first change of a burst, at the latest
local PAUSE = 0.5 -- seconds, after a failure that may pass

local NONE = {} -- no member has another set

local Work = { NONE = NONE }
Work.__index = Work

-- ---- Telling -----------------------------------------------------------------------------------

-- own_of(part): { part =, hold =, why = once it has ended }, if it is held.
function Work:own_of(part)
  local keeper = self.keepers[part]
  return keeper and keeper.own
end

-- tell(part): it was gained, or has ended.
function Work:tell(part)
  local readers = wait.in_order(self.readers)
  for i = 1, #readers do changes.note(readers[i], part) end
end

function Work:wake_readers()
  local readers = wait.in_order(self.readers)
  for i = 1, #readers do changes.wake(readers[i]) end
end

local function same(one, other)
  if #one ~= #other then return false end
  for i = 1, #one do
    if one[i] ~= other[i] then return false end
  end
  return true
end

local DIFFER = "partitioner %s: the set of parts differs between members: %s has another one than %s; a part stays without an owner " ..
  "while the member to which it belongs does not have it in its set"

local function tell_sets(work, differing)
  if same(work.differing, differing) then return end
  work.differing = #differing > 0 and differing or NONE
  if #differing > 0 then dispatch.tell(work.host, "warning", DIFFER:format(work.path, differing[1], work.id), work.session) end
  work:wake_readers()
end

-- ---- Dividing ----------------------------------------------------------------------------------

-- The members that the copy shows; the ids of those that have another set; whether the znode with our id is ours, nil: there is none.
local function look(work)
  local members, differing, here = {}, {}, nil
  for _, each in ipairs(work.group:members()) do
    local weight, mark, nonce = division.decode(each.data)
    if weight then members[#members + 1] = { id = each.id, weight = weight } end
    if mark ~= work.set.mark and nonce ~= work.nonce then differing[#differing + 1] = each.id end
    if each.id == work.id then here = nonce == work.nonce end
  end
  table.sort(differing)
  return members, differing, here
end

-- give_up(mine): what is not in it does not belong to us any more.
function Work:give_up(mine)
  local all = wait.in_order(self.numbers)
  for i = 1, #all do
    local part = all[i]
    if not mine[part] then self.keepers[part]:give_up(self.set.has[part] and "moved" or "removed") end
  end
end

local function keep(work, part)
  local keeper = work.keepers[part]
  if keeper then return keeper:want() end
  local lock = work.session:lock(work.locks[part], { data = work.id })
  if not lock then -- without memory
    work.again = true
    return
  end
  work.came = work.came + 1
  work.numbers[part] = work.came
  work.keepers[part] = keepers.new(work, part, lock)
end

-- take(set, locks): another set. What is removed from it is given up at once.
function Work:take(set, locks)
  self.set, self.locks = set, locks
  self:give_up(set.has)
  tell_sets(self, select(2, look(self)))
end

local function divide(work)
  local members, differing, here = look(work)
  work.again = false
  tell_sets(work, differing)
  if here == false then work:give_up {} end
  if not here then return end
  local mine, list = {}, division.of(work.id, work.set.parts, members)
  for i = 1, #list do mine[list[i]] = true end
  work:give_up(mine)
  for i = 1, #list do
    if not work.over and work.set.has[list[i]] then keep(work, list[i]) end -- a finalizer may have given another set
  end
  work.divisions = work.divisions + 1
  work.ready:wake()
end

-- A keeper's task has ended: it was given up, or cannot go on.
function Work:keeper_ended(keeper)
  if self.keepers[keeper.part] == keeper then self.keepers[keeper.part], self.numbers[keeper.part] = nil, nil end
  if next(self.keepers) then return end
  self.idle:wake()
  self:wake_readers()
end

-- ---- The steward -------------------------------------------------------------------------------

-- Waits until there was no change for a moment.
local function settle(work, reader)
  local now = work.host.adapter.now
  local last = now() + BURST * work.settle
  local change
  repeat change = reader:next(math.max(math.min(work.settle, last - now()), 0)) until not change
end

-- Divides after each change, until the partitioner or the session is closed.
local function follow(work, reader)
  while not work.over do
    local change, message, code = reader:next(work.again and PAUSE or nil)
    if change then
      settle(work, reader)
    elseif requests.PASSES[code] then
      wait.pause(work.host, wait.record(), PAUSE)
    elseif code ~= "timeout" then
      return work:shut(message, code)
    end
    if not work.over and (change or work.again) then divide(work) end
  end
end

-- shut(message, code): the end; does not wait. Keepers release their locks when the functions have ended.
function Work:shut(message, code)
  if self.over then return end
  self.over = { message, code }
  self.group:close()
  self.member = nil -- it leaves when it is collected, if `close` has not asked it to
  if self.run then runs.stop(self.run, code, message) end
  local all = wait.in_order(self.numbers)
  for i = 1, #all do self.keepers[all[i]]:give_up "closed" end
  self:wake_readers()
  self.ready:wake()
end

-- ---- The beginning ------------------------------------------------------------------------------

-- new(session, path, set, locks, options): options: weight, id, settle.
function Work.new(session, path, set, locks, options)
  local host = core.host(session)
  return setmetatable({ session = session, host = host, path = path, set = set, locks = locks, id = options.id, weight = options.weight,
    settle = options.settle, nonce = random.hex(8), keepers = {}, numbers = {}, came = 0, readers = setmetatable({}, { __mode = "k" }),
    reads = 0, differing = NONE, divisions = 0, ready = waiters.new(host), idle = waiters.new(host) }, Work)
end

-- Joins, and begins to follow the group; true, or nil, message, code.
function Work:start()
  local work = self
  local group, message, code = work.session:group(paths.child(work.path, "members"))
  if not group then return nil, message, code end
  local reader
  reader, message, code = group:changes()
  if not reader then return nil, message, code end
  work.group = group
  work.member, message, code = group:join(division.encode(work.weight, work.set.mark, work.nonce), { id = work.id })
  if not work.member then
    group:close()
    return nil, message, code
  end
  tasks.behind(work.host, { on_end = function() work:shut("its coroutine was ended", "canceled") end }, follow, work, reader)
  return true
end

core.own(debug.getinfo(1, "S").source)
return Work
