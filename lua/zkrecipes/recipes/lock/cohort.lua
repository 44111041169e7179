-- A cohort: the coroutines that use one lock handle share one znode. Passing the lock to the next coroutine costs a switch of
-- coroutines and no request.
--
-- 1. When the first coroutine waits, the cohort joins the queue on the servers, as one contender.
-- 2. When the cohort holds the lock, the coroutine that has waited longest gets a turn.
-- 3. When that coroutine releases, the next one gets a turn with the same znode. After TURNS turns, or when no coroutine waits, the
--    cohort deletes the znode, so that other processes get the lock. If coroutines still wait, the cohort joins the queue again.
--
-- Turns share only the znode: a turn that is over stays over, even while the cohort still holds the lock.
--
-- What can go wrong: all waiting coroutines give up (the cohort leaves the queue); the lock is lost (the turn ends, and the cohort
-- claims the lock again for the waiting coroutines; a task watches for the loss while a coroutine waits); the program drops a turn
-- without releasing it (the turn ends when it is collected).

local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.host.coroutines"
local fifo = require "zkrecipes.host.fifo"
local limits = require "zkrecipes.limit"
local activity = require "zkrecipes.status.activity"
local tasks = require "zkrecipes.host.tasks"
local turns = require "zkrecipes.recipes.lock.turn"
local wait = require "zkrecipes.host.wait"

local M = {}

local TURNS = 32

-- ---- The cohort --------------------------------------------------------------------------------

local Cohort = {}
Cohort.__index = Cohort

-- acquire(lock, timeout), cancel(lock), attempts(lock): the lock's own functions. zk.status shows the turns, not the lock's hold.
function M.new(host, lock, acquire, cancel, attempts)
  return setmetatable({ host = host, lock = lock, acquire_main = acquire, cancel_main = cancel, attempts_main = attempts,
    waiting = fifo.new(), count = 0 }, Cohort)
end

local function new_turn(cohort)
  local turn, state = turns.new(cohort)
  cohort.current, cohort.turns = state, cohort.turns + 1
  if cohort.count > 0 then cohort:watch() end
  return turn
end

local function next_waiter(cohort)
  local record = cohort.waiting:pop()
  while record and record.gone do record = cohort.waiting:pop() end
  if not record then return nil end
  cohort.count = cohort.count - 1
  activity.forget(cohort.host, record)
  return record
end

local function leave(cohort, record)
  if record.gone or record.done then return end
  record.gone = true
  activity.forget(cohort.host, record)
  cohort.count = cohort.count - 1
  if cohort.count == 0 then
    cohort.waiting = fifo.new() -- it holds only members that have left
    cohort:withdraw()
  end
end

local function tell_all(cohort, message, code)
  local record = next_waiter(cohort)
  while record do
    record.message, record.code = message, code
    wait.wake(cohort.host, record)
    record = next_waiter(cohort)
  end
end

-- Called when the task that claims the lock ends, also if it was canceled.
local function claimed(cohort, task)
  local hold, message, code
  if task.ok then
    hold, message, code = coroutines.unpack(task.results)
  else
    message, code = "lock:acquire " .. cohort.lock.path .. ": the call was canceled", "canceled"
  end
  cohort.claiming = nil
  cohort.main, cohort.turns = hold, 0
  if hold then return cohort:pass() end
  if code == "canceled" and task.ok and cohort.count > 0 then return cohort:join() end
  tell_all(cohort, message, code)
end

-- Called when a member waits: makes the cohort claim the lock, unless it holds or claims it already.
function Cohort:join()
  if self.main then return self:watch() end
  if self.claiming then return end
  self.claiming = "wait"
  tasks.behind(self.host, { on_end = function(task) claimed(self, task) end }, self.acquire_main, self.lock)
end

-- Called when no member waits any more.
function Cohort:withdraw()
  if self.claiming == "wait" then self.cancel_main(self.lock) end
end

-- Gives the turn to the next member, or gives up the lock.
function Cohort:pass()
  local main = self.main
  if not main then return end
  local record = self.turns < TURNS and main:valid() and next_waiter(self)
  if record then
    record.turn = new_turn(self)
    return wait.wake(self.host, record)
  end
  self.main = nil
  main:release()
  if self.count > 0 then self:join() end
end

-- Called when the lock is lost.
function Cohort:forget()
  self.main = nil
  if self.count > 0 then self:join() end
end

-- Ends the turn when the lock is lost, or released in another way.
local function attend(cohort, main)
  local why = main:lost()
  local current = cohort.current
  if why and current and current.main == main then turns.finish(current, why) end
end

-- Called when a member waits for the end of the turn: watches for the loss of the lock.
function Cohort:watch()
  if self.main == self.watched then return end
  self.watched = self.main
  tasks.behind(self.host, {}, attend, self, self.main)
end

-- ---- Acquire -----------------------------------------------------------------------------------

local function failed(cohort, reason, code)
  return nil, "lock:acquire " .. cohort.lock.path .. ": " .. reason, code
end

local function tried(cohort)
  cohort.claiming = nil
  if cohort.count > 0 then cohort:join() end
end

local function try(cohort)
  local lock = cohort.lock
  if limits.away(lock.session) then return limits.unconnected(lock.session, "lock:acquire " .. lock.path) end
  if cohort.main or cohort.claiming then
    return failed(cohort, "another coroutine of this handle holds the lock or tries to acquire it", "timeout")
  end
  cohort.claiming = "try"
  local hold, message, code = wait.within(cohort.host, tried, cohort, cohort.acquire_main, lock, 0)
  if not hold then
    tried(cohort)
    return nil, message, code
  end
  cohort.claiming = nil
  cohort.main, cohort.turns = hold, 0
  return new_turn(cohort)
end

-- A separate function, so that the record closes over no variable of the frame that waits: if that coroutine is killed (in nginx),
-- its variables are lost.
local function new_member(cohort)
  local record = wait.record(function(record)
    if record.turn then record.turn:release() else leave(cohort, record) end
  end)
  cohort.waiting:push(record)
  cohort.count = cohort.count + 1
  activity.begin(cohort.host, record, cohort.lock)
  return record
end

-- True if no server has yet told the cohort's place in the queue.
local function asks(cohort)
  if cohort.main or not cohort.claiming then return false end
  local claim = cohort.attempts_main(cohort.lock)[1]
  return claim ~= nil and claim.ahead == nil
end

-- As the core does: a turn is not given to a member that runs too late for it.
local function given(cohort, turn)
  if turn:valid() then return turn end
  turn:release()
  if cohort.lock.session.state == "closed" then return failed(cohort, "the session is closed; open a new one", "closed") end
  return failed(cohort, "it may be lost, because the caller could not run in time; call again", "lost")
end

local function wait_for_turn(cohort, record, timeout)
  cohort:join()
  local ok, done = coroutines.pcall(wait.pause, cohort.host, record, timeout)
  local asking = asks(cohort)
  if not (ok and done) then record:give_up() end
  if not ok then error(done, 0) end
  if record.turn then return given(cohort, record.turn) end
  if record.done then return nil, record.message, record.code end
  return limits.passed(cohort.lock.session, "lock:acquire " .. cohort.lock.path, asking)
end

function Cohort:acquire(timeout)
  wait.check()
  local host = self.host
  if timeout == 0 then return activity.outcome(host, host.adapter.now(), try(self)) end
  local record = new_member(self)
  return activity.outcome(host, record.since, wait_for_turn(self, record, timeout))
end

-- The attempts for lock:attempts. `claims`: the lock's own attempts, at most one.
function Cohort:attempts(claims)
  local list, ahead = {}, self.current and 1 or claims[1] and claims[1].ahead
  self.waiting:each(function(record)
    if record.gone then return end
    list[#list + 1] = { ahead = ahead, since = record.since }
    ahead = ahead and ahead + 1
  end)
  return list
end

function Cohort:cancel()
  local count = self.count
  local _, message, code = failed(self, "the call was canceled", "canceled")
  tell_all(self, message, code)
  self:withdraw()
  return count
end

core.own(debug.getinfo(1, "S").source)
return M
