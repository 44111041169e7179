-- Many publishers, and many messages: publishing and reading one costs what it costs in a small topic, and nothing is listed.
-- MESSAGES=...: how many the topic keeps. `make scale-topic` runs it with a hundred thousand.

local sim = require "zkrecipes.sim"
local zk = require "zkrecipes"
local env = require "spec.support.env"

local COUNT = tonumber(os.getenv "MESSAGES" or 20000)

-- Publishes so many messages, as many at a time as go into one transaction.
local function fill(zk_of, topic, count)
  local waits = {}
  for number = 1, count do
    waits[#waits + 1] = zk_of.spawn(topic.publish, topic, tostring(number))
    if #waits == 100 or number == count then
      for _, task in ipairs(waits) do assert(task:wait(300)) end
      waits = {}
    end
  end
end

local KINDS = { "get", "exists", "set", "create", "delete", "children", "multi", "sync" }

local function requests(world, zk_of)
  local counts = {}
  for _, kind in ipairs(KINDS) do counts[kind] = world:requests(zk_of, kind) end
  return counts
end

local function spent(world, zk_of, fn)
  local before = requests(world, zk_of)
  fn()
  local counts = {}
  for kind, count in pairs(requests(world, zk_of)) do counts[kind] = count > before[kind] and count - before[kind] or nil end
  return counts
end

-- What a publish, a new subscriber and 1,000 messages cost in a topic of `count` messages.
local function costs(count)
  local world = sim.new { seed = 1 }
  return world:run(function()
    local topic = world:session():topic("/t", { keep = { count = count } })
    fill(world.zk, topic, count)
    local reader = world:process()
    local other = reader.session():topic "/t"
    local published = spent(world, world.zk, function() assert(topic:publish "one more") end)
    local read = spent(world, reader, function()
      local subscription = assert(other:subscribe { from = "start" })
      for _ = 1, 1000 do assert(subscription:next(10)) end
      subscription:close()
    end)
    return { published, read.children, read.get - read.get % 50 }
  end)
end

describe("twenty processes that publish at a time", function()
  it("send few requests for each message", function()
    local world, all, processes = sim.new { seed = 1 }, {}, {}
    world:run(function()
      for number = 1, 20 do
        local process = world:process()
        processes[number] = process
        local topic = process.session():topic "/t"
        all[number] = process.spawn(function()
          for _ = 1, 50 do assert(topic:publish "x") end
          return true
        end)
      end
      local sum = 0
      for number = 1, 20 do
        assert(all[number]:wait(1000))
        for _, count in pairs(requests(world, processes[number])) do sum = sum + count end
      end
      assert.is_true(sum < 4 * 1000, sum .. " requests for 1,000 messages")
    end)
  end)
end)

describe("a topic that keeps many messages", function()
  it("costs what a small one costs", function()
    assert.same(costs(2000), costs(COUNT))
  end)

  it("gives all of them, on a real server", env.run(function()
    local topic = env.session({ timeout = 20 }):topic("/t", { keep = { count = COUNT } })
    local from = zk.now()
    fill(zk, topic, COUNT)
    local filled, subscription = zk.now() - from, assert(topic:subscribe { from = "start" })
    from = zk.now()
    for position = 1, COUNT do
      local message = assert(subscription:next(300))
      if message.position ~= position or message.data ~= tostring(position) then error("no message " .. position) end
    end
    print(("\n  %d messages: published in %.1f s, read in %.1f s"):format(COUNT, filled, zk.now() - from))
    subscription:close()
    assert(topic.session:delete_tree("/t", { timeout = 600 }))
  end))
end)
