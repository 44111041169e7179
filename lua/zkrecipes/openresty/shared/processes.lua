-- Tells whether another process of this machine lives, and which one it is.
--
-- What can go wrong: /proc cannot be read (no descriptor is free, it hides the processes of other users). That says nothing about the
-- process. Only the kernel's word that there is none, or that it is a zombie, means that it is dead.

local core = require "zkrecipes.core"
local ffi = require "ffi"

local M = {}

-- Another module of this Lua state may have declared it, with types of its own: hence the pcall, and the cast below.
pcall(ffi.cdef, "int kill(int, int);")

local NONE = 3 -- ESRCH
local signal = ffi.cast("int (*)(int, int)", ffi.C.kill)

local function is_none(pid) return signal(pid, 0) ~= 0 and ffi.errno() == NONE end

-- What follows the name in its /proc/PID/stat; nil: it cannot be read.
local function fields(pid)
  local file = io.open("/proc/" .. pid .. "/stat")
  local text = file and file:read("*a")
  if file then file:close() end
  return (text or ""):match("^.*%) (%a .*)$")
end

-- When the process was started, in ticks since the boot; or nil and whether it is known to be dead.
function M.started(pid)
  local text, at = fields(pid), 2 -- the number of the field before the first word
  if not text then return nil, is_none(pid) end
  if text:find("^[ZX]") then return nil, true end
  for field in text:gmatch("%S+") do
    at = at + 1
    if at == 22 then return field end
  end
end

core.own(debug.getinfo(1, "S").source)
return M
