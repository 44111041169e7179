-- Barriers and the latch, in simulated worlds.
-- Tags: sanitize, one thread

local sim = require "zkrecipes.sim"
local env = require "spec.support.env"
local fails, raises = env.fails, env.raises

describe("a latch", function()
  it("is created again if it is deleted during a count", function()
    local world = sim.new { seed = 1 }
    world:run(function()
      local host, other = world:process(), world:process().session()
      local latch = host.session({ timeout = 10 }):latch("/l", 3)
      assert.are.equal(3, latch:count(5))
      world:plan(host, "lose_request", { nth = 2, down = 1 }) -- the transaction
      local task = host.spawn(latch.count_down, latch)
      world:advance(0.5)
      assert(other:delete("/l"))
      assert.are.equal(2, task:wait(20))
      assert.are.equal(2, latch:count(5))
    end)
  end)

  it("says that a count may have been made if its limit passes before the outcome is known", function()
    local world = sim.new { seed = 1 }
    world:run(function()
      local host = world:process()
      local latch = host.session({ timeout = 10 }):latch("/l", 3)
      assert.are.equal(3, latch:count(5))
      world:plan(host, "lose_reply", { nth = 2, down = 4 }) -- of the transaction
      assert.matches("may or may not have been made", fails("connection_loss", latch:count_down(2)))
      world:advance(5)
      assert.are.equal(2, latch:count(5))
      world:disconnect(host)
      world:advance(0.1)
      assert.not_matches("may or may not", fails("connection_loss", latch:count_down(2)))
    end)
  end)

  it("is read by another waiting coroutine if the coroutine that reads it is canceled", function()
    local world = sim.new { seed = 1 }
    world:run(function()
      local host, other = world:process(), world:process().session()
      local latch = host.session({ timeout = 10 }):latch("/l", 1)
      assert.are.equal(1, latch:count(5))
      local first, second = host.spawn(latch.wait, latch), host.spawn(latch.wait, latch, 20)
      host.sleep(0)
      first:cancel()
      world:advance(1)
      assert.are.equal(0, other:latch("/l", 1):count_down())
      assert.is_true(second:wait(5))
    end)
  end)
end)

describe("a latch whose znode is written by hand", function()
  for _, method in ipairs { "count_down", "count", "wait" } do
    it("is opened for those who wait by the next " .. method, function()
      local world = sim.new { seed = 1 }
      world:run(function()
        local mine, other = world:session(), world:session()
        local waiter = world.zk.spawn(function() return mine:latch("/l", 2):wait(2000) end)
        world:advance(1)
        assert.are.equal(1, other:latch("/l", 2):count_down())
        assert(other:set("/l", "2"))
        world:advance(1)
        local latch = other:latch("/l", 2)
        local answer = assert(latch[method](latch, 5))
        assert.are.equal(method == "wait" or 0, answer)
        assert.is_true(waiter:wait(1))
        assert.is_truthy(world:get("/l/open"))
      end)
    end)
  end

  it("lets those pass who may not make a znode below it", function()
    local world = sim.new { seed = 1 }
    world:run(function()
      local other = world:session()
      assert(other:create("/l", "1", { acl = { { perms = "rwda", scheme = "world", id = "anyone" } } }))
      assert(other:set("/l", "1"))
      local latch = other:latch("/l", 1)
      assert.is_true(latch:wait(5))
      assert.are.equal(0, latch:count_down(5))
    end)
  end)

  it("costs no write if nobody has written it by hand", function()
    local world = sim.new { seed = 1 }
    world:run(function()
      local mine = world:session()
      local latch = mine:latch("/l", 2)
      for left = 1, 0, -1 do assert.are.equal(left, latch:count_down(5)) end
      local before = world:requests(mine)
      for _ = 1, 10 do assert.is_true(latch:wait(5)) end
      assert.are.equal(before + 10, world:requests(mine))
    end)
  end)
end)

describe("a cyclic barrier", function()
  it("times out or lets both members through at every distance in time between them", function()
    local world, through, late = sim.new { seed = 1 }, 0, 0
    world:run(function()
      local host, other = world:process(), world:process()
      local mine, theirs = host.session():cyclic_barrier("/c", 2), other.session():cyclic_barrier("/c", 2)
      for i = 1, 400 do
        local first = host.spawn(function() return mine:wait(0.02) end)
        world:advance(i % 80 * 0.0003) -- the last distances are too long
        local second = other.spawn(function() return theirs:wait(0.02) end)
        local a, b = first:wait(10), second:wait(10)
        assert.are.equal(a, b)
        if a then through = through + 1 else late = late + 1 end
      end
      world:advance(1)
      assert.are.same({}, world:children("/c"))
    end)
    assert.is_true(through > 50 and late > 50, through .. " went on, " .. late .. " gave up")
  end)
end)

describe("a stranger's znode below a barrier", function()
  local JOIN = { cyclic_barrier = "wait", double_barrier = "enter" }
  local STRANGERS = { "w-", "w-foo", "w-n3-x", "w-n3-0123456789abcdef", "w-n3-0123456789abcdef-", "w-n3-0123456789abcdef-x", "w-n3--1",
    "w-n3-0123456789abcdef-1-", "w-n3-0123456789ABCDEF-1", "w-n-0123456789abcdef-1", "w-n33333-0123456789abcdef-1",
    "w-0123456789abcdef0-1", "w-a0123456789abcde-1x", "x-n3-0123456789abcdef-1" }

  for kind, method in pairs(JOIN) do
    it("is no member, and stays: " .. kind, function()
      local world = sim.new { seed = 1 }
      world:run(function()
        local other, waits = world:session(), {}
        for i, name in ipairs(STRANGERS) do
          assert(other:create("/b/" .. name, "", { parents = true }))
          if i % 2 == 0 then assert(other:create("/b/" .. name .. "/x")) end
        end
        local function join(limit)
          local session = world:session()
          local barrier = session[kind](session, "/b", 3)
          return barrier[method](barrier, limit)
        end
        for i = 1, 2 do waits[i] = world.zk.spawn(join, 100) end
        world:advance(10)
        assert.is_false(waits[1].done or waits[2].done)
        waits[3] = world.zk.spawn(join, 100)
        for i = 1, 3 do assert.is_true(waits[i]:wait(10)) end
        assert.matches("1 of 3 came", fails("timeout", join(1)))
        for _, name in ipairs(STRANGERS) do assert.is_truthy(world:get("/b/" .. name)) end
      end)
    end)
  end

  it("is named if it is named like a member and cannot be deleted", function()
    local world = sim.new { seed = 1 }
    world:run(function()
      local session = world:session()
      assert(session:create("/b/w-n2-0123456789abcdef-1/x", "", { parents = true }))
      assert.are.equal("cyclic_barrier:wait /b: the znode /b/w-n2-0123456789abcdef-1 is named like a member, but has znodes below it; "
        .. "delete it", fails("conflict", session:cyclic_barrier("/b", 2):wait(10)))
      assert.are.same({ "w-n2-0123456789abcdef-1" }, world:children("/b"))
    end)
  end)
end)

describe("a path so long that few members fit into a request", function()
  local most = 99 -- members
  local path = "/" .. ("p"):rep(math.floor(1000000 / (most + 1)) - 91)

  for _, kind in ipairs { "cyclic_barrier", "double_barrier" } do
    it("allows no more members than can begin a round: " .. kind, function()
      local world, passed = sim.new(), 0
      world:run(function()
        local several, tasks = {}, {}
        for i = 1, 10 do several[i] = world:session() end -- one session has no room for the ephemeral znodes of all
        raises("a path of 9910 bytes allows at most 99 members, got 100", function() several[1][kind](several[1], path, most + 1) end)
        for i = 1, most do
          local session = several[i % 10 + 1]
          local barrier = session[kind](session, path, most)
          tasks[i] = world.zk.spawn(barrier.wait or barrier.enter, barrier, 20)
        end
        for i = 1, most do passed = passed + (tasks[i]:wait() and 1 or 0) end
      end)
      assert.are.equal(most, passed)
    end)

    it("counts the namespace when the round begins: " .. kind, function()
      local world, codes = sim.new(), {}
      world:run(function()
        local tasks = {}
        for i = 1, 6 do
          local session = world.zk.session { namespace = "/" .. ("n"):rep(200000) }
          local barrier = session[kind](session, "/b", 6)
          tasks[i] = world.zk.spawn(barrier.wait or barrier.enter, barrier, 10)
          world:advance(1)
        end
        for i = 1, 6 do codes[i] = select(3, tasks[i]:wait()) end
      end)
      assert.are.same({ "timeout", "timeout", "timeout", "timeout", "timeout", "too_large" }, codes)
    end)
  end
end)
