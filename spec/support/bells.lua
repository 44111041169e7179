-- Creates many bells and drops them. Prints how many descriptors are open before and afterwards. For bell_spec.lua.

local collect = require "spec.support.collect"
local core = require "zkrecipes.core"
local lfs = require "lfs"
local unix = require "socket.unix"

local function count()
  local number = 0
  for _ in lfs.dir("/proc/self/fd") do number = number + 1 end
  return number
end

local function round()
  local engine = core.engine {}
  local socket = unix()
  assert(socket:connect((engine:listen():gsub("^unix:", ""))))
  assert(engine:accept())
  socket:close()
  engine:listen()
end

round() -- allocated only once
collect(2)
local before = count()
for _ = 1, 20 do round() end
collect(2)
print(before .. " " .. count())
