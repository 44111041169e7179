-- A listing of a queue is used for a while. What this process itself does ends that, if another item is next by then. In simulated worlds.

local sim = require "zkrecipes.sim"

-- Runs body(queue, zk, world): a queue with three items, of priority 5, that this process has listed.
local function in_world(body)
  return function()
    local world = sim.new { seed = 1, limit = 5000 }
    world:run(function()
      local zk = world:process()
      local queue = zk.session({ timeout = 10 }):queue("/jobs")
      for _, data in ipairs { "1", "2", "3" } do assert(queue:put(data, { priority = 5 })) end
      body(queue, zk, world)
    end)
  end
end

describe("the next item of a process", function()
  it("is the one that it has nacked", in_world(function(queue)
    local item = assert(queue:claim(5))
    assert(item:nack())
    local again = assert(queue:claim(5))
    assert.same({ "1", 2 }, { again.data, again.attempts })
  end))

  it("is the one that it has closed", in_world(function(queue, _, world)
    local item = assert(queue:claim(5))
    debug.getmetatable(item).__close(item)
    world:advance(0.1)
    local again = assert(queue:claim(5))
    assert.same({ "1", 1 }, { again.data, again.attempts })
  end))

  it("is a more urgent one that it has put", in_world(function(queue)
    assert.equal("1", (queue:take(5)))
    assert(queue:put("urgent", { priority = 4 }))
    assert.equal("urgent", (queue:take(5)))
    assert.equal("2", (queue:take(5)))
  end))

  it("is found at the latest after two seconds, if another process has put it", in_world(function(queue, _, world)
    assert.equal("1", (queue:take(5)))
    local other = world:process().session({ timeout = 10 }):queue("/jobs")
    assert(other:put("urgent", { priority = 4 }))
    world:advance(2.1)
    assert.equal("urgent", (queue:take(5)))
  end))
end)

-- Starts a process whose four callers claim and ack items as long as there are any.
local function start(world)
  local zk = world:process()
  local queue = zk.session({ timeout = 10 }):queue("/jobs")
  local function work()
    while true do
      local item = queue:claim(5)
      if not item then return end
      assert(item:ack())
    end
  end
  for _ = 1, 4 do zk.spawn(work) end
  return zk
end

-- An item costs three requests, besides listings, and those that find an item that another process has.
it("several processes compete for few items", function()
  local world, items, list = sim.new { seed = 1, limit = 5000 }, 2000, {}
  world:run(function()
    local queue = world:process().session({ timeout = 10 }):queue("/jobs")
    for i = 1, items do list[i] = "x" end
    assert.equal(items, (queue:put_all(list)))
    local processes, requests = {}, 0
    for i = 1, 4 do processes[i] = start(world) end
    world:advance(4)
    assert.equal(0, queue:size())
    for i = 1, 4 do requests = requests + world:requests(processes[i]) end
    assert.is_true(requests < 5 * items, requests)
  end)
end)
