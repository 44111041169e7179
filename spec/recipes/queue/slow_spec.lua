-- Servers that answer each request, but late. A method without a time limit of its own ends within `request_timeout`, or the session's
-- timeout, however many requests it sends. In simulated worlds. Servers that do not answer: see outage_spec.lua.

local sim = require "zkrecipes.sim"

local LATE = 0.75 -- of the limit: the second answer comes when it has passed
local MOST = 40   -- requests of one method

-- One step of an iterator. Returns nil, message, code, as methods do.
local function step(iterator)
  local ok, message = pcall(iterator)
  if ok then return true end
  return nil, message, message:find("answered within the time limit") and "connection_loss"
end

local function item_of(queue)
  assert(queue:put("x"))
  return assert(queue:claim(5))
end

local function letter_of(queue)
  for _ = 1, 2 do
    local item = item_of(queue)
    assert(item:nack())
  end
  return queue
end

local function full_of(queue)
  assert(queue:put("x", { id = "i", priority = 1 }))
  for _ = 1, 3 do assert(queue:put("y")) end
  return queue
end

-- Method > its preparation, and the call.
local METHODS = {
  size = { full_of, function(queue) return queue:size() end },
  peek = { full_of, function(queue) return queue:peek() end },
  remove = { full_of, function(queue) return queue:remove("i") end },
  items = { full_of, function(queue) return step(queue:items()) end },
  dead = { letter_of, function(queue) return step(queue:dead()) end },
  dead_size = { letter_of, function(queue) return queue:dead_size() end },
  redrive = { letter_of, function(queue) return queue:redrive() end },
  ack = { item_of, function(item) return item:ack() end },
  nack = { item_of, function(item) return item:nack() end },
  ["nack with a delay"] = { item_of, function(item) return item:nack(5) end },
}
-- Needs one request, and so succeeds.
local ONE = { ack = true }

local SIMPLE = {
  peek = function(queue) return queue:peek() end,
  items = function(queue) return step(queue:items()) end,
}

-- Calls method(of, kept) in a world in which every answer comes late. open(session) gives both. Returns how long it took, in limits, and
-- its results.
local function late(options, open, method)
  local world, took, value, code = sim.new { seed = 5, limit = 1e4 }, nil, nil, nil
  world:run(function()
    local session = world.zk.session(options)
    assert(session:connected(10))
    local limit, of, kept = options.request_timeout or options.timeout, open(session)
    world:advance(15)
    for i = 1, MOST do world:plan(session, "delay", { nth = i, seconds = LATE * limit }) end
    local from = world:now()
    local _
    value, _, code = method(of, kept)
    took = (world:now() - from) / limit
  end)
  return took, value, code
end

local function check(name, open, method, one)
  it(name, function()
    for _, options in ipairs { { timeout = 10, request_timeout = 1 }, { timeout = 30, request_timeout = 4 } } do
      local took, value, code = late(options, open, method)
      assert.is_true(took < 1.001, took .. " times the limit")
      if one then assert.is_truthy(value) else assert.same({ nil, "connection_loss" }, { value, code }) end
    end
  end)
end

describe("when every answer comes late, one limit holds for all requests of a queue's", function()
  for name, entry in pairs(METHODS) do
    check(name, function(session) return entry[1](session:queue("/jobs", { attempts = 1 })) end, entry[2], ONE[name])
  end
end)

describe("when every answer comes late, one limit holds for all requests of a simple queue's", function()
  for name, method in pairs(SIMPLE) do
    check(name, function(session)
      local queue = session:queue("/s", { format = "simple" })
      assert(queue:put("x"))
      return queue
    end, method)
  end
end)

describe("when every answer comes late, one limit holds for all requests of an election's", function()
  check("leader, by rank", function(session)
    local election = session:election("/e", { rank = 1 })
    return election, assert(election:campaign())
  end, function(election, term)
    local leader, message, code = election:leader()
    term:resign()
    return leader, message, code
  end)
end)
