-- Tasks: functions that run in coroutines of the host, can be waited for and canceled.
--
--   spawn(host, how, fn, ...)   how: quiet (errors are somebody else's business), daemon (nobody waits
--                               for its end), on_end(task), over() (true: it counts as canceled; asked at each wait)
--   task:wait([timeout])        the results of fn; or nil, message, code
--   task:cancel()               its present wait and all later ones raise zk.canceled, so that clean-up
--                               behind pcall and <close> runs
--   all(host, fns)  any(host, fns)

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.coroutines"
local crowds = require "zkrecipes.crowd"
local wait = require "zkrecipes.wait"

local M = {}

local pack, unpack = coroutines.pack, coroutines.unpack

local Task = { __name = "zkrecipes.task" }
Task.__index = Task

-- ---- The end of a task -------------------------------------------------------------------------

local function finish(task, ok, ...)
  if task.done then return end
  local host = task.host
  task.done, task.ok, task.results = true, ok, pack(...)
  host.tasks[task] = nil
  if not task.how.daemon then host.live = host.live - 1 end
  local joined = task.joiners and task.joiners:wake() > 0
  if task.how.on_end then task.how.on_end(task) end
  if not ok and task.results[1] ~= wait.canceled and not joined and not task.how.quiet then
    if host.on_failure then host.on_failure(task.results[1]) else host.report(host, task.results[1]) end
  end
  if host.live == 0 and host.idle then wait.wake(host, host.idle) end
end

-- The scope of its coroutine ends; when the task has not, somebody has closed the coroutine.
function Task.__close(task)
  finish(task, false, wait.canceled)
end

local function run(task)
  local co = coroutines.running()
  wait.task_of[co] = task
  local arguments = task.arguments
  task.arguments = nil
  if task.canceled then
    finish(task, false, wait.canceled)
  else
    finish(task, coroutines.protected(task.fn, unpack(arguments)))
  end
  wait.task_of[co] = nil -- nginx uses it again for something else
end

function M.spawn(host, how, fn, ...)
  local task = setmetatable({ host = host, how = how, fn = fn, arguments = pack(...),
    done = false, canceled = false }, Task)
  host.adapter.spawn(function() coroutines.scope(task, run, task) end) -- first: it may refuse
  host.task_count = host.task_count + 1
  host.tasks[task] = host.task_count
  if not how.daemon then host.live = host.live + 1 end
  return task
end

-- ---- Methods -----------------------------------------------------------------------------------

local function outcome(task)
  local results = task.results
  if task.ok then return unpack(results) end
  if results[1] == wait.canceled then return nil, "task:wait: the task was canceled", "canceled" end
  return nil, "task:wait: the task failed: " .. tostring(results[1]), "error"
end

function Task:wait(timeout)
  check.self(self, Task, "wait")
  check.seconds(timeout, 1, "wait", true)
  wait.check()
  if wait.task_of[coroutines.running()] == self then core.misuse("a task cannot wait for itself") end
  if not self.done and timeout ~= 0 then
    self.joiners = self.joiners or crowds.new(self.host) -- few tasks are waited for
    local record = self.joiners:enter()
    if not wait.pause(self.host, record, timeout) then record:give_up() end
  end
  if self.done then return outcome(self) end
  return nil, "task:wait: the time limit passed", "timeout"
end

-- Cancels all tasks of the host that have not ended, the oldest first.
function M.cancel_all(host)
  local all = wait.in_order(host.tasks)
  for i = 1, #all do all[i]:cancel() end
end

function Task:cancel()
  check.self(self, Task, "cancel")
  if self.done or self.canceled then return end
  self.canceled = true
  if self.waiting then self.host.adapter.unpark(self.waiting.token) end
end

function Task:__tostring()
  return "zkrecipes.task: " .. (self.done and "ended" or self.canceled and "canceled" or "running")
end

-- ---- Several -----------------------------------------------------------------------------------

local function cancel_all(tasks)
  for i = 1, #tasks do tasks[i]:cancel() end
end

-- Starts all. What it closes over is not of the frame that waits, see crowd.lua.
local function start_group(host, fns, decides)
  local group = { left = #fns }
  local tasks = {}
  local function on_end(task)
    group.left = group.left - 1
    if not group.decided and decides(task) then
      group.decided = task
      cancel_all(tasks)
    end
    if group.left == 0 then wait.wake(host, group.record) end
  end
  group.tasks, group.record = tasks, wait.record(function() cancel_all(tasks) end)
  for i = 1, #fns do tasks[i] = M.spawn(host, { quiet = true, on_end = on_end }, fns[i]) end
  return group
end

-- Runs all, and returns their tasks when every one has ended, and the first one of which decides(task) was
-- true: it made the others be canceled.
local function run_group(host, fns, decides)
  wait.check()
  local group = start_group(host, fns, decides)
  if #fns > 0 then wait.pause(host, group.record) end
  return group.tasks, group.decided
end

function M.all(host, fns)
  check.fns(fns, 1, "all")
  local tasks, failed = run_group(host, fns, function(task) return not task.ok end)
  if failed then error(failed.results[1], 0) end
  local results = { n = #tasks }
  for i = 1, #tasks do results[i] = tasks[i].results[1] end
  return unpack(results)
end

function M.any(host, fns)
  check.fns(fns, 1, "any")
  if #fns == 0 then check.bad(1, "any", "at least one function expected") end
  local _, first = run_group(host, fns, function() return true end)
  if not first.ok then error(first.results[1], 0) end
  return unpack(first.results)
end

core.own(debug.getinfo(1, "S").source)
return M
