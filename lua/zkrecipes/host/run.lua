-- zk.run(fn [, options]): runs fn in a coroutine until it and all coroutines that it spawned have ended, then closes the sessions
-- that were opened meanwhile. At the end it returns what fn returned, or raises what fn raised.
--
-- What can go wrong:
-- A coroutine fails: the others continue, and the error is reported. An error of fn is reported too while others run, and run raises
-- it when they have ended. With fail_fast the first error cancels all coroutines, and run raises it.
-- The loop is interrupted (Ctrl-C): run cancels all coroutines, gives them a moment for cleanup, closes the sessions, and raises the
-- interruption. SIGTERM: run does the same, but then ends the process by the signal. If it comes while run cleans up or closes
-- the sessions, run continues that.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.host.coroutines"
local hosts = require "zkrecipes.host.host"
local tasks = require "zkrecipes.host.tasks"
local wait = require "zkrecipes.host.wait"

local M = {}

local OPTIONS = { fail_fast = "boolean", on_error = "function", sigterm = "boolean" }
local LINGER = 2 -- seconds for sessions to close, and for canceled coroutines to clean up

-- Waits until no task is left, or the timeout (seconds) has passed.
local function drain(host, timeout)
  if host.live == 0 then return end
  host.idle = wait.record()
  local ok, problem = pcall(wait.pause, host, host.idle, timeout)
  host.idle = nil
  if not ok then error(problem, 0) end
end

local function close_sessions(host, before)
  local left, record = 0, wait.record()
  local function on_end()
    left = left - 1
    if left == 0 then wait.wake(host, record) end
  end
  for number, session in pairs(host.opened) do
    if number > before then
      left = left + 1
      tasks.spawn(host, { daemon = true, on_end = on_end }, session.close, session, LINGER)
    end
  end
  if left > 0 then wait.pause(host, record, LINGER) end
end

-- As pcall, but fn is called again if SIGTERM comes meanwhile; state.terminated says so.
local function through(state, fn, ...)
  local ok, problem = pcall(fn, ...)
  if problem ~= hosts.terminated then return ok, problem end
  state.terminated = true
  return pcall(fn, ...)
end

-- The end of run. `state`: the host's values from before run.
local function clean_up(host, state)
  host.on_error, host.on_failure, host.running = state.on_error, nil, false
  local ok, problem = through(state, close_sessions, host, state.opened)
  if host.catching and core.sigterm.forget() then state.terminated = true end
  host.catching = false
  return ok, problem
end

local function begin(host, options)
  local state = { on_error = host.on_error, opened = host.opened_count }
  host.running = true
  host.on_error = options.on_error or host.on_error
  host.catching = host.adapter.name == "builtin" and options.sigterm ~= false and core.sigterm.catch(host.client.fd())
  return state
end

-- With fail_fast: the first failure cancels all tasks.
local function fail_with(host, state, problem)
  if state.failed then return end
  state.failed, state.failure = true, problem
  tasks.cancel_all(host)
end

local function spawn_main(host, options, state, fn)
  local failed = function(problem)
    if host.live > 0 and problem ~= wait.canceled then host.report(host, problem) end
  end
  if options.fail_fast then
    failed = function(problem) fail_with(host, state, problem) end
    host.on_failure = failed
  end
  local function on_end(task)
    if not task.ok then failed(task.results[1]) end
  end
  return tasks.spawn(host, { quiet = true, on_end = on_end }, fn)
end

function M.run(host, fn, options)
  check.fn(fn, 1, "run")
  options = check.options(options, OPTIONS, 2, "run")
  local task = wait.task()
  if host.running or task and task.host.tasks == host.tasks then
    core.misuse("zk.run is running already; use zk.spawn inside of it")
  end
  local state = begin(host, options)
  local main = spawn_main(host, options, state, fn)
  local ok, problem = pcall(drain, host)
  if not ok then
    tasks.cancel_all(host)
    through(state, drain, host, LINGER)
  end
  local closed, close_problem = clean_up(host, state)
  if state.terminated or problem == hosts.terminated then core.sigterm.die() end
  if not ok then error(problem, 0) end
  if state.failed then error(state.failure, 0) end
  if not main.ok then error(main.results[1], 0) end
  if not closed then error(close_problem, 0) end
  return coroutines.unpack(main.results)
end

core.own(debug.getinfo(1, "S").source)
return M
