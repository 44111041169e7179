-- Tasks: functions that run in coroutines of the host. A caller can wait for a task and cancel it.
--
--   spawn(host, how, fn, ...)   how: quiet (do not report its errors), daemon (run does not wait for its end), on_end(task),
--                               over() (true: the task counts as canceled; called at its beginning and at each wait)
--   task:wait([timeout])        the results of fn; or nil, message, code
--   behind(host, how, fn, ...)  spawns a daemon; later, if the host cannot spawn now (in a finalizer, outside of its loop)
--   sweep(host)                 ends, as failed, the tasks whose coroutines were killed
--   task:cancel()               its present wait and all later waits raise zk.canceled, so that cleanup
--                               after pcall and <close> runs
--   all(host, fns)  any(host, fns)

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.host.coroutines"
local waiters = require "zkrecipes.host.waiters"
local wait = require "zkrecipes.host.wait"

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

-- The scope of the task's coroutine. No other code should end that coroutine: if the scope ends before the task, other code has
-- closed the coroutine.
local Scope = {}

function Scope.__close(scope) finish(scope.task, false, wait.canceled) end

local function run(task)
  local co = coroutines.running()
  wait.task_of[co] = task
  local arguments = task.arguments
  task.arguments = nil
  if wait.is_canceled(task) then -- others have run since it was spawned
    finish(task, false, wait.canceled)
  else
    finish(task, coroutines.protected(task.fn, unpack(arguments)))
  end
  wait.task_of[co] = nil -- nginx reuses the coroutine for something else
end

local function new(host, how, fn, ...)
  return setmetatable({ host = host, how = how, fn = fn, arguments = pack(...), done = false, canceled = false }, Task)
end

-- Raises what the adapter raises.
local function start(task)
  local host = task.host
  local scope = setmetatable({ task = task }, Scope)
  local life = host.adapter.spawn(function() coroutines.scope(scope, run, task) end, not task.how.daemon)
  if host.adapter.lives then task.life = life end
end

local function add(task)
  local host = task.host
  host.task_count = host.task_count + 1
  host.tasks[task] = host.task_count
  if not task.how.daemon then host.live = host.live + 1 end
end

function M.spawn(host, how, fn, ...)
  local task = new(host, how, fn, ...)
  start(task) -- first: it may refuse
  add(task)
  return task
end

-- For work that other state waits for, so it must run in any case: if it cannot start now, a later dispatch starts it.
function M.behind(host, how, fn, ...)
  how.daemon = true
  local task = new(host, how, fn, ...)
  add(task)
  if not pcall(start, task) then
    table.insert(host.dropped, function() start(task) end)
    pcall(host.engine.ring, host.engine) -- in a finalizer the engine may be collected already
  end
  return task
end

-- For finalizers: fn(...) runs in the host's next dispatch, if there is one. It calls no function of the adapter, because nginx also
-- runs finalizers when its requests are gone, and then nginx's functions read freed memory.
function M.later(host, fn, ...)
  local arguments = pack(...)
  table.insert(host.dropped, function() fn(unpack(arguments)) end)
  pcall(host.engine.ring, host.engine) -- the engine may be collected already
end

local KILLED = "its coroutine was ended from outside (in nginx: by ngx.exit)"

function M.sweep(host)
  local lives, killed = host.adapter.lives, {}
  if not lives then return end
  for task, number in pairs(host.tasks) do
    if task.life and not lives(task.life) then killed[task] = number end
  end
  killed = wait.in_order(killed)
  for i = 1, #killed do finish(killed[i], false, KILLED) end
end

-- ---- Methods -----------------------------------------------------------------------------------

local function outcome(task)
  local results = task.results
  if task.ok then return unpack(results) end
  if results[1] == wait.canceled then return nil, "task:wait: the task was canceled", "canceled" end
  return nil, "task:wait: the task failed: " .. check.text(results[1]), "error"
end

function Task:wait(timeout)
  check.seconds(timeout, 1, "wait", true)
  wait.check()
  if wait.task() == self then core.misuse("a task cannot wait for itself") end
  if not self.done and timeout ~= 0 then
    self.joiners = self.joiners or waiters.new(self.host) -- created late: most tasks have no waiter
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
  if self.done or self.canceled then return end
  self.canceled = true
  if self.waiting then self.host.adapter.unpark(self.waiting.token) end
end

check.selves("task", Task, Task)

function Task:__tostring()
  return "zkrecipes.task: " .. (self.done and "ended" or self.canceled and "canceled" or "running")
end

-- ---- Several -----------------------------------------------------------------------------------

local function cancel_all(tasks)
  for i = 1, #tasks do tasks[i]:cancel() end
end

-- Starts all. Its closures use no variable of the frame that waits, see waiters.lua.
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
  for i = 1, #fns do
    local ok, task = pcall(M.spawn, host, { quiet = true, on_end = on_end }, fns[i])
    if not ok then
      cancel_all(tasks)
      error(task, 0)
    end
    tasks[i] = task
  end
  return group
end

-- Runs all functions and waits until all have ended. Returns their tasks, and the first ended task for which decides(task) was true;
-- at that moment the others were canceled.
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
