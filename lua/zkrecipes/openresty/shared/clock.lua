-- A clock that all processes of this machine share, which is never set, and which goes on while the machine sleeps.

local core = require "zkrecipes.core"
local ffi = require "ffi"

local M = {}

-- Another module of this Lua state may have declared it, with types of its own: hence the pcall, and the cast below.
pcall(ffi.cdef, "int clock_gettime(int, void *);")

local BOOTTIME = 7
local time = ffi.new("struct { long seconds, nanoseconds; }")
local read = ffi.cast("int (*)(int, void *)", ffi.C.clock_gettime)

-- Seconds since the boot.
function M.now()
  read(BOOTTIME, time)
  return tonumber(time.seconds) + tonumber(time.nanoseconds) / 1e9
end

core.own(debug.getinfo(1, "S").source)
return M
