-- Many waiters for one queue in one process: their order, and their cost. In simulated worlds.

local env = require "spec.support.env"
local queues = require "spec.support.queues"
local sim = require "zkrecipes.sim"

-- Runs body(world, zk, queue) in a process of a new world.
local function in_world(body)
  local world = sim.new { seed = 1, limit = 100000 }
  return world:run(function()
    local zk = world:process()
    local queue = zk.session({ timeout = 10 }):queue("/jobs")
    queue:put("first")
    assert(queue:claim()):ack()
    return body(world, zk, queue)
  end)
end

-- CPU seconds for this many items, one a second, with this many waiters.
local function cost(waiters, items)
  return in_world(function(world, zk, queue)
    local got, tasks = 0, {}
    for i = 1, waiters do
      tasks[i] = zk.spawn(function()
        if queue:take() then got = got + 1 end
      end)
    end
    world:advance(5)
    local from = os.clock()
    for _ = 1, items do
      queue:put("x")
      world:advance(1)
    end
    local took = os.clock() - from
    assert.equal(items, got)
    for i = 1, waiters do tasks[i]:cancel() end
    return took
  end)
end

describe("a waiter for a queue", function()
  it("does not make an item more expensive", function()
    cost(100, 10)
    local few, many = cost(100, 10), cost(4000, 10)
    assert.is_true(many < 30 * few + 0.01, ("%.4f s beside 4000, %.4f s beside 100"):format(many, few))
  end)

  it("counts as one consumer per process and session", function()
    in_world(function(world, zk, queue)
      for round = 1, 3 do
        local tasks = {}
        for i = 1, 50 do
          queue:put("x")
          tasks[i] = zk.spawn(function() return queue:claim(30):ack() end)
        end
        for i = 1, 50 do assert.is_true(tasks[i]:wait(600)) end
        assert.equal(1, #world:children("/jobs/consumers"))
        world:expire(zk)
        world:advance(10 + round)
      end
    end)
  end)

  it("is served in order", function()
    in_world(function(world, zk, queue)
      local seen = {}
      for i = 1, 20 do
        zk.spawn(function() seen[tonumber((queue:take(100)))] = i end)
        zk.sleep(0)
      end
      world:advance(5)
      for i = 1, 20 do
        queue:put(tostring(i))
        world:advance(1)
      end
      for i = 1, 20 do assert.equal(i, seen[i]) end
    end)
  end)

  it("keeps waiting beside callers that only try; these do not wait for it", function()
    in_world(function(world, zk, queue)
      local patient = {}
      for i = 1, 5 do patient[i] = zk.spawn(queue.claim, queue, 100) end
      world:advance(1)
      for _ = 1, 5 do env.fails("timeout", zk.spawn(queue.claim, queue, 0):wait(1)) end
      for i = 1, 5 do
        queue:put(tostring(i))
        assert.equal(tostring(i), patient[i]:wait(200).data)
      end
    end)
  end)

  it("is forgotten when its caller leaves", function()
    in_world(function(world, zk, queue)
      zk.spawn(queue.claim, queue, 10000)
      world:advance(1)
      for _ = 1, 50 do
        local task = zk.spawn(queue.claim, queue, 1)
        world:advance(0.5)
        assert.equal(2, queues.counts(queue).waiting)
        task:cancel()
        world:advance(0.1)
        assert.equal(1, queues.counts(queue).waiting)
      end
      for _ = 1, 50 do queue:claim(0) end
      assert.equal(1, queues.counts(queue).waiting)
    end)
  end)

  -- The items that they ask for are taken by another process, so all of them come back to the line at once, in another order.
  it("keeps its place when the item that it was to have is gone", function()
    in_world(function(world, zk, queue)
      local other = world:process().session({ timeout = 10 }):queue("/jobs")
      for i = 1, 7 do queue:put(tostring(i)) end
      local seen, tasks = {}, {}
      for i = 1, 7 do world:plan(zk, "delay", { kind = "get", nth = i, seconds = 3 + (i * 3) % 7 / 10 }) end
      for i = 1, 7 do
        tasks[i] = zk.spawn(function() seen[i] = tonumber((queue:take(1000))) end)
        zk.sleep(0)
      end
      for _ = 1, 7 do assert(other:take(2)) end
      tasks[5]:cancel()
      world:advance(30)
      assert.equal(6, queues.counts(queue).waiting)
      for i = 1, 6 do
        queue:put(tostring(i))
        world:advance(1)
      end
      assert.same({ 1, 2, 3, 4, nil, 5, 6 }, seen)
    end)
  end)

  -- The item that it asks for is taken by another process, while another caller enters the line.
  it("comes before those that came after it, also when the item that it was to have is gone", function()
    in_world(function(world, zk, queue)
      local other = world:process().session({ timeout = 10 }):queue("/jobs")
      queue:put("gone")
      world:plan(zk, "delay", { kind = "get", seconds = 3 })
      local first = zk.spawn(queue.take, queue, 1000)
      world:advance(0.1)
      assert.equal("gone", (other:take(2)))
      local second = zk.spawn(queue.take, queue, 1000)
      world:advance(5)
      assert.equal(2, queues.counts(queue).waiting)
      other:put("1")
      other:put("2")
      assert.equal("1", (first:wait(10)))
      assert.equal("2", (second:wait(10)))
    end)
  end)
end)
