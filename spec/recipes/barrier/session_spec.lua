-- In which session a member's znodes are created. In a simulated world.

local sim = require "zkrecipes.sim"

local IN_FLIGHT = 2000 -- requests; the next one waits for its turn

-- The number of znodes of members in the directory.
local function members(world)
  local count = 0
  for _, name in ipairs(world:children "/b") do
    if name:find "^[wm]%-" then count = count + 1 end
  end
  return count
end

describe("a member of a round", function()
  for _, kind in ipairs { "cyclic_barrier", "double_barrier" } do
    it("leaves no znodes in a session that begins before its request is sent: " .. kind, function()
      local world = sim.new { seed = 1, limit = 1000 }
      world:run(function()
        local zk = world:process()
        local session = zk.session { timeout = 10 }
        assert(session:create("/b"))
        local id, barrier = session.id, session[kind](session, "/b", 2)
        world:plan(zk, "delay", { kind = "get", nth = 1, seconds = 1 })
        world:plan(zk, "new_session", { kind = "get", nth = 2, seconds = 0.5 })
        for _ = 1, IN_FLIGHT do zk.spawn(session.get, session, "/b") end
        local enter = zk.spawn(barrier.enter or barrier.wait, barrier, 5)
        local _, _, code = enter:wait(100)
        assert.equal(0, world:planned(zk))
        assert.are_not.equal(id, session.id)
        assert.equal("lost", code)
        assert.equal(0, members(world))
      end)
    end)
  end
end)
