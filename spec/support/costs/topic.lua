-- The cases of the table "Costs" in docs/recipes/topic.md; see spec/recipes/all/costs_spec.lua.

local assert = require "luassert"

-- A topic in which both processes have published: the last one is ours.
local function used(of, options)
  local topic, other = of.session:topic("/t", options), of.other:topic("/t", options)
  assert(other:publish("1", { id = "first" }))
  assert(topic:publish "2")
  assert(topic:publish "3") -- now its publisher knows the head
  return topic, other
end

local function reading(of, options)
  local topic, other = used(of)
  local subscription = assert(topic:subscribe(options))
  of.kept[#of.kept + 1] = subscription
  of:settle()
  return subscription, other
end

return {
  { "publish", "1 write of 2 parts, 3 with an id; for all that one process publishes at a time together", function(of)
    local topic = used(of)
    of:costs({ multi = 1 }, function() return assert(topic:publish "x") end)
    of:costs({ multi = 1 }, function()
      for number = 1, 50 do of:start(function() return topic:publish(tostring(number)) end) end
    end)
    assert.equal(55, assert(topic:publish "last"))
  end },
  { "publish, after another process has published", "1 write that fails, 1 read, 1 write", function(of)
    local topic, other = used(of)
    assert(other:publish "theirs")
    of:costs({ multi = 2, get = 1 }, function() return assert(topic:publish "x") end)
  end },
  { "publish, with an id that is known", "1 write that fails, 1 read", function(of)
    local topic = used(of)
    of:costs({ multi = 1, get = 1 }, function() assert.equal(1, topic:publish("x", { id = "first" })) end)
  end },
  { "a message that is removed", "1 read, 2 with an id, for up to 20 messages in one flight; the deletion is a part of a publish",
    function(of)
      local topic = used(of, { keep = { count = 3 } })
      of:costs({ multi = 1, get = 3 + 1 }, function() return assert(topic:publish "x") end)
      assert.is_false((of.other:exists "/t/messages/0/1"))
      of:costs({ multi = 2 }, function() return assert(topic:publish "x"), assert(topic:publish "x") end)
    end },
  { "the first publish", "2 reads, 5 writes", function(of)
    of:costs({ get = 2, create = 3, multi = 2 }, function() return assert(of.session:topic("/t"):publish "x") end)
  end },
  { "subscribe", "2 reads; 1 sync more with `from = \"now\"`; 1 read and 1 write more with a name", function(of)
    local topic = used(of)
    local function subscribe(options) of.kept[#of.kept + 1] = assert(topic:subscribe(options)) end
    of:costs({ get = 2 }, function() subscribe { from = 4 } end)
    of:costs({ get = 2, sync = 1 }, function() subscribe() end)
    of:costs({ get = 2 + 1, create = 1 }, function() subscribe { from = 4, name = "n" } end)
    of:costs({ get = 2 + 1, set = 1 }, function() subscribe { from = 4, name = "n" } end)
  end },
  { "a subscriber, for each message", "1 read", function(of)
    used(of)
    local topic = of.another(of):topic "/t"
    for number = 4, 100 do of:start(function() return topic:publish(tostring(number)) end) end
    of:settle()
    local subscription = assert(of.session:topic("/t"):subscribe { from = 1 })
    of:settle()
    of:costs({ get = 100 - 32 }, function()
      for position = 1, 100 do assert.equal(position, subscription:next(10).position) end
    end)
    subscription:close()
  end },
  { "a subscriber, each time that messages are published", "1 event, 1 read", function(of)
    local _, other = reading(of)
    of:costs({ get = 1 + 1 }, function() return assert(other:publish "x") end)
  end },
  { "a subscriber, while nothing is published", "none", function(of)
    reading(of)
    of:costs({}, function() of.world:advance(3600) end)
  end },
  { "ack", "1 write", function(of)
    local subscription, other = reading(of, { name = "n" })
    assert(other:publish "x")
    assert.equal(4, subscription:next(10).position)
    of:costs({ set = 1 }, function() return assert(subscription:ack(4)) end)
    of:costs({}, function() return assert(subscription:ack(4)) end)
  end },
  { "forget", "1 write", function(of)
    local _, other = reading(of, { name = "n" })
    of:costs({ delete = 1 }, function() return assert(of.session:topic("/t"):forget "n") end)
    assert(other)
  end },
}
