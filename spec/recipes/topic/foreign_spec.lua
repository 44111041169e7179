-- A topic beside a client that writes into its znodes: retention goes on, publishing ends, and neither needs more requests.
-- Tags: sanitize

local env = require "spec.support.env"
local sim = require "zkrecipes.sim"

-- Runs fn(session, topic, logged, world) in a simulated world; logged: the warnings of the session, in order.
local function in_world(keep, fn)
  return function()
    local world = sim.new { seed = 1 }
    world:run(function()
      local logged = {}
      local session = world.zk.session { log = function(level, text) if level == "warning" then logged[#logged + 1] = text end end }
      fn(session, session:topic("/t", { keep = keep }), logged, world)
    end)
  end
end

-- The first three have ids.
local function publish(topic, from, to)
  for i = from, to do assert.are.equal(i, topic:publish("m" .. i, { id = i <= 3 and "id" .. i or nil })) end
end

-- Publishes these, and gives how many multis, and how many reads, that took.
local function counted(world, topic, from, to)
  local multis, reads = world:requests(nil, "multi"), world:requests(nil, "get")
  publish(topic, from, to)
  return world:requests(nil, "multi") - multis, world:requests(nil, "get") - reads
end

local function names(world, path)
  local list = world:children(path)
  table.sort(list, function(a, b) return tonumber(a) < tonumber(b) end)
  return table.concat(list, " ")
end

describe("a topic beside another client", function()
  for what, below in pairs { message = "/t/messages/0/2/x", id = "%s/x" } do
    it("removes the others if something is below one " .. what, in_world({ count = 3 }, function(session, topic, logged, world)
      publish(topic, 1, 2)
      local shard = require("zkrecipes.recipes.topic.layout").id("/t", "id2")
      below = below:format(shard)
      assert(session:create(below, ""))
      publish(topic, 3, 6)
      local multis, reads = counted(world, topic, 7, 26)
      assert.are.equal(20, multis)
      assert.is_true(reads <= 2 * 20 + 40) -- each message and its id, once, and those that are read ahead
      assert.are.equal(what == "message" and "2 24 25 26" or "24 25 26", names(world, "/t/messages/0"))
      assert.are.equal("last 26\nfirst 24\n", world:get "/t/head")
      assert.are.equal(1, #logged)
      assert.matches("another client has created a znode below .*2, so that stays when it is due; delete both", logged[1])
      local other = world:process().session():topic("/t", { keep = { count = 3 } }) -- which has not seen that
      assert.are.equal(27, other:publish "m27")
      assert.are.equal("25 26 27", names(world, "/t/messages/0"):match "25.*")
    end))
  end

  it("removes the others if something comes below one that was read already", in_world({ count = 40 }, function(session, topic, _, world)
    publish(topic, 1, 41)
    assert(session:create("/t/messages/0/3/x", ""))
    local multis = counted(world, topic, 42, 60)
    assert.are.equal(20, multis) -- one has failed
    assert.are.equal("3", names(world, "/t/messages/0"):match "^%d+")
    assert.are.equal("21", names(world, "/t/messages/0"):match "^%d+ (%d+)")
  end))

  it("keeps the bucket of what stays, and removes the others", in_world({ count = 3 }, function(session, topic, _, world)
    publish(topic, 1, 2)
    assert(session:create("/t/messages/0/2/x", ""))
    publish(topic, 3, 1002)
    assert.are.equal(10, (counted(world, topic, 1003, 1012)))
    assert.are.equal("2", names(world, "/t/messages/0"))
    assert(session:create("/t/messages/1/stranger", "")) -- a bucket of which nothing stays
    publish(topic, 1013, 2002)
    assert.are.equal(10, (counted(world, topic, 2003, 2012)))
    assert.are.same({ "stranger" }, world:children "/t/messages/1")
    assert.are.equal("0 1 2", names(world, "/t/messages"))
  end))

  it("removes a message that it may not read", in_world({ age = 100 }, function(session, topic, logged, world)
    publish(topic, 1, 4)
    assert(session:set_acl("/t/messages/0/1", { { perms = "a", scheme = "world", id = "anyone" } }))
    world.zk.sleep(50)
    publish(topic, 5, 5)
    assert.are.equal("1 2 3 4 5", names(world, "/t/messages/0"))
    world.zk.sleep(51)
    publish(topic, 6, 6)
    assert.are.equal("5 6", names(world, "/t/messages/0"))
    assert.are.equal(0, #logged)
  end))

  it("reads on when the head was set far ahead, or directories were deleted", in_world(nil, function(session, topic, _, world)
    publish(topic, 1, 2)
    assert(session:set("/t/head", "last 4999999999999999\nfirst 1\n"))
    assert(session:create("/t/messages/7", ""))
    local before = world:requests()
    local subscription = assert(topic:subscribe { from = "start" })
    local reading = world.zk.spawn(function() return { subscription:next(100), subscription:next(100), subscription:next(1e6) } end)
    world.zk.sleep(200)
    assert.is_true(world:requests() - before < 80000) -- 1,998 positions of two directories, with 32 ahead of each
    assert.are.equal(5000000000000000, topic:publish "far")
    local read = reading:wait()
    assert.are.equal("m1 m2 far", ("%s %s %s"):format(read[1].data, read[2].data, read[3].data))
    assert.are.equal(5000000000000000 - 3, read[3].missed)
  end))

  it("ends a publish in doubt when the head was set back", in_world(nil, function(session, topic, _, world)
    publish(topic, 1, 5)
    local other = world:session()
    assert(other:connected(10))
    world:lose_reply(session, "multi")
    local task = world.zk.spawn(topic.publish, topic, "x")
    repeat world.zk.sleep(0.001) until world:get "/t/head" == "last 6\nfirst 1\n"
    assert(other:set("/t/head", "last 3\nfirst 1\n"))
    assert.matches("the answer was lost, and another client has set the head back", env.fails("conflict", task:wait()))
    assert.are.equal("the topic is damaged", (select(2, topic:publish "y")):match "the topic is damaged")
  end))

  it("takes no head that no publisher has written", in_world(nil, function(session, topic)
    publish(topic, 1, 2)
    for _, head in ipairs { "last 9007199254740992\nfirst 1\n", "last 2\nfirst 4\n",
      ("last 1%s\nfirst 1\n"):format(("0"):rep(400)), "x" } do
      assert(session:set("/t/head", head))
      assert.matches("the znode holds no topic", env.fails("conflict", topic:publish "x"))
      env.fails("conflict", topic:subscribe { from = "start" })
    end
    assert(session:set("/t/head", "last 2\nfirst 3\n"))
    publish(topic, 3, 3)
  end))
end)
