-- Reads standard input without stopping the loop, so that signals are noticed. A file is always ready, and libuv cannot poll it.

local CHUNK = 65536

local M = {}

-- Waits until standard input is readable.
local function await(uv)
  local poll, co = uv.new_poll(0), coroutine.running()
  poll:start("r", function()
    poll:stop()
    assert(coroutine.resume(co))
  end)
  coroutine.yield()
  poll:close()
end

local function next_chunk(context)
  local uv = context.uv
  local kind = uv.guess_handle(0)
  if kind == "tty" or kind == "pipe" or kind == "tcp" then await(uv) end
  local chunk, message = uv.fs_read(0, CHUNK, -1)
  if not chunk then context:fail(125, "standard input: " .. message) end
  return chunk
end

-- All of it.
function M.all(context)
  local chunks = {}
  repeat
    chunks[#chunks + 1] = next_chunk(context)
  until chunks[#chunks] == ""
  return table.concat(chunks)
end

function M.is_tty(context)
  return context.uv.guess_handle(0) == "tty"
end

-- What was typed up to the next Enter.
function M.line(context)
  return (next_chunk(context):gsub("\n.*", ""))
end

return M
