-- A reconnect that is answered with another session, in a simulated world. Needs no server.

local sim = require "zkrecipes.sim"

describe("a planned fault", function()
  it("gives a reconnect another session: the old one is lost, and expires on its own", function()
    local world = sim.new()
    world:run(function()
      local session = world:session { timeout = 6 }
      local hold = assert(session:lock("/l"):acquire())
      local id, told, session_over = session.id, {}, nil
      hold:on_lost(function(_, why) session_over = why end)
      local watch = world.zk.spawn(function()
        local next_state = session:states()
        repeat told[#told + 1] = next_state() until #told == 6
      end)
      world:plan(session, "new_session", { kind = "exists" })
      local from = world:now()
      assert.is_false(session:exists("/x")) -- a read is repeated
      watch:wait()
      assert.is_true(session.id ~= id and world:now() - from < 2)
      assert.are.equal("connecting connected suspended lost connecting connected", table.concat(told, " "))
      assert.are.same({ false, "lost" }, { hold:valid(), session_over })
      assert.are.equal(1, #world:children("/l")) -- of the old session, which still lives on the servers
      local again = assert(session:lock("/l"):acquire())
      assert.is_true(again.token > hold.token)
      assert.is_true(world:now() - from > 4)
    end)
  end)
end)
