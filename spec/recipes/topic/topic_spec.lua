-- Topics on a real server. What they promise under faults is proven in histories.
-- Tags: sanitize

local collect = require "spec.support.collect"
local zk = require "zkrecipes"
local env = require "spec.support.env"
local sim = require "zkrecipes.sim"
local store = require "zkrecipes.recipes.topic.store"
local testing = require "zkrecipes.testing"
local support = require "spec.support.topics"
local run = env.run

local opened, data_of, publish = support.opened, support.data_of, support.publish

describe("a topic", function()
  it("gives each subscriber all messages in order, with position and time", run(function()
    local namespace = env.namespace()
    local topic, other = opened(namespace), opened(namespace)
    local now = assert(other:subscribe())
    assert.are.equal(1, topic:publish "one")
    assert.are.equal(2, topic:publish "")
    assert.are.equal(3, other:publish "\0\n\255")
    local start = assert(topic:subscribe { from = "start" })
    for _, subscription in ipairs { now, start } do
      for position, data in ipairs { "one", "", "\0\n\255" } do
        local message = assert(subscription:next(200))
        assert.are.equal(data, message.data)
        assert.are.equal(position, message.position)
        assert.are.equal(0, message.missed)
        assert.is_true(math.abs(message.time - os.time()) < 100)
      end
      env.fails("timeout", subscription:next(0))
    end
    assert.are.equal("\0\n\255", assert(other:subscribe { from = 3 }):next(200).data)
    now:close()
    start:close()
  end))

  it("begins with what is published after subscribe, or at any position, also a future one", run(function()
    local topic = opened(env.namespace())
    publish(topic, 1, 5)
    local now, third, later = assert(topic:subscribe { from = "now" }), assert(topic:subscribe { from = 3 }),
      assert(topic:subscribe { from = 8 })
    publish(topic, 6, 8)
    assert.are.equal("6 7 8", data_of(now, 3))
    assert.are.equal("3 4 5 6 7 8", data_of(third, 6))
    assert.are.equal("8", data_of(later, 1))
  end))

  it("is iterated by `for`, until the subscription is closed", run(function()
    local topic = opened(env.namespace())
    publish(topic, 1, 40)
    local count = 0
    local subscription = assert(topic:subscribe { from = "start" })
    for message in subscription do
      count = count + 1
      assert.are.equal(tostring(count), message.data)
      if count == 40 then subscription:close() end
    end
    assert.are.equal(40, count)
    env.fails("closed", subscription:next())
  end))

  it("shows in the status who waits for a message", run(function()
    local topic = opened(env.namespace())
    local subscription = assert(topic:subscribe())
    env.fails("timeout", subscription:next(0))
    assert.are.same({}, zk.status().waiting)
    local wait = env.start(subscription.next, subscription)
    env.eventually("it waits", function() return #zk.status().waiting > 0 end)
    local waiting = zk.status().waiting
    assert.are.same({ "subscription", "/t", 1 }, { waiting[1].kind, waiting[1].path, #waiting })
    publish(topic, 1, 1)
    assert.are.equal("1", wait().data)
    assert.are.same({}, zk.status().waiting)
  end))

  it("tells how many messages were removed unread", run(function()
    local namespace = env.namespace()
    local topic, other = opened(namespace, { count = 10 }), opened(namespace)
    publish(topic, 1, 1)
    local from_one = assert(other:subscribe { from = 1 })
    assert.are.equal("1", from_one:next(200).data)
    publish(topic, 2, 1234)
    local late = assert(other:subscribe { from = 1000 })
    local message = assert(late:next(200))
    assert.are.same({ 1225, 225, "1225" }, { message.position, message.missed, message.data })
    assert.are.equal(0, late:next(200).missed)
    local at = 2
    repeat
      message = assert(from_one:next(200))
      assert.are.equal(at + message.missed, message.position)
      at = message.position + 1
    until message.position == 1234
    assert.are.same({ "1" }, topic.session:children "/t/messages")
    assert.are.equal(10, #topic.session:children "/t/messages/1")
  end))

  it("publishes an id once, as long as its message is kept", run(function()
    local namespace = env.namespace()
    local topic, other = opened(namespace, { count = 3 }), opened(namespace, { count = 3 })
    assert.are.equal(1, topic:publish("a", { id = "x/y" }))
    assert.are.equal(1, other:publish("b", { id = "x/y" }))
    assert.are.equal(2, other:publish("c", { id = "other" }))
    assert.are.equal(1, topic:publish("a", { id = "x/y" }))
    publish(topic, 3, 4)
    assert.are.equal(5, topic:publish("a", { id = "x/y" }))
    assert.are.equal("3 4 a", data_of(assert(topic:subscribe { from = "start" }), 3))
  end))

  it("publishes what many coroutines publish at a time, one id among them once", run(function()
    local namespace = env.namespace()
    local topics, waits, seen = { opened(namespace), opened(namespace), opened(namespace) }, {}, {}
    for number = 1, 300 do
      local topic = topics[number % 3 + 1]
      waits[number] = env.start(topic.publish, topic, tostring(number), number % 10 == 0 and { id = "same" } or nil)
    end
    local same = waits[10]()
    for number, wait in ipairs(waits) do
      local position = assert(wait())
      assert.are.equal(number % 10 == 0, position == same)
      if number % 10 > 0 then
        assert.is_nil(seen[position])
        seen[position] = number
      end
    end
    local subscription = assert(topics[1]:subscribe { from = "start" })
    for position = 1, 271 do
      local message = assert(subscription:next(200))
      assert.are.equal(position, message.position)
      if position ~= same then assert.are.equal(tostring(seen[position]), message.data) end
    end
    env.fails("timeout", subscription:next(0))
  end))

  it("removes what is too old when it publishes", run(function()
    local namespace = env.namespace()
    local topic, brief = opened(namespace), opened(namespace, { age = 0.2 })
    publish(topic, 1, 3)
    local subscription = assert(topic:subscribe { from = 1 })
    assert.are.equal("1 2 3", data_of(subscription, 3))
    env.eventually("the first ones are gone", function()
      publish(brief, 4, 4)
      zk.sleep(0.05)
      return not topic.session:exists "/t/messages/0/1"
    end)
  end))
end)

-- Calls fn while the next `times` reads of heads give `old`.
local function with_old_heads(old, times, fn)
  local head = store.head
  function store.head(...)
    if times == 0 then return head(...) end
    times = times - 1
    local copy = {}
    for name, value in pairs(old) do copy[name] = value end
    return copy
  end
  local ok, problem = zk.pcall(fn)
  store.head = head
  if not ok then error(problem, 0) end
  assert.are.equal(0, times)
end

describe("a lost answer", function()
  it("is not taken for a failure because a server is behind", function()
    local world = sim.new { seed = 1 }
    world:run(function()
      local session = world:session()
      local topic = session:topic "/t"
      assert(topic:publish "1")
      local old = assert(store.head(session, "/t"))
      world:lose_reply(session, "multi")
      with_old_heads(old, 2, function() assert.are.equal(2, topic:publish "2") end)
      assert.are.equal(3, topic:publish "3")
    end)
  end)
end)

describe("a named subscriber", function()
  it("goes on after what it has acked", run(function()
    local namespace = env.namespace()
    local topic = opened(namespace)
    publish(topic, 1, 5)
    local first = assert(topic:subscribe { from = "start", name = "a/b" })
    assert.are.equal("1 2 3", data_of(first, 3))
    assert(first:ack(2))
    assert(first:ack(1))
    local other = opened(namespace)
    local second = assert(other:subscribe { from = "now", name = "a/b" })
    assert.are.equal("3 4 5", data_of(second, 3))
    local message = env.fails("conflict", first:ack(3))
    assert.is_truthy(message:find "another subscription has taken this name")
    assert(second:ack(5))
    assert.are.equal("1", data_of(assert(topic:subscribe { from = "start" }), 1))
    assert(topic:forget "a/b")
    assert(topic:forget "a/b")
    local third = assert(topic:subscribe { from = "start", name = "a/b" })
    assert.are.equal("1", data_of(third, 1))
  end))

  it("is told what was removed since its last ack", run(function()
    local topic = opened(env.namespace(), { count = 2 })
    publish(topic, 1, 1)
    local first = assert(topic:subscribe { from = "start", name = "n" })
    assert.are.equal("1", data_of(first, 1))
    assert(first:ack(1))
    first:close()
    publish(topic, 2, 9)
    local message = assert(assert(topic:subscribe { name = "n" }):next(200))
    assert.are.same({ 8, 6 }, { message.position, message.missed })
  end))

  it("acks once for many coroutines", run(function()
    local topic = opened(env.namespace())
    publish(topic, 1, 30)
    local subscription, waits = assert(topic:subscribe { from = "start", name = "n" }), {}
    data_of(subscription, 30)
    for position = 30, 1, -1 do waits[position] = env.start(subscription.ack, subscription, position) end
    for position = 1, 30 do assert.is_true(waits[position]()) end
    local data, stat = topic.session:get "/t/subscribers/n"
    assert.are.equal("acked 30", data:match "^[^\n]*")
    assert.are.equal(1, stat.version)
  end))

  it("fails after forget", run(function()
    local topic = opened(env.namespace())
    publish(topic, 1, 1)
    local subscription = assert(topic:subscribe { from = "start", name = "n" })
    assert.are.equal("1", data_of(subscription, 1))
    assert(topic:forget "n")
    env.fails("no_node", subscription:ack(1))
  end))
end)

describe("znodes of another client", function()
  it("in the place of the head are reported", run(function()
    local topic = opened(env.namespace())
    assert(topic.session:create("/t/head", "what", { parents = true }))
    env.fails("conflict", topic:publish "x")
    env.fails("conflict", topic:subscribe())
    assert(topic.session:delete "/t/head")
    assert(topic.session:create("/t/messages", "", { parents = true }))
    env.fails("conflict", topic:publish "x")
  end))

  it("in the place of the next message are reported, and nothing is lost", run(function()
    local topic = opened(env.namespace())
    publish(topic, 1, 1)
    assert(topic.session:create("/t/messages/0/2", "x"))
    local message = env.fails("conflict", topic:publish "x")
    assert.is_truthy(message:find "the topic is damaged")
    assert(topic.session:delete "/t/messages/0/2")
    assert.are.equal(2, topic:publish "2")
  end))

  it("that were messages are left out, and counted", run(function()
    local topic = opened(env.namespace(), { count = 4 })
    publish(topic, 1, 4)
    assert(topic.session:delete "/t/messages/0/2")
    assert(topic.session:set("/t/messages/0/3", "no message"))
    local subscription = assert(topic:subscribe { from = "start" })
    assert.are.equal("1", data_of(subscription, 1))
    local message = assert(subscription:next(200))
    assert.are.same({ 4, 2 }, { message.position, message.missed })
    publish(topic, 5, 12)
    assert.are.equal(4, #topic.session:children "/t/messages/0")
  end))

  it("in a bucket keep the bucket, and its id's znode may be gone", run(function()
    local topic = opened(env.namespace(), { count = 1 })
    assert.are.equal(1, topic:publish("a", { id = "x" }))
    for _, shard in ipairs(topic.session:children "/t/ids") do assert(topic.session:delete_tree("/t/ids/" .. shard)) end
    assert(topic.session:create("/t/messages/0/mine", ""))
    local waits = {}
    for number = 2, 1002 do waits[#waits + 1] = env.start(topic.publish, topic, tostring(number)) end
    for _, wait in ipairs(waits) do assert(wait()) end
    assert.are.same({ "mine" }, topic.session:children "/t/messages/0")
    assert.are.same({ "1002" }, topic.session:children "/t/messages/1")
  end))
end)

describe("misuse of a topic", function()
  it("raises at the caller's line", run(function()
    local topic = opened(env.namespace())
    env.raises("'topic' %(path of a znode below the root", function() topic.session:topic "/" end)
    env.raises("unknown option 'size'", function() topic.session:topic("/t", { keep = { size = 1 } }) end)
    env.raises("'topic' %(whole number from 1", function() topic.session:topic("/t", { keep = { count = 0 } }) end)
    env.raises("'topic' %(seconds must not be negative", function() topic.session:topic("/t", { keep = { age = -1 } }) end)
    env.raises("'publish' %(string expected, got nil", function() topic:publish() end)
    env.raises("option 'id' is empty", function() topic:publish("x", { id = "" }) end)
    env.raises("option 'from': \"now\", \"start\" or a position", function() topic:subscribe { from = "end" } end)
    env.raises("whole number from 1", function() topic:subscribe { from = 0.5 } end)
    env.raises("option 'name' is empty", function() topic:subscribe { name = "" } end)
    publish(topic, 1, 1)
    local plain, named = assert(topic:subscribe()), assert(topic:subscribe { name = "n" })
    env.raises("only a subscription with a name can ack", function() plain:ack(1) end)
    env.raises("position of a message that 'next' gave", function() named:ack(2) end)
  end))
end)

describe("a program that ends in the middle", function()
  it("canceled while it publishes, leaves the other callers their messages", run(function()
    local topic = opened(env.namespace())
    local waits, tasks = {}, {}
    for number = 1, 50 do waits[number], tasks[number] = env.start(topic.publish, topic, tostring(number)) end
    for number = 1, 50, 2 do tasks[number]:cancel() end
    for number = 2, 50, 2 do assert(waits[number]()) end
    local subscription, seen = assert(topic:subscribe { from = "start" }), {}
    publish(topic, 51, 51)
    repeat
      local data = assert(subscription:next(200)).data
      assert.is_nil(seen[data])
      seen[data] = true
    until data == "51"
    for number = 2, 50, 2 do assert.is_true(seen[tostring(number)]) end
  end))

  it("drops a subscription, and nothing is left", run(function()
    local topic = opened(env.namespace())
    publish(topic, 1, 3)
    do
      local subscription = assert(topic:subscribe { from = "start" })
      assert(subscription:next(200))
      subscription = nil -- luacheck: ignore
    end
    env.eventually("its watch is given back", function()
      collect()
      return topic.session:usage().watched_bytes == 0
    end)
  end))

  it("reports the end of its session", run(function()
    local topic = opened(env.namespace())
    publish(topic, 1, 1)
    local subscription = assert(topic:subscribe { from = "now", name = "n" })
    local wait = env.start(subscription.next, subscription)
    topic.session:close()
    env.fails("closed", wait())
    env.fails("closed", topic:publish "x")
    env.fails("closed", topic:subscribe())
    env.fails("closed", topic:forget "n")
  end))

  it("goes on after the loss of its session", run(function()
    local namespace = env.namespace()
    local topic, other = opened(namespace), opened(namespace)
    publish(other, 1, 1)
    local subscription = assert(topic:subscribe { from = "start", name = "n" })
    assert.are.equal("1", data_of(subscription, 1))
    assert(testing.expire(env.server(), topic.session.id))
    publish(other, 2, 2)
    assert.are.equal("2", data_of(subscription, 1))
    assert(subscription:ack(2))
    assert.are.equal(3, topic:publish "3")
  end))
end)
