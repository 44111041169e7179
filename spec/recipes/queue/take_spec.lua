-- take and remove while other clients claim or move the same items. In simulated worlds.

local env = require "spec.support.env"
local sim = require "zkrecipes.sim"

local fails = env.fails

local function in_world(attempts, body)
  return function()
    local world = sim.new { seed = 1, limit = 5000 }
    world:run(function()
      local zk = world:process()
      local session = zk.session { timeout = 10 }
      body(session:queue("/q", { attempts = attempts }), world, zk, session)
    end)
  end
end

describe("a queue", function()
  it("does not let take have an item without attempts left", in_world(1, function(queue, world, _, session)
    queue:put("poison")
    local item = assert(queue:claim(200))
    world:expire(session)
    fails("lost", item:ack())
    world:advance(5)
    queue:put("next")
    assert.equal("next", (queue:take(200)))
    assert.equal(0, queue:size())
    assert.equal("poison", queue:dead()().data)
  end))

  it("puts back an item whose waiter has gone, and does not count the attempt", in_world(1, function(queue, world, zk)
    queue:put("x")
    queue:put("y")
    assert(queue:take(200)) -- now the queue is known
    world:plan(zk, "delay", { kind = "multi", seconds = 3 })
    fails("connection_loss", queue:take(1)) -- its request is not answered
    world:advance(10)
    assert.equal(0, world:planned(zk))
    local item = assert(queue:claim(200))
    assert.equal("y", item.data)
    assert.equal(1, item.attempts)
  end))

  it("puts back a taken item with its id", in_world(2, function(queue, world, zk)
    queue:put("x", { id = "i" })
    queue:put("y")
    assert(queue:claim(200)):nack() -- now the queue is known
    world:plan(zk, "delay", { kind = "multi", seconds = 3 })
    fails("connection_loss", queue:take(1))
    world:advance(200)
    assert.equal(0, world:planned(zk))
    assert.equal(2, queue:size())
    assert.same({ true, "known" }, { queue:put("x", { id = "i" }) })
    local seen = {}
    for _ = 1, 2 do
      local data, item = queue:take(5)
      seen[data] = item
    end
    assert.same({ "i", 2 }, { seen.x.id, seen.x.attempts }) -- it was claimed once
    assert.is_nil(seen.y.id)
    assert.equal(0, queue:size())
    assert.same({ true, "known" }, { queue:put("x", { id = "i" }) })
    world:advance(70)
    assert.same({ true }, { queue:put("x", { id = "i" }) })
  end))

  it("gives the item of a consumer that died just after its session began", in_world(5, function(queue, world, zk)
    local other = world:session():queue("/q")
    assert(queue:put("first"))
    assert(assert(queue:claim(200)):ack())
    assert(queue:put("second"))
    world:plan(zk, "new_session", { kind = "get", seconds = 0 })
    local lost = assert(queue:claim(200)) -- an item that is collected goes back, and its attempt does not count
    assert.equal(0, world:planned(zk))
    local waiting = world.zk.spawn(other.claim, other, 600)
    world:advance(15) -- the first session of the consumer ends
    world:expire(zk)
    local item = assert(waiting:wait(600))
    assert.same({ "second", 2 }, { item.data, item.attempts })
    fails("lost", lost:ack())
  end))

  it("does not report an item as missing while it moves", in_world(5, function(queue, world, zk)
    local other = world:session():queue("/q")
    assert(other:put("x", { id = "i", delay = 1 }))
    world:plan(zk, "delay", { kind = "children", seconds = 3 })
    local removing = zk.spawn(queue.remove, queue, "i")
    local item = assert(other:claim(2.5))
    assert.equal(0, world:planned(zk))
    fails("conflict", removing:wait(10))
    assert(item:ack())
    assert.is_false(queue:remove("i"))
  end))
end)
