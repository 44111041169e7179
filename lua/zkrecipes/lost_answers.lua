-- Requests whose answers may be lost: each is repeated until its outcome is known, in a known session, under names by which
-- a process identifies its own nodes.

local core = require "zkrecipes.core"
local wait = require "zkrecipes.host.wait"

local M = {}

-- Failures after which the same request may succeed.
M.PASSES = { lost = true, no_memory = true, full = true, connection_loss = true, server_error = true }

-- sure(call, ...): calls until the outcome is known.
function M.sure(call, ...)
  local value, message, code
  repeat value, message, code = call(...) until code ~= "connection_loss"
  return value, message, code
end

-- sure_while(hold, call, ...): calls until the outcome is known, or the hold (any object with valid()) is no longer valid.
function M.sure_while(hold, call, ...)
  local value, message, code
  repeat value, message, code = call(...) until code ~= "connection_loss" or not hold:valid()
  return value, message, code
end

local SHORTEST, LONGEST = 0.05, 3 -- seconds

-- insist(session, call, ...): for clean-ups in the background, which no other process would do. Calls call(...), with growing pauses,
-- until it gives something, or fails for a reason that does not pass (`closed`: the session is over).
function M.insist(session, call, ...)
  local host, pause = core.host(session), SHORTEST
  local value, message, code = call(...)
  while not value and M.PASSES[code] do
    wait.pause(host, wait.record(), pause)
    pause = math.min(2 * pause, LONGEST)
    value, message, code = call(...)
  end
  return value, message, code
end

-- connected(session, timeout): its id, which it has only while it is connected; or nil, message, code.
function M.connected(session, timeout)
  local id, done, message, code
  repeat
    done, message, code = session:connected(timeout)
    id = session.id
  until id or not done
  if not done then return nil, message, code end
  return id
end

local tags = setmetatable({}, { __mode = "k" }) -- session > how many it has given

-- tag(session, id): part of a name that no other contender uses. id: an id that the session has or had.
function M.tag(session, id)
  tags[session] = (tags[session] or 0) + 1
  return ("%s-%d"):format(id, tags[session])
end

core.own(debug.getinfo(1, "S").source)
return M
