-- What a queue knows of itself, for specs.

local core = require "zkrecipes.core"

local M = {}

-- How many items this process has claimed, how many callers wait in the line, how many znodes are left out as unreadable, and how many
-- items may be gone because the answer to a take was lost or came too late.
function M.counts(queue)
  local claims, waiting, unreadable, missing = core.classes.queue.inner.counts(queue.store.core)
  return { claims = claims, waiting = waiting, unreadable = unreadable, missing = missing }
end

return M
