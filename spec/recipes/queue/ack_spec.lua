-- An ack that is canceled while it is under way, in simulated worlds.

local env = require "spec.support.env"
local queues = require "spec.support.queues"
local sim = require "zkrecipes.sim"

local fails = env.fails

-- Runs body(world, zk, queue, item) with a claimed item.
local function with_item(body)
  return function()
    local world = sim.new { seed = 1, limit = 5000 }
    world:run(function()
      local zk = world:process()
      local queue = zk.session({ timeout = 10 }):queue("/jobs")
      queue:put("x")
      body(world, zk, queue, assert(queue:claim(200)))
    end)
  end
end

-- Calls the method in a task that is canceled when the request is on the wire.
local function canceled(world, zk, item, method, ...)
  local before = world:requests(zk, "multi")
  local task = zk.spawn(item[method], item, ...)
  while world:requests(zk, "multi") == before do zk.sleep(0) end
  task:cancel()
  fails("canceled", task:wait(1))
end

describe("an ack that was canceled in flight", function()
  it("is done when it is repeated", with_item(function(world, zk, queue, item)
    canceled(world, zk, item, "ack")
    world:advance(1)
    assert.is_true(item:ack())
    assert.equal(0, queue:size())
    assert.equal(0, queues.counts(queue).claims)
  end))

  it("and never arrived, is done when it is repeated", with_item(function(world, zk, queue, item)
    world:plan(zk, "lose_request", { kind = "multi" })
    canceled(world, zk, item, "ack")
    world:advance(1)
    assert.equal(1, queue:size())
    assert.is_true(item:ack())
    assert.equal(0, queue:size())
  end))

  it("fails with `lost` if the session was lost before", with_item(function(world, zk, queue, item)
    world:plan(zk, "lose_request", { kind = "multi" })
    canceled(world, zk, item, "ack")
    world:advance(1)
    world:expire(zk)
    world:advance(20)
    fails("lost", item:ack())
    assert.equal(1, queue:size())
    assert.equal(2, queue:claim(200).attempts)
  end))

  it("does not count as done if it was refused before", with_item(function(world, zk, queue, item)
    world:expire(zk)
    world:advance(20)
    fails("lost", item:ack())
    fails("lost", item:ack())
    assert.equal(1, queue:size())
  end))
end)

it("an ack that the server has refused does not count as one that may have been done", with_item(function(world, zk, queue, item)
  local bucket, admin = item.path:match "^(.*)/", world:session()
  local function allow(perms) assert(admin:set_acl(bucket, { { scheme = "world", id = "anyone", perms = perms } })) end
  allow "ra"
  fails("no_auth", item:ack())
  allow "rwcda"
  world:expire(zk)
  world:advance(20)
  assert(assert(queue:claim(200)):ack())
  fails("lost", item:ack())
end))

describe("a nack that was canceled in flight", function()
  it("is done when it is repeated", with_item(function(world, zk, queue, item)
    canceled(world, zk, item, "nack")
    world:advance(1)
    assert.is_true(item:nack())
    assert.equal(0, queues.counts(queue).claims)
    assert.equal(2, queue:claim(200).attempts)
  end))

  it("with a delay is done when it is repeated", with_item(function(world, zk, queue, item)
    canceled(world, zk, item, "nack", 5)
    world:advance(1)
    assert.is_true(item:nack(5))
    assert.equal(0, queues.counts(queue).claims)
    assert.equal(1, queue:size())
    assert.equal(2, queue:claim(200).attempts)
  end))

  it("after an ack that was canceled in flight, says that the item was acked", with_item(function(world, zk, queue, item)
    canceled(world, zk, item, "ack")
    world:advance(1)
    local message = fails("lost", item:nack())
    assert.matches("acked", message)
    assert.equal(0, queue:size())
  end))
end)
