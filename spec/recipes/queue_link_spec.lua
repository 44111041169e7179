-- The queue while there is no link, in simulated worlds.

local env = require "spec.support.env"
local sim = require "zkrecipes.sim"

local fails = env.fails

-- Runs body(world, zk, session, queue): a process whose consumer is known to the servers already.
local function in_world(body)
  return function()
    local world = sim.new { seed = 1, limit = 5000 }
    world:run(function()
      local zk = world:process()
      local session = zk.session { timeout = 10 }
      local queue = session:queue("/jobs")
      queue:put("first")
      assert(queue:claim()):ack()
      body(world, zk, session, queue)
    end)
  end
end

describe("a queue without a link", function()
  it("claim(0) and take(0) say so, within the session's timeout", in_world(function(world, zk, _, queue)
    world:disconnect(zk)
    for _, method in ipairs { "claim", "take" } do
      local from = world:now()
      local task = zk.spawn(queue[method], queue, 0)
      fails("connection_loss", task:wait(100))
      assert.is_true(world:now() - from < 11)
    end
    world:heal()
    queue:put("x")
    assert.equal("x", (queue:take(5)))
  end))

  it("who waits goes on waiting, beside those who only try", in_world(function(world, zk, _, queue)
    world:disconnect(zk)
    local patient, try = zk.spawn(queue.claim, queue), zk.spawn(queue.claim, queue, 0)
    fails("connection_loss", try:wait(100))
    fails("timeout", patient:wait(100))
    world:heal()
    queue:put("x")
    assert.equal("x", patient:wait(60).data)
  end))

  it("claim(0) does not wait for the fate of its claim, and the item goes back", in_world(function(world, zk, _, queue)
    queue:put("x")
    world:plan(zk, "lose_reply", { kind = "multi", down = 200 })
    local from = world:now()
    local message = fails("connection_loss", zk.spawn(queue.claim, queue, 0):wait(1000))
    assert.is_string(message)
    assert.is_true(world:now() - from < 25)
    local item = assert(queue:claim(400))
    assert.equal("x", item.data)
    assert.is_true(item.attempts <= 2)
    assert(item:ack())
    assert.equal(0, queue:size())
    assert.same({}, world:children("/jobs/claims"))
  end))

  it("claim(0) whose claim turns out to be ours gives it to the next who waits", in_world(function(world, zk, _, queue)
    queue:put("x")
    world:plan(zk, "lose_reply", { kind = "multi", down = 3 })
    local try = zk.spawn(queue.claim, queue, 0)
    local item = assert(try:wait(100))
    assert.equal(1, item.attempts)
    assert(item:ack())
  end))

  it("a take goes on when nothing was taken", in_world(function(world, zk, _, queue)
    queue:put("x")
    world:plan(zk, "lose_request", { kind = "get", down = 30 })
    assert.equal("x", (zk.spawn(queue.take, queue):wait(300)))
    queue:put("y")
    world:plan(zk, "lose_reply", { kind = "multi", down = 30 })
    local message = fails("connection_loss", zk.spawn(queue.take, queue):wait(300))
    assert.matches("may have been taken for nobody", message)
  end))

  it("a consumer whose znode could not be made tries again", in_world(function(world, zk)
    local late = world:process()
    local queue = late.session({ timeout = 10 }):queue("/jobs")
    assert.equal(0, queue:size())
    zk.session():queue("/jobs"):put("x")
    world:plan(late, "lose_request", { kind = "create", down = 30 })
    assert.equal("x", late.spawn(queue.claim, queue):wait(300).data)
  end))
end)
