-- The coroutine that runs a partitioner is killed, as nginx does: the functions are stopped, and the parts stay.

local killer = require "spec.support.killer"

local function settled(world, session)
  for _ = 1, 5 do
    killer.sweep(session)
    world:advance(2)
  end
end

describe("a partitioner whose run is killed", function()
  for _, how in ipairs { "early", "late" } do
    it("stops the functions, keeps the parts, and runs again: " .. how, function()
      local world = killer.world { seed = 1 }
      world:run(function()
        local zk = world:process()
        local session = zk.session { timeout = 6 }
        local one = session:partitioner("/p", { "a", "b" }, { settle = 0 })
        local served = 0
        local function serve()
          served = served + 1
          local _, problem = zk.pcall(zk.sleep, 1000)
          served = served - 1
          error(problem, 0)
        end
        local victim = killer.start(session, function() return one:run(serve) end, 1, how)
        world:advance(5)
        if how == "late" then
          assert.equal(2, served)
          one:stop() -- it is woken, and killed before it goes on
        end
        settled(world, session)
        assert.is_true(victim.killed)
        assert.equal(0, served)
        assert.same({ "a", "b" }, one:mine())
        local task = zk.spawn(function() return one:run(serve) end)
        world:advance(5)
        assert.equal(2, served)
        assert(one:close(30))
        assert.is_true(task:wait())
        assert.equal(0, served)
      end)
    end)
  end
end)
