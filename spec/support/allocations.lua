-- Operations in which one allocation after the other fails.

local assert = require "luassert"
local core = require "zkrecipes.core"

local M = {}

-- Runs the operation again and again, each time with a later allocation that fails.
function M.at_every(operation)
  local n = 0
  repeat
    n = n + 1
    core.alloc_fail(n)
    operation(n)
    local reached = core.alloc_failed()
    core.alloc_fail(0)
  until not reached
  return n
end

M.allowed = { no_memory = true, timeout = true, connection_loss = true, lost = true }

function M.check(result, message, code)
  if not result then
    assert.is_truthy(M.allowed[code], tostring(code) .. ": " .. tostring(message))
  end
  return result
end

-- Opens a session, by this function, again and again: it connects, or says that it cannot.
function M.at_every_connect(open)
  M.at_every(function()
    local session, _, code = open()
    if not session then return assert.equal("no_memory", code) end
    M.check(session:connected(200))
    session:close()
  end)
end

return M
