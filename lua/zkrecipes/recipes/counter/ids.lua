-- Ids: unique numbers and names. Composes the counter (src/recipes/counter) and sequential znodes.
--
-- next:
-- 1. Give the next number of the block.
-- 2. The block is used up: a task in the background adds `block` to the counter, once for all coroutines that ask meanwhile. The sum is the
--    last number of the new block.
--
-- What can go wrong: the answer to the add is lost (the counter finds out the outcome; if it cannot, the callers fail, and the next
-- call takes another block: numbers are skipped, none is given twice). All callers give up: the block is kept for later ones. The counter
-- was deleted or set: a block that does not lie above the last one ends the object, because other processes may have given those numbers.
--
-- next_name: a task in the background creates an ephemeral sequential znode and deletes it. The server does not give its number again
-- while the directory exists.
--
-- What can go wrong: the answer is lost (create another one; the first one goes with the session). The caller gives up (the task in the
-- background deletes the znode nevertheless). The server's numbers stop at 2147483647, which all later znodes get. The directory was
-- deleted and created again: its numbers start again, and so does the counter, so the object ends.

local check = require "zkrecipes.check"
local child = require "zkrecipes.path".child
local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"
local failure = require "zkrecipes.failure"
local limits = require "zkrecipes.limit"
local requests = require "zkrecipes.lost_answers"
local tasks = require "zkrecipes.host.tasks"
local wait = require "zkrecipes.host.wait"
local waiters = require "zkrecipes.host.waiters"

local BLOCK, BLOCK_MAX = 1000, 1000000000
local LAST = 2147483647 -- the number at which the server's sequence stops

local Ids = {}
Ids.__index = Ids
Ids.__name = "zkrecipes.ids"

local function timeout_of(options, method, argument)
  local timeout = check.options(options, { timeout = "number" }, argument, method).timeout
  check.seconds(timeout, argument, method, true)
  return timeout
end

-- ---- Numbers -------------------------------------------------------------------------------------

-- The object has ended: the answer of each call from now on.
local function over(ids, method) return nil, ("ids:%s %s: %s"):format(method, ids.path, ids.problem), "conflict" end

local function went_back(ids, first)
  ids.problem = ("the counter went back: %.0f comes after %.0f; it was deleted or set, so numbers may repeat: "
    .. "use another path"):format(first, ids.last)
  return over(ids, "next")
end

-- Adds a block; or nil, message, code.
local function extend(ids)
  local sum, message, code = ids.counter:add(ids.block)
  if not sum then return nil, message, code end
  local first = sum - ids.block + 1
  if ids.last and first <= ids.last then return went_back(ids, first) end
  ids.at, ids.last = first, sum
  return true
end

-- A task of this object has ended; it may have been canceled or killed, or have raised an error. trip: its results.
local function ended(ids, trip, task, text)
  if task.ok then return end
  local reason = task.results[1]
  trip.message = text:format(ids.path, check.text(reason))
  trip.code = reason == wait.canceled and "canceled" or "error"
end

local function arrived(ids, trip, task)
  ids.trip = nil
  ended(ids, trip, task, "ids:next %s: the block was not added: %s")
  ids.waiters:wake()
end

-- One add for all callers that wait now; trip: its result.
local function fetch(ids)
  local trip = {}
  ids.trip = trip
  tasks.behind(ids.host, { quiet = true, on_end = function(task) arrived(ids, trip, task) end },
    function() trip.ok, trip.message, trip.code = extend(ids) end)
  return trip
end

-- Waits for the block that is on its way, or for a new one.
local function await_block(ids, seconds)
  local trip = ids.trip or fetch(ids)
  if ids.trip ~= trip then return trip.ok, trip.message, trip.code end -- it has ended already
  local record = ids.waiters:enter()
  if not wait.pause(ids.host, record, seconds) then
    record:give_up()
    return limits.passed(ids.session, "ids:next " .. ids.path, true)
  end
  if trip.code then return nil, trip.message, trip.code end
  return true
end

local function take(ids)
  local number = ids.at
  if not number then return nil end
  ids.at = number < ids.last and number + 1 or nil -- 2^53 + 1 may be 2^53 again
  return number
end

-- ids:next([{ timeout = }])
function Ids:next(options)
  local timeout = timeout_of(options, "next", 1)
  wait.check()
  local number = not self.problem and take(self)
  if number then return number end
  local session = self.session
  if timeout == 0 and limits.away(session) then return limits.unconnected(session, "ids:next " .. self.path) end
  local limit = limits.new(session, timeout)
  while not number do
    if self.problem then return over(self, "next") end
    local ok, message, code = await_block(self, limit:rest())
    if not ok then return nil, message, code end
    number = take(self)
  end
  return number
end

-- ---- Names ---------------------------------------------------------------------------------------

-- The number at the end of a sequential znode's path; nil: the numbers are used up. (Some servers go on below zero.)
local function number_of(created, path)
  local number = #created == #path + 10 and tonumber(created:match "%d%d%d%d%d%d%d%d%d%d$")
  return number and number < LAST and number or nil
end

-- As long as the directory exists, a later znode has a greater number.
local function in_order(ids, number, czxid)
  local newest = ids.newest
  if newest and (czxid > newest.czxid) ~= (number > newest.number) then return false end
  if not newest or czxid > newest.czxid then ids.newest = { czxid = czxid, number = number } end
  return true
end

local function used_up(ids)
  return nil, ("ids:next_name %s: the directory has used up its sequence numbers; use another path"):format(ids.path), "full"
end

-- Goes on until the outcome is known, or the caller (trip) waits no more.
local function create(ids, limit, path, trip)
  local session = limit.session
  local function attempt()
    return requests.sure_while(trip, session.create, session, path, "", { ephemeral = true, sequential = true })
  end
  local created, stat, code = attempt()
  while code == "no_node" do
    local sum, problem, why = ids.counter:add(0, { timeout = limit:rest() }) -- this makes the directory
    if not sum then return nil, problem, why end
    created, stat, code = attempt()
  end
  return created, stat, code
end

-- Creates a znode and deletes it. It is a task of its own, so that the znode is also deleted if the caller is canceled or killed.
local function make(ids, limit, path, trip)
  trip.created, trip.message, trip.code = limit:told(create(ids, limit, path, trip))
  trip.waiters:wake()
  if trip.created then requests.insist(ids.session, ids.session.delete, ids.session, trip.created) end
end

local Trip = {}
Trip.__index = Trip

-- True while the caller waits.
function Trip:valid() return next(self.waiters.numbers) ~= nil end

-- The znode's path and stat; or nil, message, code.
local function made(ids, limit, path)
  local trip = setmetatable({ waiters = waiters.new(ids.host) }, Trip)
  local record = trip.waiters:enter()
  local function on_end(task)
    if not trip.created then ended(ids, trip, task, "ids:next_name %s: the znode was not created: %s") end
    trip.waiters:wake()
  end
  tasks.behind(ids.host, { quiet = true, on_end = on_end }, make, ids, limit, path, trip)
  wait.pause(ids.host, record)
  return trip.created, trip.message, trip.code
end

-- ids:next_name(prefix [, { timeout = }])
function Ids:next_name(prefix, options)
  if type(prefix) ~= "string" then check.bad(1, "next_name", "string expected, got " .. type(prefix)) end
  if prefix:find("/", 1, true) then check.bad(1, "next_name", ("prefix '%s' holds a slash"):format(check.shown(prefix))) end
  local path = child(self.path, prefix)
  check.path(path, 1, "next_name")
  local limit = limits.new(self.session, timeout_of(options, "next_name", 2))
  wait.check()
  if self.problem then return over(self, "next_name") end
  local created, stat, code = made(self, limit, path)
  if not created then
    -- The last number, whose znode another call has not deleted yet; or a foreign znode with this name.
    if code == "node_exists" then return used_up(self) end
    return nil, stat, code
  end
  local number = number_of(created, path)
  if not number then return used_up(self) end
  if not in_order(self, number, stat.czxid) then
    self.problem = self.problem or "the directory was made anew, so names and numbers may repeat: use another path"
  end
  if self.problem then return over(self, "next_name") end -- another call may have seen it meanwhile
  return created:sub(#self.path + 2)
end

failure.name(Ids, "ids")
check.selves("ids", Ids, Ids)

-- ---- The session's method ------------------------------------------------------------------------

local Session = {}

-- session:ids(path [, { block = 1000 }])
function Session:ids(path, options)
  check.below_root(path, 1, "ids")
  local block = check.options(options, { block = "number" }, 2, "ids").block or BLOCK
  if block % 1 ~= 0 or block < 1 or block > BLOCK_MAX then
    check.bad(2, "ids", ("option 'block': whole number from 1 to %d expected, got %s"):format(BLOCK_MAX, tostring(block)))
  end
  local host = core.host(self)
  return setmetatable({ session = self, host = host, path = path, block = math.floor(block), counter = self:counter(path),
    waiters = waiters.new(host) }, Ids)
end

classes.extend(core.classes.session, Session)

core.own(debug.getinfo(1, "S").source)
return Ids
