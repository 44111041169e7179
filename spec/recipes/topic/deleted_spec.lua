-- Topics that are deleted, and made anew.
-- Tags: sanitize

local env = require "spec.support.env"
local sim = require "zkrecipes.sim"
local support = require "spec.support.topics"
local run = env.run

local opened, data_of, publish = support.opened, support.data_of, support.publish

describe("a topic that is deleted", function()
  it("ends subscriptions, and refuses the names of the old one", run(function()
    local namespace = env.namespace()
    local topic, other = opened(namespace), opened(namespace)
    publish(topic, 1, 3)
    local subscription, named = assert(other:subscribe()), assert(other:subscribe { from = "start", name = "n" })
    assert.are.equal("1", data_of(named, 1))
    local kept = topic.session:get "/t/subscribers/n"
    assert(topic.session:delete_tree "/t")
    env.fails("no_node", subscription:next(200))
    assert.are.equal(1, topic:publish "again")
    assert(topic.session:create("/t/subscribers/n", kept))
    env.fails("conflict", other:subscribe { name = "n" })
    assert.are.equal("again", data_of(assert(other:subscribe { from = "start" }), 1))
  end))

  it("is made again by the next publish, also with an id", run(function()
    local topic = opened(env.namespace(), { count = 2 })
    for round = 1, 3 do
      assert.are.equal(1, topic:publish("a", { id = "x" }))
      publish(topic, 2, 5)
      if round < 3 then assert(topic.session:delete_tree "/t") end
    end
    assert.are.equal("4 5", data_of(assert(topic:subscribe { from = "start" }), 2))
  end))
end)

-- Calls fn(topic); meanwhile the whole topic is deleted, before the server gets the first request of this kind.
local function deleted_before(kind, nth, fn)
  local world = sim.new { seed = 1 }
  local other = world:process()
  return world:run(function()
    local session, theirs = world:session(), other.session()
    local topic = session:topic "/t"
    if kind == "get" then assert(topic:publish "1") end
    world:plan(session, "delay", { kind = kind, nth = nth, seconds = 2 })
    local task = world.zk.spawn(fn, topic)
    world:advance(1)
    assert(theirs:delete_tree "/t")
    return task:wait()
  end)
end

describe("a topic that is deleted meanwhile", function()
  it("is made by the publish that was making it", function()
    assert.are.equal(1, deleted_before("multi", 1, function(topic) return topic:publish "x" end))
  end)

  it("makes a subscribe with a name fail", function()
    local message = env.fails("no_node", deleted_before("get", 2, function(topic)
      return topic:subscribe { from = "start", name = "n" }
    end))
    assert.is_truthy(message:find "deleted meanwhile; call subscribe again")
  end)
end)
