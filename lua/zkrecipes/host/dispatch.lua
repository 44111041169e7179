-- The host's side of waiting: runs one dispatch of the core and ends the waits that are over.
--
-- 1. The core does some steps. 2. The functions that finalizers left are called. 3. Each wait that has ended wakes its coroutine; the
-- results of a wait without a coroutine are released. 4. The lines for the sessions' logs are passed to the log functions.
--
-- What can go wrong: a coroutine was killed while it waited (sweep gives up its wait); the process has forked (renew ends every wait
-- of the parent in the child).

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local scopes = require "zkrecipes.host.scopes"
local wait = require "zkrecipes.host.wait"

local M = {}

-- True if the record's coroutine is dead, waits for something else now, or never parked because an error was raised before.
local function is_orphan(host, record)
  if not record.begun and not record.expected then return true end
  if host.parked then return record.token and host.adapter.gone(record.token) end
  local co, task = record.co, record.task
  return co and (coroutine.status(co) == "dead" or task and task.waiting ~= record)
end

local function finished(host, slot)
  local record = host.waiters[slot]
  if not record then return host.engine:drop(slot) end
  if is_orphan(host, record) then return record:give_up() end
  host.waiters[slot] = false
  wait.wake(host, record)
end

local function call_log(host, log, level, text)
  local ok, problem = pcall(log, level, text)
  if not ok then host.report(host, "in a session's log function: " .. check.text(problem)) end
end

-- Passes a line to the session's log function, if it has one. Where coroutines can be killed, the function runs in a coroutine of
-- its own: it may kill its coroutine, and that must not be the dispatcher.
function M.tell(host, level, text, session)
  local log = session and core.kept(session, "log")
  if not log then return end
  if host.adapter.lives then return host.adapter.spawn(function() call_log(host, log, level, text) end) end
  call_log(host, log, level, text)
end

-- Gives up the waits whose coroutines were killed without notice, if the adapter can tell, and ends the scopes of these coroutines.
-- Such a wait may already be done: then its result is released.
function M.sweep(host)
  for token, record in pairs(host.parked) do
    if host.adapter.gone(token) then
      host.parked[token] = nil
      if not record.awake then record:give_up() end -- awake: it was given up when the core had finished
    end
  end
  scopes.stop_killed(host)
end

local renewed = {}

-- Calls fn() in each child of the process that goes on with the library: for a module that must not go on as its parent does.
function M.on_renew(fn) renewed[#renewed + 1] = fn end

-- Call it in a child of the process that created the engine: ends all waits and creates a new engine.
function M.renew(host)
  local waiters = host.waiters
  for i = 1, #renewed do renewed[i]() end
  host.adapter.detach(host.client)
  host.engine, host.waiters = host.make(host), {}
  for _, record in pairs(waiters) do
    if record then wait.wake(host, record) end
  end
  host.adapter.attach(host.client)
end

-- Calls the functions that finalizers left. A function that raises is left for the next dispatch.
local function work_off(host)
  local dropped = host.dropped
  host.dropped = {}
  for i = 1, #dropped do
    if not pcall(dropped[i]) then host.dropped[#host.dropped + 1] = dropped[i] end
  end
end

-- Lets the core do at most `limit` steps and wakes the coroutines whose waits are over.
function M.run(host, limit)
  local engine = host.engine
  if engine:forked() then return M.renew(host) end
  engine:dispatch(limit)
  if host.dropped[1] then work_off(host) end
  local slot = engine:next()
  while slot do
    finished(host, slot)
    slot = engine:next()
  end
  local level, text, session = engine:note()
  while level do
    M.tell(host, level, text, session)
    level, text, session = engine:note()
  end
end

core.own(debug.getinfo(1, "S").source)
return M
