-- What a queue knows of itself, for specs.

local core = require "zkrecipes.core"

local M = {}

-- How many items this process has claimed, how many callers wait in the line, how many znodes are left out as unreadable, how many items
-- may be gone because the answer to a take was lost or came too late, and how many are claimed for later callers.
function M.counts(queue)
  local claims, waiting, unreadable, missing, stock = core.classes.queue.inner.counts(queue.core)
  return { claims = claims, waiting = waiting, unreadable = unreadable, missing = missing, stock = stock }
end

return M
