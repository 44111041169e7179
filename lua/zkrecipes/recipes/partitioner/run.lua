-- partitioner:run(fn, options): what a call of it is for the keepers, and its wait.
--
-- The keepers call fn(part, hold) in a task of its own for each part that they hold, see keeper.lua. The caller waits until the run is
-- stopped and all these tasks have ended.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local retry = require "zkrecipes.host.retry"
local wait = require "zkrecipes.host.wait"

local M = {}

local function wake_keepers(work)
  local all = wait.in_order(work.numbers)
  for i = 1, #all do work.keepers[all[i]].wakeup:wake() end
end

-- The caller goes on when no function of this run is left.
local function wake_if_over(run)
  if not run.ended or run.live > 0 then return end
  if run.work.run == run then run.work.run = nil end
  wait.wake(run.work.host, run.record)
end

-- A function of this run has ended.
local function ended_one(run)
  run.live = run.live - 1
  wake_if_over(run)
end

-- stop(run [, code, message]): idempotent; does not wait. code: of the failure that the caller gets; nil: none, the partitioner is closed.
function M.stop(run, code, message)
  if run.ended then return end
  run.ended = { message, code }
  wake_keepers(run.work)
  wake_if_over(run)
end

-- new(work, fn, options): raises if the arguments are wrong or there is a run already.
function M.new(work, fn, options)
  check.fn(fn, 1, "run")
  options = check.options(options, retry.OPTIONS, 2, "run")
  retry.check(options, 2, "run")
  if work.run then core.misuse("bad call of 'run' (it runs already; a partitioner runs one function at a time)") end
  return retry.set({ work = work, fn = fn, live = 0, ended_one = ended_one }, options)
end

-- The record of the caller's wait. It closes over no variable of the frame that waits.
local function set_record(run)
  run.record = wait.record(function() M.stop(run, "canceled", "its caller was canceled") end)
end

-- wait(run): runs until it is stopped; true if the partitioner was closed; or nil, message, code.
function M.wait(run)
  wait.check()
  set_record(run)
  run.work.run = run
  wake_keepers(run.work)
  wait.pause(run.work.host, run.record)
  local message, code = run.ended[1], run.ended[2]
  if not code then return true end
  return nil, message, code
end

core.own(debug.getinfo(1, "S").source)
return M
