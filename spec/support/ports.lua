-- Free ports of 127.0.0.1, for servers that cannot choose one themselves. They lie below the ports that the kernel gives to outgoing
-- connections. One of those might be taken between our look and the server's start.

local socket = require "socket"

local M = {}

local FIRST, COUNT, STEP = 20000, 12000, 7

local function pid()
  local file = assert(io.open("/proc/self/stat"))
  local number = file:read("*n")
  file:close()
  return number
end

local at = pid() % COUNT -- so that processes that run beside each other look at different ports

---A port on which nobody listens, and a socket that keeps it until it is closed.
function M.reserve()
  local one
  repeat
    if one then one:close() end
    at = (at + STEP) % COUNT
    one = socket.tcp4()
  until one:bind("127.0.0.1", FIRST + at)
  return FIRST + at, one
end

---So many free ports, all different.
function M.free(count)
  local ports, open = {}, {}
  for i = 1, count do ports[i], open[i] = M.reserve() end
  for i = 1, count do open[i]:close() end
  return ports
end

return M
