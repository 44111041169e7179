-- Memory is exhausted while contenders wait in a long queue, or while a holder announces its end: each allocation fails once.
-- Tags: sanitize, one thread

local allocations = require "spec.support.allocations"
local core = require "zkrecipes.core"
local sim = require "zkrecipes.sim"

local COUNT = 4

describe("a lock without memory", function()
  local world, sessions, got, order

  local function acquire(i)
    local lock, message, code = sessions[i]:lock("/l")
    local hold
    if lock then hold, message, code = lock:acquire(1000) end
    assert.is_true(hold ~= nil or code == "no_memory", tostring(message))
    got[i] = hold
    if hold then order[#order + 1] = i end
  end

  local function join(i)
    world.zk.spawn(acquire, i)
    world:advance(2)
  end

  -- Returns the only one that holds; nil: none does.
  local function holder()
    local found
    for i = 1, COUNT do
      if got[i] and got[i]:valid() then
        assert.is_nil(found, "two hold at once")
        found = got[i]
      end
    end
    return found
  end

  local function release()
    local hold = holder()
    if hold then hold:release() end
    world:advance(3)
    return hold
  end

  -- Two waiters join, or the second holder leaves, while the n-th allocation fails.
  local function once(joining, n)
    core.alloc_fail(0)
    got, order = {}, {}
    join(1)
    join(2)
    if joining then core.alloc_fail(n) end
    join(3)
    join(4)
    release()
    if not joining then core.alloc_fail(n) end
    repeat until not release()
    for i = 2, #order do assert.is_true(order[i] > order[i - 1], "out of order") end
    world:advance(5)
    for i = 1, COUNT do
      local usage = sessions[i]:usage()
      assert.are.same({ 0, 0 }, { usage.watches, usage.in_flight })
    end
    assert.is_true(joining or #order == COUNT)
  end

  for _, joining in ipairs { true, false } do
    it(joining and "grants in order if it was missing for a wait" or "is granted to all if it was missing for a release", function()
      world = sim.new { seed = 1, latency = 0.05, jitter = 0, container_interval = 1e9, limit = 1e7 }
      world:run(function()
        sessions = {}
        for i = 1, COUNT do
          sessions[i] = assert(world:process().session { timeout = 30 })
          assert(sessions[i]:connected(10))
        end
        allocations.at_every(function(n) once(joining, n) end)
        assert.are.same({}, sessions[1]:children("/l"))
        for i = 1, COUNT do sessions[i]:close() end
      end)
    end)
  end
end)
