-- Writes the time to a file again and again, until it is killed: for specs that ask when a command has ended.
--
--   lua5.4 spec/support/stamps.lua FILE
--
-- The clock is that of zk.now().

local clock = require "spec_fork".now
local socket = require "socket"

local file = assert(io.open(arg[1], "a"))
file:setvbuf "no"
while true do
  file:write(("%.6f\n"):format(clock()))
  socket.sleep(0.003)
end
