-- Writes the time to a file again and again, until it is killed, or the file is removed: for specs that ask when a command has ended.
--
--   lua5.4 spec/support/stamps.lua FILE
--
-- The clock is that of zk.now().

local clock = require "spec_fork".now
local socket = require "socket"

assert(io.open(arg[1], "a")):close()
repeat
  local file = io.open(arg[1], "r+")
  if file then
    file:seek "end"
    file:write(("%.6f\n"):format(clock()))
    file:close()
  end
  socket.sleep(0.003)
until not file
