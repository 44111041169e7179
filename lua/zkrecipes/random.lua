-- Random names and numbers that differ between processes. math.random may give the same in two processes, and it belongs to the user.

local core = require "zkrecipes.core"
local dispatch = require "zkrecipes.host.dispatch"

local M = {}

-- hex(count): count random bytes, up to 64, as hexadecimal digits. (Histories replace it, because what they do must depend on their seed
-- alone.)
function M.hex(count)
  return (core.random_bytes(count):gsub(".", function(byte) return ("%02x"):format(byte:byte()) end))
end

local GENERATOR, MOST = 16807, 2147483647
local seed

-- A number from 0 and below 1; only the first one takes a system call.
function M.number()
  if not seed then
    local a, b, c, d = core.random_bytes(4):byte(1, 4)
    seed = (((a * 256 + b) * 256 + c) * 256 + d) % (MOST - 1) + 1
  end
  seed = seed * GENERATOR % MOST
  return (seed - 1) / (MOST - 1)
end

dispatch.on_renew(function() seed = nil end) -- the parent goes on with the same numbers

core.own(debug.getinfo(1, "S").source)
return M
