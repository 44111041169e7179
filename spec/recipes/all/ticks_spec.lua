-- In virtual time: events at the same moment. If a time limit and a grant cross, exactly one of them counts.

local env = require "spec.support.env"
local sim = require "zkrecipes.sim"

describe("ten thousand time limits of one moment", function()
  it("end all attempts and sleeps, and leave nothing", function() env.alone "ticks" end)
end)

describe("a release and the time limit of the next one", function()
  it("cross in every way: the next contender is granted, or has left", function()
    local world = sim.new { seed = 1, servers = 1, jitter = 0 }
    local granted, late = 0, 0
    world:run(function()
      local holder, session = world:session(), world:session()
      local theirs, lock = holder:lock("/l"), session:lock("/l")
      for i = 1, 4000 do
        local hold = assert(theirs:acquire(1))
        local attempt = world.zk.spawn(function() return lock:acquire(0.01) end)
        world:advance(0.01 - 0.001 + i % 100 * 0.00002)
        hold:release()
        local mine, _, code = attempt:wait(1)
        if mine then
          granted = granted + 1
          assert.is_true(mine:valid())
          assert.are.equal(1, #world:children("/l"))
          mine:release()
        else
          late = late + 1
          assert.are.equal("timeout", code)
        end
      end
      world:advance(0.01)
      assert.are.same({}, world:children("/l"))
    end)
    assert.is_true(granted > 400 and late > 400, granted .. " granted, " .. late .. " too late")
  end)
end)
