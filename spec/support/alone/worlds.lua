-- Simulated worlds are collected with everything in them.

local collect = require "spec.support.collect"
local core = require "zkrecipes.core"
local sim = require "zkrecipes.sim"

local function use()
  local world = sim.new { trace = function() end }
  local session = world:session()
  world:run(function()
    local hold = assert(session:lock("/l"):acquire())
    hold:on_lost(function() end)
    world:lose_reply(session, "set", 1000)
    world.zk.spawn(function() session:lock("/l"):acquire(5) end)
    world:advance(10)
  end)
  world:dump()
end

local function left()
  collect(4)
  return core.alloc_blocks(), collectgarbage("count")
end

use()
local blocks, kilobytes = left()
for _ = 1, 50 do use() end
local blocks_after, kilobytes_after = left()
assert(blocks_after == blocks, ("%d blocks, %d before"):format(blocks_after, blocks))
assert(kilobytes_after - kilobytes < 200, kilobytes_after - kilobytes .. " kB are left")
