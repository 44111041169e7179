-- Keeps one part while it is wanted: a task that acquires the part's lock and holds it.
--
-- 1. It acquires the lock. If the member that had the part still holds it, it waits for that.
-- 2. While it holds it, it runs the function of partitioner:run, if there is one, in a task of its own.
-- 3. When the part is not wanted any more, or the hold is lost, it cancels that task. It releases the lock only after the function has
--    ended, so that the next member does not begin before.
--
-- What can go wrong: the function fails: it is reported, and called again after a pause, longer after each error. The lock cannot be
-- acquired: try again after a pause. The hold is lost: acquire again, in the next session. The keeper's own coroutine is ended from
-- outside: its end releases what it holds.

local core = require "zkrecipes.core"
local dispatch = require "zkrecipes.host.dispatch"
local requests = require "zkrecipes.lost_answers"
local retry = require "zkrecipes.host.retry"
local tasks = require "zkrecipes.host.tasks"
local wait = require "zkrecipes.host.wait"
local wakeups = require "zkrecipes.host.wakeup"

local M = {}

local Keeper = {}
Keeper.__index = Keeper

local PAUSES = { backoff = 0.05, backoff_max = 3 } -- seconds, after a lock that could not be acquired

-- ---- The user's function -----------------------------------------------------------------------

local function failed(keeper, run, problem)
  keeper.failures = keeper.failures + 1
  keeper.retry_at = keeper.host.adapter.now() + retry.seconds(run, keeper.failures)
  tasks.behind(keeper.host, { quiet = true }, retry.report, keeper.host, run.on_error, problem, keeper.part)
end

-- The end of the function's task.
local function ended(keeper, run, hold, task)
  keeper.service = nil
  local problem = task.results[1]
  if task.ok then
    keeper.served = run
  elseif problem ~= wait.canceled and hold:valid() then
    failed(keeper, run, problem)
  end
  keeper.wakeup:wake()
  run.ended_one(run)
end

local function begin(keeper, run, hold)
  local service = { run = run }
  keeper.service = service
  run.live = run.live + 1
  local how = { quiet = true, on_end = function(task) ended(keeper, run, hold, task) end, over = function() return not hold:valid() end }
  local ok, task = pcall(tasks.spawn, keeper.host, how, run.fn, keeper.part, hold)
  if ok then
    service.task = task
    return
  end
  ended(keeper, run, hold, { ok = false, results = { task } })
end

local function stop_service(keeper)
  local service = keeper.service
  if service and service.task then service.task:cancel() end
end

-- Seconds until the function is called again; 0: now; nil: it need not be.
local function due(keeper, run)
  if not run or run.ended or keeper.service or keeper.served == run then return nil end
  return math.max(keeper.retry_at - keeper.host.adapter.now(), 0)
end

-- ---- The hold ----------------------------------------------------------------------------------

-- Serves the part as long as it is wanted and held.
local function serve(keeper, hold)
  while keeper.wanted and hold:valid() do
    local run, service = keeper.work.run, keeper.service
    if service and (service.run ~= run or run.ended) then stop_service(keeper) end
    local seconds = due(keeper, run)
    if seconds == 0 then begin(keeper, run, hold) else keeper.wakeup:pause(seconds) end
  end
  stop_service(keeper)
  while keeper.service do keeper.wakeup:pause() end
end

-- Ends the hold; idempotent. The reason is told to the readers of changes.
local function let_go(keeper)
  local own = keeper.own
  if not own then return end
  own.why = not own.hold:valid() and "lost" or keeper.why or "moved"
  keeper.own = nil
  own.hold:release()
  keeper.work:tell(keeper.part)
end

local function own(keeper, hold)
  keeper.own = { part = keeper.part, hold = hold }
  keeper.served, keeper.failures, keeper.retry_at = nil, 0, 0
  local told = hold:on_lost(function() keeper.wakeup:wake() end)
  if told then
    keeper.work:tell(keeper.part)
    serve(keeper, hold)
  end
  let_go(keeper)
end

-- ---- The task ----------------------------------------------------------------------------------

local function complain(keeper, message)
  if keeper.problem == message then return end
  keeper.problem = message
  dispatch.tell(keeper.host, "warning", message, keeper.work.session)
end

local function keep(keeper)
  local failures = 0
  while keeper.wanted do
    local hold, message, code = keeper.lock:acquire()
    if hold then
      failures = 0
      if keeper.wanted then own(keeper, hold) else hold:release() end
    elseif requests.ENDS[code] then
      return
    elseif code ~= "canceled" then
      if not requests.PASSES[code] then complain(keeper, message) end
      failures = failures + 1
      keeper.wakeup:pause(retry.seconds(PAUSES, failures))
    end
  end
end

-- Its task has ended, perhaps because it was killed.
local function over(keeper)
  stop_service(keeper)
  let_go(keeper)
  keeper.work:keeper_ended(keeper)
end

-- want(): it may have been given up a moment ago.
function Keeper:want()
  self.wanted = true
  self.wakeup:wake()
end

-- give_up(why): "moved", "removed" or "closed". The lock is released when the function has ended.
function Keeper:give_up(why)
  if not self.wanted then return end
  self.wanted, self.why = false, why
  self.lock:cancel()
  self.wakeup:wake()
end

-- new(work, part, lock): work: what the keeper needs of the partitioner: { session, host, run; tell(part), keeper_ended(keeper) }.
function M.new(work, part, lock)
  local keeper = setmetatable({ work = work, host = work.host, part = part, lock = lock, wanted = true,
    wakeup = wakeups.new(work.host) }, Keeper)
  keeper.task = tasks.behind(work.host, { on_end = function() over(keeper) end }, keep, keeper)
  return keeper
end

core.own(debug.getinfo(1, "S").source)
return M
