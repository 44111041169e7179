-- Which items a process claims in advance (`prefetch`): those that have no attempt behind them. In simulated worlds.
-- Tags: sanitize, one thread

local env = require "spec.support.env"
local prefetched = require "spec.support.prefetched"

local fails = env.fails
local in_world, put, spent = prefetched.in_world, prefetched.put, prefetched.spent

describe("prefetch", function()
  it("counts at most one attempt of an item that no caller had", in_world(9, function(world, _, queue, other)
    put(other, 1, 20)
    for _ = 1, 4 do -- the first item kills its consumers
      local process = world:process()
      local mine = process.session({ timeout = 10 }):queue("/jobs", { prefetch = 9 })
      local item = assert(mine:claim(5))
      assert.equal("1", item.data)
      world:disconnect(process)
      world:advance(30)
    end
    for _ = 1, 8 do -- these end in order
      local session = world:process().session { timeout = 10 }
      local mine = session:queue("/jobs", { prefetch = 9 })
      assert(assert(mine:claim(5)):ack())
      session:close()
    end
    assert.equal(0, queue:dead_size())
    local held = {}
    for i = 9, 20 do
      held[i] = assert(queue:claim(5))
      assert.equal(tostring(i), held[i].data)
      assert.is_true(held[i].attempts <= 2)
    end
    fails("timeout", queue:claim(0))
    for i = 9, 20 do assert(held[i]:ack()) end
  end))

  it("is for items at their first attempt, in order", in_world(9, function(world, zk, queue, other)
    put(other, 1, 60)
    local held = {}
    for i = 1, 30 do held[i] = assert(queue:claim(5)) end
    for i = 1, 30 do if i % 2 == 0 then assert(held[i]:nack()) else assert(held[i]:ack()) end end
    world:advance(3)
    local expected = {}
    for i = 2, 30, 2 do expected[#expected + 1] = i end
    for i = 31, 60 do expected[#expected + 1] = i end
    local cost = spent(world, zk, function()
      for i = 1, #expected do
        local item = assert(queue:claim(5))
        assert.equal(tostring(expected[i]), item.data)
        assert(item:ack())
      end
    end)
    assert.is_true(cost.get <= #expected + 10, cost.get)
    assert.equal(0, queue:size())
  end))

  it("claims nothing in advance that has only one attempt", in_world(9, function(world, zk, _, other)
    put(other, 1, 20)
    local mine = zk.session():queue("/jobs", { prefetch = 9, attempts = 1 })
    for i = 1, 20 do
      local item = assert(mine:claim(5))
      assert.equal(tostring(i), item.data)
      assert.equal(1, #world:children("/jobs/claims"))
      assert(item:ack())
    end
  end))
end)
