-- A server that ends each connection at once, until it is killed or nobody reads its output: hostile_child.lua FILE. It prints its port,
-- and writes a byte to FILE for each connection.

local socket = require "socket"

local listener = assert(socket.bind("127.0.0.1", 0))
local file = assert(io.open(arg[1], "w"))
file:setvbuf "no"
io.stdout:setvbuf "no"
print((select(2, listener:getsockname())))
listener:settimeout(5)
repeat
  local one = listener:accept()
  if one then
    one:close()
    file:write "."
  end
until not one and not io.stdout:write "\n"
