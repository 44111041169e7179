-- How long the waiters of an unfair lock hesitate (src/recipes/unfair.c), in simulated time.
-- Tags: sanitize, one thread

local sim = require "zkrecipes.sim"

local HALF = 0.05 -- seconds that a message takes

local function in_world(fn)
  local world = sim.new { seed = 1, servers = 1, latency = HALF, jitter = 0 }
  world:run(function()
    local function lock_of(zk)
      local session = zk.session { timeout = 30 }
      assert(session:connected(10))
      return session:lock("/l", { fair = false })
    end
    fn(world, lock_of(world.zk), lock_of(world:process()))
  end)
end

describe("the waiters of an unfair lock", function()
  it("do not hesitate alone: a hand-over takes the event and the create", function()
    in_world(function(world, ours, theirs)
      for _ = 1, 20 do
        local hold, got = assert(theirs:acquire()), nil
        local task = world.zk.spawn(function()
          local mine = assert(ours:acquire())
          got = world:now()
          mine:release()
        end)
        world:advance(1)
        local from = world:now()
        hold:release()
        task:wait()
        -- The release reads, then deletes; the delete arrives, the event comes back; the create takes a round trip.
        assert.is_true(got - from < 6 * HALF + 0.001, got - from .. " s")
        world:advance(1)
      end
    end)
  end)

  it("of one session leave it to another session after 32 turns", function()
    in_world(function(world, ours, theirs)
      local turns, done, most = 0, false, 0
      local tasks = {}
      for i = 1, 3 do
        tasks[i] = world.zk.spawn(function()
          while not done do
            assert(ours:acquire()):release()
            turns = turns + 1
          end
        end)
      end
      for _ = 1, 5 do
        local before = turns
        local hold = assert(theirs:acquire())
        most = math.max(most, turns - before)
        hold:release()
      end
      done = true
      for i = 1, 3 do tasks[i]:wait() end
      assert.is_true(most > 1 and most < 5 * 33, "turns of the others: " .. most)
    end)
  end)
end)
