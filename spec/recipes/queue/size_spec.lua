-- Every later request can carry an item that put has accepted: the largest item passes through every method. In virtual time.

local sim = require "zkrecipes.sim"
local env = require "spec.support.env"
local fails = env.fails

local MOST = 980000

local KINDS = {
  ["a plain one"] = {},
  ["one with a priority"] = { priority = 65535 },
  ["one with the longest id"] = { id = ("/"):rep(200) },
  ["a delayed one with the longest id"] = { id = ("/"):rep(200), delay = 3 },
}

local function in_world(fn)
  return function()
    local world = sim.new { seed = 1 }
    world:run(function()
      local session = world.zk.session { namespace = "/" .. ("n"):rep(400) }
      fn(world, session:queue("/" .. ("q"):rep(500), { attempts = 3 }))
    end)
  end
end

describe("an item of 980,000 bytes:", function()
  for kind, options in pairs(KINDS) do
    it(kind .. " is claimed, put back, delayed, buried, redriven, taken and removed", in_world(function(world, queue)
      local data = ("x"):rep(MOST)
      assert(queue:put(data, options))
      local item = assert(queue:claim(200))
      assert.equal(MOST, #item.data)
      assert(item:nack())
      assert(assert(queue:claim(200)):nack(2))
      assert(assert(queue:claim(200)):nack())
      assert.equal(1, queue:dead_size())
      assert.equal(1, queue:redrive())
      assert.equal(MOST, #assert(queue:take(200)))
      world:advance(70)
      assert(queue:put(data, options))
      if options.id then assert.is_true(queue:remove(options.id)) else assert(assert(queue:claim(200)):ack()) end
      assert.equal(0, queue:size())
    end))
  end

  it("with one byte more it is refused, and takes no room", in_world(function(world, queue)
    local small = world.zk.session():queue("/small", { capacity = 1 })
    assert(small:put("1"))
    local data = ("x"):rep(MOST + 1)
    assert.matches("^queue:put /small: an item has at most 980000 bytes, not 980001$", fails("too_large", small:put(data)))
    fails("too_large", queue:put(data, { id = "x", delay = 1 }))
    assert.same({ nil, "too_large", 1 }, { (queue:put_all { "1", data, "2" }), select(3, queue:put_all { "1", data, "2" }) })
    assert.equal(2, queue:size())
  end))
end)
