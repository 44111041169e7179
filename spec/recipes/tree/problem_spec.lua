-- tree.problem, in simulated worlds.

local sim = require "zkrecipes.sim"

describe("the problem of a tree", function()
  it("is `full` without a break until there is room", function()
    local world = sim.new { seed = 1, servers = 1 }
    world:run(function()
      local session, writer = world:session(), world:session()
      local parts, name = {}, ("n"):rep(900)
      assert(writer:create("/c", ""))
      for i = 1, 400 do parts[i] = { "create", ("/c/%s%d"):format(name, i), "" } end
      assert(writer:multi(parts))
      local tree = session:tree("/c")
      local _, _, code = tree:ready(10)
      assert.equal("full", code)
      for _ = 1, 1000 do
        assert.equal("full", tree.problem)
        world:advance(0.003)
      end
      for i = 1, 400 do parts[i] = { "delete", ("/c/%s%d"):format(name, i) } end
      assert(writer:multi(parts))
      world:advance(5)
      assert.is_nil(tree.problem)
      assert.is_true(tree:ready(10))
      tree:close()
    end)
  end)
end)
