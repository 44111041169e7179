-- A simulated connection breaks a thousand times: its waiter keeps one watch, one znode and the memory that it had.

local core = require "zkrecipes.core"
local env = require "spec.support.env"
local sim = require "zkrecipes.sim"

local world = sim.new { seed = 1, servers = 1 }
world:run(function()
  local holder, host = world:session(), world:process()
  local session = host.session { timeout = 30 }
  local hold = assert(holder:lock("/l"):acquire())
  local wait = host.spawn(function() return session:lock("/l"):acquire() end)
  world:advance(1)
  local id, blocks, bytes = session.id, nil, nil
  for i = 1, 1000 do
    world:cut(session)
    world:advance(1)
    assert(session.state == "connected" and world:watches() == 1)
    if i == 100 then blocks, bytes = env.blocks(), core.alloc_bytes() end
  end
  assert(session.id == id and #world:children("/l") == 2)
  assert(env.blocks() <= blocks and core.alloc_bytes() <= bytes)
  hold:release()
  assert(wait:wait(1)):release()
  world:advance(1)
  assert(world:watches() == 0 and #world:children("/l") == 0)
end)
