-- The faults of a simulated world, and their effect on a lock. Needs no server.
-- Tags: sanitize, one thread

local sim = require "zkrecipes.sim"

-- A test that runs inside of a world.
local function within(options, body)
  return function()
    local world = sim.new(options)
    world:run(function() body(world) end)
  end
end

-- Waits, in virtual time, until the condition holds.
local function eventually(world, what, condition)
  for _ = 1, 10000 do
    if condition() then return end
    world.zk.sleep(0.01)
  end
  error("never happened: " .. what, 2)
end

describe("an expired session", function()
  it("loses its hold, and a new one is opened", within({}, function(world)
    local session, told = world:session(), nil
    local hold = assert(session:lock("/l"):acquire())
    hold:on_lost(function(_, why) told = why end)
    local id = session.id
    assert.are.equal(1, world:expire(session))
    assert.is_false(world:alive(id))
    assert.are.equal("lost", (hold:lost()))
    assert.is_false(hold:valid())
    eventually(world, "a new session", function() return session.id and session.id ~= id end)
    assert(session:connected())
    assert.are.equal("lost", told)
    assert.is_true(world:alive(session.id))
  end))

  it("is not counted if it has not connected, or is closed", within({}, function(world)
    local session = world:session()
    assert.are.equal(0, world:expire(session))
    session:close()
    assert.are.equal(0, world:expire(session))
  end))

  it("may be any or all of a process", within({}, function(world)
    local a, b, c = world.zk.session(), world.zk.session(), world:session()
    assert(a:connected() and b:connected() and c:connected())
    assert.are.equal(2, world:expire(world.zk))
    assert.are.equal(1, world:sessions())
  end))
end)

describe("a partition", function()
  it("ends the hold before another session can get the lock", within({}, function(world)
    local a, b = world:session { timeout = 6 }, world:session { timeout = 6 }
    local hold = assert(a:lock("/l"):acquire())
    local over
    world.zk.spawn(function()
      while hold:valid() do world.zk.sleep(0.001) end
      over = world:now()
    end)
    local task = world.zk.spawn(function()
      local other = assert(b:lock("/l"):acquire())
      assert.is_false(hold:valid())
      assert.is_true(other:valid() and other.token > hold.token)
      return world:now()
    end)
    world:advance(60)
    assert.is_true(hold:valid())
    world:partition(a)
    local cut = world:now()
    world:advance(2.5)
    assert.is_true(hold:valid())
    local taken = assert(task:wait())
    assert.is_true(cut + 2.5 < over and over < cut + 3 and over < taken and taken < cut + 12)
    assert.is_nil(a.id)
    world:heal(a)
    assert(a:connected(300))
  end))

  it("of one direction does not affect the other", within({}, function(world)
    local session = world:session()
    assert(session:connected())
    world:partition(session, "to_client")
    local _, _, code = session:create("/x") -- done, but the answer is lost
    assert.are.equal("connection_loss", code)
    assert.is_table(select(2, world:get("/x")))
    world:heal()
    assert(session:connected(600))
    world:partition(session, "to_server")
    assert.are.equal("connection_loss", select(3, session:create("/y")))
    assert.is_nil(select(2, world:get("/y")))
  end))

  it("of one process does not affect other processes", within({}, function(world)
    local a, b = world:session(), world:session()
    assert(a:connected() and b:connected())
    world:partition(a)
    world:advance(100)
    assert.is_nil(a.id)
    assert.are.equal("connected", b.state)
  end))
end)

describe("a broken connection", function()
  it("is restored, and the hold stays valid", within({}, function(world)
    local session = world:session()
    local hold, id = assert(session:lock("/l"):acquire()), session.id
    world:cut(session)
    world:advance(0)
    assert.are.equal("suspended", session.state)
    assert(session:connected())
    assert.are.equal(id, session.id)
    assert.is_true(hold:valid())
  end))

  it("of one of several sessions in a process", within({}, function(world)
    local a, b = world.zk.session(), world.zk.session()
    assert(a:connected() and b:connected())
    world:cut(a)
    world:advance(0)
    assert.are.equal("suspended", a.state)
    assert.are.equal("connected", b.state)
    world:cut(world.zk)
    world:advance(0)
    assert.are.equal("suspended", b.state)
  end))

  it("is not restored while the process is disconnected", within({}, function(world)
    local session = world:session { timeout = 6 }
    assert(session:connected())
    world:disconnect(session)
    world:advance(5)
    assert.are.equal("suspended", session.state)
    world:advance(5)
    assert.is_nil(session.id)
    world:heal()
    assert(session:connected(300))
  end))
end)

describe("a lost reply", function()
  it("of a lock's create leaves one znode", within({}, function(world)
    local session = world:session()
    assert(session:create("/l"))
    world:lose_reply(session, "create")
    assert.are.equal(1, world:planned(session))
    local hold = assert(session:lock("/l"):acquire())
    assert.are.equal(0, world:planned(session))
    assert.are.equal(1, #world:children("/l"))
    assert.are.equal("/l/" .. world:children("/l")[1], hold.path)
    assert.are.equal(2, world:requests(session, "create"))
  end))

  it("is connection_loss to a plain create, which was done", within({}, function(world)
    local session = world:session()
    world:lose_reply(session, "create", 2)
    assert(session:create("/one"))
    assert.are.equal("connection_loss", select(3, session:create("/two")))
    assert.is_table(select(2, world:get("/two")))
  end))

  it("differs from a lost request, which was not done", within({}, function(world)
    local session = world:session()
    world:lose_request(session, "create")
    assert.are.equal("connection_loss", select(3, session:create("/one")))
    assert.is_nil(select(2, world:get("/one")))
    assert(session:create("/one"))
  end))
end)

describe("a planned fault", function()
  it("delays, expires, cuts, pauses", within({}, function(world)
    local session = world:session { timeout = 6 }
    assert(session:create("/x", "0"))
    world:plan(session, "delay", { kind = "get", seconds = 1.5 })
    local from = world:now()
    assert(session:get("/x"))
    assert.is_true(world:now() - from >= 1.5)

    world:plan(session, "late_request", { kind = "set", seconds = 0.5, down = 2 })
    assert.are.equal("connection_loss", select(3, session:set("/x", "1")))
    assert.are.equal("0", (world:get("/x")))
    world:advance(1)
    assert.are.equal("1", (world:get("/x")))

    for _, late in ipairs { 0, 0.001, 0.5, 5 } do -- without `down` the client stays away long enough
      eventually(world, "a connection", function() return session.state == "connected" end)
      world:plan(session, "late_request", { kind = "set", seconds = late })
      assert.are.equal("connection_loss", select(3, session:set("/x", tostring(late))))
      world:advance(late + 0.1)
      assert.are.equal(tostring(late), (world:get("/x")))
    end
    eventually(world, "a connection", function() return session.state == "connected" end)

    local id = session.id
    world:plan(session, "expire", { kind = "exists", nth = 2 })
    assert(session:exists("/x") and session:exists("/x"))
    eventually(world, "a new session", function() return session.id and session.id ~= id end)

    world:plan(session, "pause", { seconds = 100 })
    from = world:now()
    session:get("/x")
    assert.is_true(world:now() - from >= 100)
    world:plan(session, "cut", { kind = "any", down = 1 })
    session:sync("/")
    assert.are.equal(0, world:planned(session))
  end))
end)

describe("a paused process", function()
  it("does nothing, and finds its hold lost when it wakes", within({}, function(world)
    local a, b = world:process(), world:process()
    local session, journal, hold = a.session(), {}, nil
    a.spawn(function()
      hold = assert(session:lock("/l"):acquire())
      while hold:valid() do
        journal[#journal + 1] = world:now()
        a.sleep(1)
      end
      journal.ended = world:now()
    end)
    world:advance(10)
    local worked = #journal
    assert.is_true(worked >= 10)
    world:pause(session, 60)
    local from = world:now()
    local other = assert(b.session():lock("/l"):acquire())
    assert.is_true(world:now() - from < 30)
    assert.is_true(other:valid())
    assert.is_nil(journal.ended)
    assert.are.equal(worked, #journal)
    world:advance(60)
    assert.are.equal(worked, #journal) -- it checked the hold before it worked
    assert.is_true(journal.ended >= from + 60 and journal.ended < from + 61)
  end))

  it("that is paused for a short time keeps its hold", within({}, function(world)
    local session = world:session { timeout = 10 }
    local hold = assert(session:lock("/l"):acquire())
    world:pause(session, 2)
    world:advance(20)
    assert.is_true(hold:valid())
  end))

  it("runs woken coroutines in order when it continues", within({}, function(world)
    local a, order = world:process(), {}
    for i = 1, 3 do a.spawn(function() a.sleep(0) order[#order + 1] = i end) end
    world:pause(a, 5)
    world:advance(4)
    assert.are.same({}, order)
    world:advance(2)
    assert.are.same({ 1, 2, 3 }, order)
  end))
end)

describe("servers", function()
  it("stop and start again", within({}, function(world)
    local session = world:session { timeout = 20 }
    assert(session:connected())
    world:stop_server(1)
    world:advance(1)
    assert.are.equal("suspended", session.state)
    world:start_server(1)
    assert(session:connected(200))
    for number = 2, 3 do world:stop_server(number) end
    eventually(world, "the move", function()
      return session.state == "connected" and session.server == "127.0.0.1:2181"
    end)
    assert(session:create("/x"))
    world:heal()
  end))

  it("lag behind the leader", within({}, function(world)
    local writer, reader = world:session(), world:session()
    assert(writer:create("/x", "old"))
    world:move(reader, 2)
    world:move(writer, 1)
    world:advance(0.5)
    assert(reader:get("/x"))
    world:lag(2, 30)
    assert(writer:set("/x", "new"))
    assert.are.equal("127.0.0.1:2182", reader.server)
    assert.are.equal("old", (reader:get("/x")))
    assert.are.equal("new", (world:get("/x")))
    world:heal()
    assert(reader:sync("/x"))
    assert.are.equal("new", (reader:get("/x")))
  end))

  it("that are cut off from the leader lose their clients to other servers", within({}, function(world)
    local session = world:session { timeout = 20 }
    world:move(session, 3)
    assert(session:connected())
    eventually(world, "the move", function() return session.server == "127.0.0.1:2183" end)
    world:isolate_server(3)
    eventually(world, "another server", function()
      return session.state == "connected" and session.server ~= "127.0.0.1:2183"
    end)
    world:start_server(3)
  end))
end)

describe("faults at random", function()
  it("do not break a lock", function()
    for seed = 1, 5 do
      local world = sim.new { seed = seed }
      local grants, holders = 0, 0
      world:faults { lose_request = 0.05, lose_reply = 0.05, cut = 0.05, delay = 0.05, late_request = 0.02, expire = 0.02,
        pause = 0.02, lag = 0.1, max_delay = 2, max_down = 3, max_pause = 15, max_lag = 1 }
      world:run(function()
        for _ = 1, 3 do
          local host = world:process()
          local lock = host.session { timeout = 4 }:lock("/l")
          host.spawn(function()
            for _ = 1, 10 do
              local hold = lock:acquire(30)
              if hold and hold:valid() then
                grants, holders = grants + 1, holders + 1
                assert.are.equal(1, holders)
                holders = holders - 1
                hold:release()
              end
            end
          end)
        end
        world:advance(600)
        world:faults(nil)
        world:heal()
        world:advance(60)
        assert.are.same({}, world:children("/l") or {})
      end)
      assert.is_true(grants >= 10)
    end
  end)
end)
