-- A simulated world from Lua: virtual time, programs, inspection. Faults are in sim_faults_spec.lua, several worlds and their end in
-- sim_worlds_spec.lua. Needs no server.
-- Tags: sanitize, one thread

local deaf = require "spec.support.deaf"
local sim = require "zkrecipes.sim"

local assert_misuse = deaf.assert_misuse

-- A program as users write it, which knows nothing of simulation.
local function program(host, journal)
  local session = host.session { hosts = "zk1:2181", timeout = 6 }
  assert(session:create("/conf", "one", { parents = true }))
  local all = { host.all { function() return session:get("/conf") end, function() return session:exists("/none") end } }
  journal[1], journal[2] = all[1], all[2]
  journal[3] = host.any { function() host.sleep(1) return "late" end, function() host.sleep(86400 / 2) return "never" end }
  host.spawn(function()
    host.sleep(10)
    journal[4] = "the last"
  end)
  return session.id
end

describe("virtual time", function()
  it("passes when all coroutines sleep, and costs nothing", function()
    local world, began = sim.new(), os.clock()
    world:run(function()
      local from = world:now()
      world.zk.sleep(80000)
      assert.is_true(math.abs(world:now() - from - 80000) < 0.0001)
    end)
    assert.is_true(os.clock() - began < 2)
  end)

  it("stands still while coroutines run", function()
    local world = sim.new()
    world:run(function()
      local from = world.zk.now()
      for _ = 1, 100 do world.zk.sleep(0) end
      assert.are.equal(from, world.zk.now())
    end)
  end)

  it("passes for coroutines that poll without sleeping", function()
    local world = sim.new()
    world:run(function()
      local done
      world.zk.spawn(function() world.zk.sleep(5) done = true end)
      while not done do world.zk.sleep(0) end
      assert.is_true(world:now() >= 5)
    end)
  end)

  it("can be advanced from the main thread too", function()
    local world, ticks = sim.new(), 0
    local task = world.zk.spawn(function() while true do world.zk.sleep(60) ticks = ticks + 1 end end)
    world:advance(3601)
    assert.are.equal(60, ticks)
    task:cancel()
    world:advance(0)
    assert.are.equal("canceled", select(3, task:wait()))
  end)

  it("wakes sleepers in the order of their times", function()
    local world, order = sim.new(), {}
    world:run(function()
      for i = 10, 1, -1 do
        world.zk.spawn(function() world.zk.sleep(i) order[#order + 1] = i end)
      end
    end)
    assert.are.same({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, order)
  end)
end)

describe("a program", function()
  it("runs in a world unchanged", function()
    local world, journal = sim.new(), {}
    assert.matches("^%x+$", world:run(function() return program(world.zk, journal) end))
    assert.are.same({ "one", false, "late", "the last" }, journal)
    assert.is_true(world:now() > 11 and world:now() < 20)
  end)

  it("may call run and using itself", function()
    local world = sim.new()
    local host = world.zk.using "luv"
    assert.are.equal(1, host.run(function() host.sleep(3600) return 1 end))
    assert.is_true(world:now() >= 3600)
  end)

  it("may be written without coroutines", function()
    local world = sim.new()
    local session = world:session()
    local hold = assert(session:lock("/l"):acquire(200))
    assert(session:create("/a", "b"))
    assert.are.equal("b", (session:get("/a")))
    assert.is_true(hold:valid())
    assert(session:close())
    assert.is_nil(world:children("/l")[1])
  end)

  it("ends the run when all spawned coroutines, in any process, have ended", function()
    local world, ended = sim.new(), 0
    local other = world:process()
    local function later() ended = ended + 1 end
    world:run(function()
      world.zk.spawn(function() world.zk.sleep(100) later() end)
      other.spawn(function()
        other.sleep(200)
        world.zk.spawn(function() other.sleep(300) later() end)
        later()
      end)
    end)
    assert.are.equal(3, ended)
    assert.is_true(world:now() >= 500)
  end)

  it("has the sessions that it opened closed at the end", function()
    local world, first = sim.new(), nil
    local kept = world:session()
    assert(kept:connected())
    world:run(function()
      first = world:session()
      assert(first:connected())
      assert(world.zk.session():connected())
      assert.are.equal(3, world:sessions())
    end)
    assert.are.equal("closed", first.state)
    assert.are.equal(1, world:sessions())
  end)

  it("makes the run fail if it fails anywhere", function()
    local world = sim.new()
    local ok, message = pcall(world.run, world, function()
      world:process().spawn(function() error("it broke") end)
      world.zk.sleep(80000)
    end)
    assert.is_false(ok)
    assert.matches("sim_spec.lua:%d+: it broke\nstack traceback:", message)
    assert.is_true(world:now() < 10)

    local reports = {}
    world:run(function() world.zk.spawn(error, "it broke too") end,
      { fail_fast = false, on_error = function(text) reports[#reports + 1] = text end })
    assert.are.equal(1, #reports)
    assert.matches("it broke too", reports[1])
  end)

  it("makes the run fail if it fails in on_lost", function()
    local world = sim.new()
    local ok, message = pcall(world.run, world, function()
      local session = world:session()
      local hold = assert(session:lock("/l"):acquire())
      hold:on_lost(function() error("not my day") end)
      world:expire(session)
      world.zk.sleep(100)
      assert.is_false(hold:valid())
    end)
    assert.is_false(ok)
    assert.matches("not my day", message)
  end)

  it("is given up if it cannot end", function()
    local world = sim.new { limit = 1000 }
    assert_misuse(function()
      world:run(function()
        local a, b = world:session(), world:session()
        local hold = assert(a:lock("/l"):acquire())
        b:lock("/l"):acquire()
        hold:release()
      end)
    end, "not over after 1000 s of virtual time")
    assert.is_true(world:now() >= 1000 and world:now() < 1100)
    assert.is_nil(world:children("/l")[1])
    assert_misuse(function() world:run(function() world:session():watch("/w"):wait() end) end, "not over after 1000 s")
    assert_misuse(function() world:run(function() while true do world.zk.sleep(0) end end) end, "not over after 1000 s")
    local a, b
    a = world.zk.spawn(function() return b:wait() end)
    b = world.zk.spawn(function() return a:wait() end)
    assert_misuse(function() a:wait() end, "every coroutine waits for another one")
  end)
end)

describe("the inspection of a world", function()
  it("shows the leader's znodes", function()
    local world = sim.new()
    local session = world:session { namespace = "/app" }
    assert(session:create("/b", "data", { parents = true }))
    assert(session:create("/a", nil, { ephemeral = true }))
    local data, stat = world:get("/app/b")
    assert.are.equal("data", data)
    assert.are.equal(0, stat.version)
    assert.matches("^%x+$", stat.czxid)
    local null, of_null = world:get("/app/a")
    assert.is_nil(null)
    assert.are.equal(session.id, of_null.ephemeral_owner)
    assert.are.equal(0, select("#", world:get("/none")))
    assert.are.same({ "a", "b" }, world:children("/app"))
    assert.are.same({ "app" }, world:children("/"))
    assert.is_nil(world:children("/none"))
    assert.matches('\n/app/b czxid=%x+ .- "data"\n', world:dump())
    assert.matches("^/app/b [^\n]*\n$", world:dump("/app/b"))
    assert.are.equal("", world:dump("/none"))
  end)

  it("counts requests, watches and sessions", function()
    local world = sim.new()
    local a, b = world:session(), world:session()
    assert(a:create("/x", "") and b:sync("/x") and b:exists("/x") and b:get("/x"))
    assert.are.equal(1, world:requests(a))
    assert.are.equal(3, world:requests(b))
    assert.are.equal(1, world:requests(b, "get"))
    assert.are.equal(0, world:requests(b, "create"))
    assert.are.equal(4, world:requests())
    assert.are.equal(1, world:requests(nil, "create"))
    assert.are.equal(0, world:requests(world.zk))
    assert.are.equal(2, world:sessions())
    local watch = assert(a:watch("/x"))
    world:advance(1)
    assert.is_true(world:watches() > 0)
    watch:close()
    local id = a.id
    assert.is_true(world:alive(id))
    assert(a:close())
    assert.is_false(world:alive(id))
    assert.are.equal(1, world:sessions())
    assert.are.equal(0, world:watches())
  end)
end)

describe("hosts in a simulated world", function()
  it("are ignored, except their chroot", function()
    local world = sim.new()
    world:run(function()
      local session = world:session { hosts = { "zk1:2181", "zk2:2181/app" }, namespace = "/ns" }
      assert(session:create("/a", "x", { parents = true }))
      assert.are.equal("x", (world:get("/app/ns/a")))
      assert.are.equal("/l/", assert(session:lock("/l"):acquire()).path:sub(1, 3))
      assert.are.same({ "a", "l" }, world:children("/app/ns"))
      assert.is_truthy(world:session { hosts = "zk1:2181/app/ns" }:exists("/a"))
    end)
  end)
end)
