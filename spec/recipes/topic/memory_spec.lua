-- A topic under exhausted memory, at every single allocation of the core, in virtual time.
-- Tags: sanitize, one thread

local allocations = require "spec.support.allocations"
local sim = require "zkrecipes.sim"

local check = allocations.check

local function operation(topic, number)
  local subscription
  repeat subscription = check(topic:subscribe { from = "start", name = "n" }) until subscription
  local id, position = "i" .. number
  repeat position = check(topic:publish("data", { id = id })) until position
  local message
  repeat message = check(subscription:next(200)) until message and message.position == position
  repeat local acked = check(subscription:ack(position, 200)) until acked
  subscription:close()
  repeat local forgotten = check(topic:forget("n", 200)) until forgotten
  return position
end

describe("exhausted memory", function()
  it("in a topic: subscribe, publish, next, ack, forget", function()
    local world = sim.new { seed = 1 }
    world:run(function()
      local session = world:session()
      local topic = session:topic("/t", { keep = { count = 3 } })
      assert(topic:publish "first")
      local last = 1
      local count = allocations.at_every(function(number)
        local position = operation(topic, number)
        assert.equal(last + 1, position)
        last = position
      end)
      assert.is_true(count > 20)
      world:advance(5)
      assert.equal(0, session:usage().watched_bytes)
      assert.same({}, world:children "/t/subscribers")
    end)
  end)
end)
