-- The first two waiters of a semaphore are granted by an event, without a listing. So an event that comes out of its order, or not at all,
-- must not grant them more than the limit. In a simulated world.
-- Tags: sanitize

local allocations = require "spec.support.allocations"
local core = require "zkrecipes.core"
local sim = require "zkrecipes.sim"

-- A world of four processes with a semaphore each: the first two hold one permit of two each, and the third waits. fn(world, semaphores,
-- holds, hosts, acquire).
local function within(path, fn)
  local world = sim.new { seed = 1, latency = 0.0001, jitter = 0, container_interval = 1e7, limit = 1e7 }
  world:run(function()
    local semaphores, holds, hosts, sessions = {}, {}, {}, {}
    for i = 1, 4 do
      hosts[i] = world:process()
      sessions[i] = hosts[i].session { timeout = 30 }
      assert(sessions[i]:connected(10))
      semaphores[i] = sessions[i]:semaphore(path)
    end
    local function acquire(i)
      hosts[i].spawn(function() holds[i] = semaphores[i]:acquire(1e5) end)
      world:advance(1)
    end
    local function all_acquire()
      assert(semaphores[4]:resize(2))
      world:advance(1)
      for i = 1, 3 do acquire(i) end
      assert(holds[1]:valid() and holds[2]:valid() and not holds[3])
    end
    fn(world, semaphores, holds, hosts, all_acquire, sessions)
  end)
end

local function release(world, holds, i)
  holds[i]:release()
  holds[i] = nil
  world:advance(2)
end

describe("a waiter that is granted by an event", function()
  -- A server reports what a client has missed in the order of the client's own table of watches: with each path it is another one.
  it("does not trust the limit that it knew before it was cut off", function()
    for n = 1, 12 do
      within("/s" .. n, function(world, semaphores, holds, hosts, all_acquire)
        all_acquire()
        world:disconnect(hosts[3])
        world:advance(0.5)
        assert(semaphores[4]:resize(1))
        release(world, holds, 1)
        world:heal(hosts[3])
        world:advance(3)
        assert.is_nil(holds[3])
        release(world, holds, 2)
        assert.is_true(holds[3]:valid())
      end)
    end
  end)

  it("does not trust the limit if there was no memory for the event of its change", function()
    within("/s", function(world, _, holds, _, all_acquire, sessions)
      allocations.at_every(function(n)
        core.alloc_fail(0)
        all_acquire()
        core.alloc_fail(n)
        local lowered = sessions[4]:set("/s", "1 2") -- one request, so that the events come as close together as they can
        release(world, holds, 1)
        assert.is_true(not lowered or holds[3] == nil, "granted without memory for allocation " .. n)
        for i = 2, 3 do
          if holds[i] then release(world, holds, i) end
        end
        world:advance(2)
        if holds[3] then release(world, holds, 3) end
      end)
    end)
  end)

  it("writes no names beside large data: they would be too large together", function()
    within("/s", function(world, semaphores, holds, hosts, _, sessions)
      assert(semaphores[1]:resize(1))
      semaphores[3] = sessions[3]:semaphore("/s", nil, { data = ("x"):rep(999880) })
      for i = 1, 4 do
        hosts[i].spawn(function() holds[i] = assert(semaphores[i]:acquire(1e5)) end)
        world:advance(1)
      end
      for i = 1, 4 do
        assert.is_true(holds[i]:valid())
        release(world, holds, i)
      end
    end)
  end)
end)

-- What docs/recipes/semaphore.md says of a waiter that stands still.
describe("a waiter whose process is paused", function()
  -- Three waiters, of one permit each. When waiter `n` is paused, all three permits are released. fn(world, at, released, semaphore): `at`
  -- has the times of the grants.
  local function paused(n, seconds, timeout, fn)
    local world = sim.new { seed = 1, jitter = 0, limit = 1e7 }
    world:run(function()
      local host, at, hosts, holds = world:process(), {}, {}, {}
      local semaphore = host.session { timeout = timeout }:semaphore("/s", 3)
      for i = 1, 3 do holds[i] = assert(semaphore:acquire(5)) end
      for i = 1, 3 do
        hosts[i] = world:process()
        local mine = hosts[i].session { timeout = timeout }:semaphore("/s", 3)
        hosts[i].spawn(function()
          local hold = mine:acquire(1000)
          at[i] = hold and world:now()
        end)
        world:advance(1)
      end
      world:pause(hosts[n], seconds)
      for i = 1, 3 do holds[i]:release() end
      local released = world:now()
      world:advance(2)
      fn(world, at, released, semaphore)
    end)
  end

  it("holds up nobody if it is the first", function()
    paused(1, 20, 30, function(_, at, released)
      assert.is_nil(at[1])
      for i = 2, 3 do assert.is_true(at[i] < released + 1) end
    end)
  end)

  it("holds up those behind it if it is not the first, until its session ends", function()
    paused(2, 60, 10, function(world, at, released, semaphore)
      assert.is_true(at[1] < released + 1)
      assert.is_nil(at[3])
      assert.are.equal(0, semaphore:available())
      for _, one in ipairs(assert(semaphore:contenders())) do assert.is_true(one.holding) end
      world:advance(15)
      assert.is_true(at[3] < released + 15)
      assert.are.equal(1, semaphore:available())
    end)
  end)

  it("holds up those behind it if it is not the first, until its process runs again", function()
    paused(2, 20, 30, function(world, at, released)
      world:advance(17)
      assert.is_nil(at[3])
      world:advance(5)
      assert.is_true(at[2] >= released + 19 and at[3] < released + 22)
    end)
  end)
end)
