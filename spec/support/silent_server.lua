-- A server that allows no four-letter word and no session. Prints its address; ends when its reader has gone.

local socket = require "socket"

local listener = assert(socket.bind("127.0.0.1", 0))
print(("%s:%d"):format(listener:getsockname()))
io.stdout:flush()
listener:settimeout(1)
repeat
  local client = listener:accept()
  if client then
    local word = client:receive(4)
    client:send((word or "") .. " is not executed because it is not in the whitelist.\n")
    client:close()
  end
until not io.stdout:write("\n") or not io.stdout:flush()
