-- A new handle of a queue for each request, as in handlers of web servers.

local M = {}

-- The session's usage, as a string that can be compared.
function M.in_use(session)
  local usage = session:usage()
  return ("watches %d, %d bytes; ephemeral %d bytes"):format(usage.watches, usage.watched_bytes, usage.ephemeral_bytes)
end

-- Serves one request with a handle that is dropped afterwards.
function M.serve(session, path, options)
  local queue = session:queue(path, options)
  assert(queue:put("x"))
  assert(assert(queue:claim(200)):ack())
end

return M
