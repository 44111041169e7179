-- A pause of a simulated server lasts until its end, or until the server is stopped; no part of the server sleeps longer. Needs no server.
-- Tags: sanitize, one thread

local sim = require "zkrecipes.sim"

-- A test that runs inside of a world.
local function within(body)
  return function()
    local world = sim.new()
    world:run(function() body(world) end)
  end
end

describe("a paused leader", function()
  it("stays paused when faults end", within(function(world)
    local session = world:session { timeout = 20 }
    assert(session:connected())
    world:pause_server(1, 8)
    world:heal()
    world:start_server(1)
    local from = world:now()
    assert(session:create("/x"))
    assert.is_true(world:now() - from >= 8)
  end))

  it("pings again when it is stopped and started", within(function(world)
    local session = world:session { timeout = 10 }
    local hold, id = assert(session:lock("/l"):acquire()), session.id
    world:pause_server(1, 600)
    world:advance(1.5) -- a ping is due in this time, and no tick
    world:stop_server(1)
    world:start_server(1)
    world:move(session, 3) -- the leader does not hear it itself
    for _ = 1, 60 do
      world:advance(1)
      assert.are.equal(id, session.id)
    end
    assert.is_true(hold:valid())
  end))
end)
