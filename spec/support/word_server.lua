-- A server that gives one answer to every four-letter word, and lets no session in. Prints its address; ends when its reader has gone.
-- Run it: lua5.4 spec/support/word_server.lua ANSWER

local socket = require "socket"

local listener = assert(socket.bind("127.0.0.1", 0))
print(("%s:%d"):format(listener:getsockname()))
io.stdout:flush()
listener:settimeout(1)
repeat
  local client = listener:accept()
  if client then
    client:receive(4)
    client:send(arg[1])
    client:close()
  end
until not io.stdout:write("\n") or not io.stdout:flush()
