-- The host's side of waiting: one dispatch of the core, and what it ends.
--
-- 1. The core does some steps. 2. What finalizers left is done. 3. Each task that has ended wakes its coroutine; what nobody waits for
-- any more is let go of. 4. The lines for sessions' logs are handed over.
--
-- What can go wrong: a coroutine was killed while it waited (sweep gives its wait up); the process has forked (renew: in the child
-- every wait of the parent ends).

local core = require "zkrecipes.core"
local scopes = require "zkrecipes.host.scopes"
local wait = require "zkrecipes.host.wait"

local M = {}

-- Its coroutine is dead, waits for something else by now, or has never parked (an error came between).
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
  if not ok then host.report(host, "in a session's log function: " .. tostring(problem)) end
end

-- A line for the session's log, if it has one. Where coroutines can be killed, a log function that does it must not take
-- the dispatcher with it.
function M.tell(host, level, text, session)
  local log = session and core.kept(session, "log")
  if not log then return end
  if host.adapter.lives then return host.adapter.spawn(function() call_log(host, log, level, text) end) end
  call_log(host, log, level, text)
end

-- Gives up the waits whose coroutines were killed without a word, where the adapter can tell, and ends the scopes that they
-- were in. So close to its end a wait may be done already: then what it brought is let go.
function M.sweep(host)
  for token, record in pairs(host.parked) do
    if host.adapter.gone(token) then
      host.parked[token] = nil
      if not record.awake then record:give_up() end -- else it was when the core had finished
    end
  end
  scopes.stop_killed(host)
end

-- In a child of the process that made the engine: its waits are over, and there is a new engine.
function M.renew(host)
  local waiters = host.waiters
  host.adapter.detach(host.client)
  host.engine, host.waiters = host.make(host), {}
  for _, record in pairs(waiters) do
    if record then wait.wake(host, record) end
  end
  host.adapter.attach(host.client)
end

-- What finalizers left to do; what cannot be done here either is left to the next dispatch.
local function work_off(host)
  local dropped = host.dropped
  host.dropped = {}
  for i = 1, #dropped do
    if not pcall(dropped[i]) then host.dropped[#host.dropped + 1] = dropped[i] end
  end
end

-- Lets the core do at most `limit` steps and wakes those whose waits are over.
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
