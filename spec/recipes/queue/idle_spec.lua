-- Many idle processes at one queue: which of them an item wakes. In simulated worlds.

local env = require "spec.support.env"
local sim = require "zkrecipes.sim"

local PROCESSES, CALLERS = 5, 20

-- Starts a process whose callers all wait for an item.
local function start(world)
  local zk = world:process()
  local session = zk.session { timeout = 10 }
  local queue = session:queue("/jobs")
  for _ = 1, CALLERS do
    zk.spawn(function()
      local item = queue:claim()
      if item then item:ack() end
    end)
  end
  return { zk = zk, session = session, queue = queue }
end

-- The process whose turn it is to watch.
local function holder(world, processes)
  local seats = world:children("/jobs/seat")
  table.sort(seats, function(one, other) return one:match("%d+$") < other:match("%d+$") end)
  local _, stat = world:get("/jobs/seat/" .. seats[1])
  for _, process in ipairs(processes) do
    if process.session.id == stat.ephemeral_owner then return process end
  end
end

-- How many processes send requests when an item is put.
local function woken(world, processes, producer)
  local before, count = {}, 0
  for i, process in ipairs(processes) do before[i] = world:requests(process.zk) end
  assert(producer:put("x"))
  world:advance(3)
  assert.equal(0, producer:size())
  for i, process in ipairs(processes) do
    if world:requests(process.zk) > before[i] then count = count + 1 end
  end
  return count
end

describe("an item that is put", function()
  it("wakes one idle process, also after others have lost their sessions while they watched", function()
    local world = sim.new { seed = 1, limit = 5000 }
    world:run(function()
      local producer = world:process().session({ timeout = 10 }):queue("/jobs")
      assert(producer:put("first"))
      assert(producer:take(5))
      local processes = {}
      for i = 1, PROCESSES do processes[i] = start(world) end
      world:advance(10)
      assert.equal(1, woken(world, processes, producer))
      for _ = 1, 2 * PROCESSES do
        world:expire(holder(world, processes).zk)
        world:advance(30)
        assert.equal(1, woken(world, processes, producer))
      end
      for _, process in ipairs(processes) do process.session:close() end
    end)
  end)
end)

it("a caller is told that its process may not take its place in the line of idle processes", function()
  local world = sim.new { seed = 1, limit = 5000 }
  world:run(function()
    local zk = world:process()
    local session = zk.session { timeout = 10 }
    local queue = session:queue("/jobs")
    assert(queue:put("first"))
    assert(queue:take(5))
    assert(session:create("/jobs/seat", ""))
    assert(session:set_acl("/jobs/seat", { { scheme = "world", id = "anyone", perms = "ra" } }))
    local before = world:requests(zk)
    env.fails("no_auth", queue:claim(60))
    env.fails("no_auth", queue:take())
    assert.is_true(world:requests(zk) - before < 30)
    assert(queue:put("x"))
    assert(assert(queue:claim()):ack())
  end)
end)
