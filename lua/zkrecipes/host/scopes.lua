-- Scopes: undo what was set up for a waiting call if the call does not return normally.
--
-- 1. The host stores the scope while the call runs. 2. If the call raises, or its coroutine is closed, the scope ends there. 3. If the
-- coroutine is killed without notice, as in nginx, the host's next sweep finds out and ends the scope.

local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.host.coroutines"

local M = {}

-- Calls fn(...), which waits, in this task (nil: in no task). Calls stop(state) once if fn raises, or if its coroutine is closed, or
-- killed while it waits, so that nothing that was set up for the call outlives it. `stop` must not wait. In nginx it must not be a
-- closure over variables of a function that is still running: when the coroutine is killed, these variables are lost.
function M.within(host, task, stop, state, fn, ...)
  local token = host.parked and host.adapter.token()
  if not token then return coroutines.guarded(function() stop(state) end, fn, ...) end
  local one = { stop = stop, state = state, token = token, life = task and task.life }
  host.scope_count = host.scope_count + 1
  host.scopes[one] = host.scope_count
  local results = coroutines.pack(coroutines.guarded(function()
    host.scopes[one] = nil
    stop(state)
  end, fn, ...))
  host.scopes[one] = nil
  return coroutines.unpack(results)
end

local function is_killed(host, one)
  return host.adapter.gone(one.token) or one.life and not host.adapter.lives(one.life)
end

-- Ends a scope. Called where nothing may wait and no caller could catch an error.
local function stop(host, one)
  host.scopes[one] = nil
  local ok, problem = pcall(one.stop, one.state)
  if not ok then host.report(host, problem) end
end

-- Ends the scopes of coroutines that were killed; inner ones first.
function M.stop_killed(host)
  local killed, numbers = {}, host.scopes
  for one in pairs(numbers) do
    if is_killed(host, one) then killed[#killed + 1] = { scope = one, number = numbers[one] } end
  end
  table.sort(killed, function(a, b) return a.number > b.number end)
  for i = 1, #killed do stop(host, killed[i].scope) end
end

core.own(debug.getinfo(1, "S").source)
return M
