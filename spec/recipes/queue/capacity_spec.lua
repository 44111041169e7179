-- Room in a queue with a capacity, in simulated worlds.

local env = require "spec.support.env"
local sim = require "zkrecipes.sim"

local fails = env.fails

local function items(count)
  local list = {}
  for i = 1, count do list[i] = "x" .. i end
  return list
end

local function in_world(body)
  return function()
    local world = sim.new { seed = 1, limit = 5000 }
    world:run(function()
      local zk = world:process()
      local session = zk.session { timeout = 10 }
      assert(session:connected(200))
      body(world, zk, session)
    end)
  end
end

describe("put_all into a queue with a capacity", function()
  it("puts as many items as there is room for, and returns how many", in_world(function(_, _, session)
    local queue = session:queue("/jobs", { capacity = 50 })
    local _, message, code, put = queue:put_all(items(60), 0)
    assert.equal("full", code, message)
    assert.equal("queue:put_all /jobs: the queue is full (50 items)", message)
    assert.equal(50, put)
    assert.equal(50, queue:size())
    assert.equal("x1", (queue:take(200)))
    _, _, code, put = queue:put_all(items(60), 0)
    assert.equal("full", code)
    assert.equal(1, put)
    assert.equal(50, queue:size())
  end))

  it("waits until there is room for the rest", in_world(function(world, zk, session)
    local queue = session:queue("/jobs", { capacity = 50 })
    local put = zk.spawn(queue.put_all, queue, items(120))
    local most = 0
    for i = 1, 120 do
      most = math.max(most, queue:size())
      assert.equal("x" .. i, (queue:take(600)))
      world:advance(0.01)
    end
    assert.equal(120, put:wait(600))
    assert.equal(50, most)
    assert.equal(0, queue:size())
  end))

  it("has one time limit for all items", in_world(function(world, zk, session)
    local queue = session:queue("/jobs", { capacity = 1 })
    zk.spawn(function()
      for _ = 1, 5 do
        zk.sleep(0.7)
        queue:take(60)
      end
    end)
    local from = world:now()
    local _, _, code, put = queue:put_all(items(9), 1)
    assert.equal("full", code)
    assert.equal(2, put)
    assert.is_true(world:now() - from < 1.2)
  end))

  it("sends requests of a hundred items while there is much room", in_world(function(world, zk, session)
    local queue = session:queue("/jobs", { capacity = 10000 })
    queue:put("0")
    local before = world:requests(zk, "multi")
    assert.equal(400, queue:put_all(items(400)))
    assert.equal(4, world:requests(zk, "multi") - before)
    fails("full", session:queue("/jobs", { capacity = 401 }):put("x", { timeout = 0 }))
  end))
end)
