-- The queue while there is no connection, in simulated worlds.

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

describe("a queue without a connection", function()
  it("fails claim(0) and take(0) with connection_loss, within the session's timeout", in_world(function(world, zk, _, queue)
    world:disconnect(zk)
    for _, method in ipairs { "claim", "take" } do
      local from = world:now()
      local task = zk.spawn(queue[method], queue, 0)
      fails("connection_loss", task:wait(100))
      assert.is_true(world:now() - from < 11)
    end
    world:heal()
    queue:put("x")
    assert.equal("x", (queue:take(200)))
  end))

  it("keeps a waiter waiting beside callers that only try", in_world(function(world, zk, _, queue)
    world:disconnect(zk)
    local patient, try = zk.spawn(queue.claim, queue), zk.spawn(queue.claim, queue, 0)
    fails("connection_loss", try:wait(100))
    fails("timeout", patient:wait(100))
    world:heal()
    queue:put("x")
    assert.equal("x", patient:wait(600).data)
  end))

  it("does not keep claim(0) until the outcome of its claim is known; the item returns", in_world(function(world, zk, _, queue)
    queue:put("x")
    world:plan(zk, "lose_reply", { kind = "multi", down = 200 })
    local from = world:now()
    local message = fails("connection_loss", zk.spawn(queue.claim, queue, 0):wait(1000))
    assert.is_string(message)
    assert.is_true(world:now() - from < 1.1)
    local item = assert(queue:claim(400))
    assert.equal("x", item.data)
    assert.is_true(item.attempts <= 2)
    assert(item:ack())
    assert.equal(0, queue:size())
    assert.same({}, world:children("/jobs/claims"))
  end))

  it("fails claim(0) if its answer is lost, and gives the item to the next waiter", in_world(function(world, zk, _, queue)
    queue:put("x")
    world:plan(zk, "lose_reply", { kind = "multi", down = 3 })
    local try = zk.spawn(queue.claim, queue, 0)
    local item = assert(zk.spawn(queue.claim, queue, 60):wait(100))
    fails("connection_loss", try:wait(100)) -- its answer would take three seconds
    assert.is_true(item.attempts <= 2)
    assert(item:ack())
  end))

  it("continues a take if nothing was taken", in_world(function(world, zk, _, queue)
    queue:put("x")
    world:plan(zk, "lose_request", { kind = "get", down = 30 })
    assert.equal("x", (zk.spawn(queue.take, queue):wait(300)))
    queue:put("y")
    world:plan(zk, "lose_reply", { kind = "multi", down = 30 })
    local message = fails("connection_loss", zk.spawn(queue.take, queue):wait(300))
    assert.matches("may have been removed without being delivered", message)
  end))

  it("creates a consumer's znode again if the first create failed", in_world(function(world, zk)
    local late = world:process()
    local queue = late.session({ timeout = 10 }):queue("/jobs")
    assert.equal(0, queue:size())
    zk.session():queue("/jobs"):put("x")
    world:plan(late, "lose_request", { kind = "create", down = 30 })
    assert.equal("x", late.spawn(queue.claim, queue):wait(300).data)
  end))

  -- Each answer comes soon enough for the connection to count as alive. Both together take longer than the session's lease.
  it("gives no item whose claim is answered after the end of the session, but the next one", in_world(function(world, _, session, queue)
    queue:put("x")
    local old = session.id
    for _, kind in ipairs { "get", "multi" } do world:plan(session, "delay", { kind = kind, seconds = 5.7 }) end
    local item = assert(queue:claim(60))
    assert.is_true(session.id ~= old)
    local _, stat = world:get(item.claim.claim)
    assert.same({ session.id, 2 }, { stat and stat.ephemeral_owner, item.attempts })
    assert.is_true(item:ack())
  end))
end)

describe("a queue that cannot watch", function()
  it("fails, and does not sleep", in_world(function(world, zk, session, queue)
    local watches = {}
    for _, size in ipairs { 900, 1 } do
      local room = true
      while room do
        room = session:watch("/" .. ("x"):rep(size) .. #watches)
        watches[#watches + 1] = room
      end
    end
    local before = world:requests()
    fails("full", zk.spawn(queue.claim, queue):wait(100))
    fails("full", zk.spawn(queue.take, queue, 50):wait(100))
    fails("timeout", queue:claim(0))
    assert.is_true(world:requests() - before < 100)
    assert.is_nil(next(world:children("/jobs/seat")))
    for i = 1, #watches do watches[i]:close() end
    world:expire(session) -- until then the client keeps them
    local task = zk.spawn(queue.claim, queue)
    world:advance(5)
    zk.session():queue("/jobs"):put("x")
    assert.equal("x", task:wait(200).data)
  end))
end)
