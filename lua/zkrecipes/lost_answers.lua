-- Requests whose answers may be lost: each is repeated until its outcome is known, in a known session, under names by which
-- a process identifies its own nodes.

local core = require "zkrecipes.core"
local limits = require "zkrecipes.limit"
local wait = require "zkrecipes.host.wait"

local M = {}

-- Failures after which the same request may succeed.
M.PASSES = { lost = true, no_memory = true, full = true, connection_loss = true, server_error = true }

-- Failures after which no request of the session can succeed.
M.ENDS = { closed = true, auth_failed = true, forked = true }

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

local ATTEMPTS = 6

-- transact(session, parts, was_done, ...): a multi that is done once, though answers may be lost. Returns its results, or true; or nil,
-- message, code. session: may have a time limit (limit.lua).
-- * If the answer was lost, the core sends a `sync`, until it is answered. Then was_done(...) reads whether the multi was done. true:
--   transact returns true. false: the multi is sent again. nil, message, code: it cannot tell; transact returns that, and within a time
--   limit the code is not `timeout`.
-- * was_done must know our multi from those of others, by a name, tag or version that only ours writes. Nevertheless a multi of an earlier
--   session may be done later. If twice does harm, the parts must fail the second time (by a name or a version), and the caller must know
--   that failure.
-- * transact returns each other failure of the multi. After `connection_loss` and `no_memory` it may have been done. After ATTEMPTS lost
--   answers transact gives up with `connection_loss`, because a server ends the connection at each request that is too large for it.
function M.transact(session, parts, was_done, ...)
  for _ = 1, ATTEMPTS do
    local results, message, code = limits.transact(session, parts)
    if results ~= false then return results, message, code end
    local done, problem, why = was_done(...)
    if done then return true end
    if done == nil then
      limits.unknown(session)
      return nil, problem, why
    end
  end
  limits.unknown(session)
  return nil, ("session:multi %s: %d requests lost their answers, one after the other"):format(parts[1][2], ATTEMPTS), "connection_loss"
end

-- again(host, pauses, goes_on, call, ...): calls call(...) while goes_on(seconds, its results) is true, and pauses for these seconds in
-- between. Returns the last results. pauses: { the shortest, the longest }; each is twice as long as the one before.
function M.again(host, pauses, goes_on, call, ...)
  local seconds = pauses[1]
  while true do
    local value, message, code = call(...)
    if not goes_on(seconds, value, message, code) then return value, message, code end
    wait.pause(host, wait.record(), seconds)
    seconds = math.min(2 * seconds, pauses[2])
  end
end

local PAUSES = { 0.05, 3 } -- seconds

local function passes(_, value, _, code) return not value and M.PASSES[code] end

-- insist(session, call, ...): for clean-ups in the background, which no other process would do. Calls call(...), with growing pauses,
-- until it gives something, or fails for a reason that does not pass (`closed`: the session is over).
function M.insist(session, call, ...) return M.again(core.host(session), PAUSES, passes, call, ...) end

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

-- tag(session, id): part of a name that no other contender uses. id: an id that the session has or had.
M.tag = core.classes.session.inner.tag

core.own(debug.getinfo(1, "S").source)
return M
