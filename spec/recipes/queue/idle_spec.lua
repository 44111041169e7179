-- Many idle processes at one queue: which of them an item wakes. In simulated worlds.

local env = require "spec.support.env"
local arguments = require "zkrecipes.recipes.queue.arguments"
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

-- Runs body(world, zk, wait, ack, queue): the process `zk` waits for an item (`wait`), and another one, `queue`, has claimed `count` items.
-- ack(i): it acks the i-th one.
local function beside(count, body)
  return function()
    local world = sim.new { seed = 1, limit = 5000 }
    world:run(function()
      local queue, list, items = world:process().session({ timeout = 10 }):queue("/jobs"), {}, {}
      for i = 1, count do list[i] = tostring(i) end
      assert(queue:put_all(list))
      for i = 1, count do items[i] = assert(queue:claim(5)) end
      local zk = world:process()
      local mine = zk.session({ timeout = 10 }):queue("/jobs")
      local wait = zk.spawn(mine.claim, mine)
      world:advance(5)
      body(world, zk, wait, function(i) assert(items[i]:ack()) end, queue, mine)
    end)
  end
end

describe("a process that is idle while others ack", function()
  it("lists the last bucket once for each ack, and looks for items when one is put", beside(30, function(world, zk, wait, ack, queue)
    local before, lists = world:requests(zk), world:requests(zk, "children")
    for i = 1, 29 do
      ack(i)
      world:advance(1)
    end
    assert.equal(29, world:requests(zk) - before)
    assert.equal(29, world:requests(zk, "children") - lists)
    before = world:requests(zk)
    assert(queue:put "x")
    assert.equal("x", wait:wait(5).data)
    assert.is_true(world:requests(zk) - before < 14, world:requests(zk) - before)
  end))

  it("seldom lists a long bucket", beside(900, function(world, zk, wait, ack)
    local before = world:requests(zk)
    for i = 1, 890 do
      ack(i)
      world:advance(0.005)
    end
    local count = world:requests(zk) - before
    assert.is_true(count > 20 and count < 250, count)
    wait:cancel()
  end))

  it("gets an item that is put meanwhile after a tenth of a second at most", beside(900, function(world, _, wait, ack, queue)
    for i = 1, 100 do
      ack(i)
      world:advance(0.005)
    end
    local from = world:now()
    assert(queue:put "x")
    assert.equal("x", wait:wait(5).data)
    assert.is_true(world:now() - from < 0.2)
  end))

  it("looks at once if a caller only tries", beside(900, function(world, zk, wait, ack, queue, mine)
    for i = 1, 2 do ack(i) end
    world:advance(0.01)
    ack(3)
    world:advance(0.01)
    wait:cancel()
    local other = zk.spawn(mine.claim, mine)
    world:advance(1)
    ack(4)
    world:advance(0.01)
    ack(5)
    for i = 1, 2 do assert(queue:put(tostring(i))) end
    world:advance(0.005)
    assert.equal("2", assert(mine:claim(0)).data)
    assert.equal("1", other:wait(5).data)
  end))
end)

for acked, put in pairs { [0] = 5, [5] = 0 } do
  it(("an idle process finds an item of priority %d that is put between two acks of priority %d"):format(put, acked), function()
    local world = sim.new { seed = 1, limit = 1000 }
    world:run(function()
      local queue, list, items = world:process().session({ timeout = 10 }):queue("/jobs"), {}, {}
      for i = 1, 900 do list[i] = { data = "0", priority = acked } end
      list[901] = { data = "0", priority = put }
      assert(queue:put_all(list))
      for i = 1, 901 do items[i] = assert(queue:claim(5)) end
      table.sort(items, function(a, b) return a.priority ~= put and b.priority == put end)
      assert(table.remove(items):ack())
      local zk = world:process()
      local mine = zk.session({ timeout = 10 }):queue("/jobs")
      local wait = zk.spawn(mine.claim, mine)
      world:advance(5)
      assert(items[1]:ack())
      world:advance(0.02)
      assert(items[2]:ack())
      assert(queue:put("x", { priority = put }))
      assert.equal("x", assert(wait:wait(5)).data)
    end)
  end)
end

it("an idle process is told of a new bucket, also if it has looked when the old one was full already", function()
  local before = arguments.BUCKET
  finally(function() arguments.BUCKET = before end)
  arguments.BUCKET = 3
  local world = sim.new { seed = 1, limit = 1000 }
  world:run(function()
    local producer = world:process()
    local queue = producer.session({ timeout = 30 }):queue("/jobs")
    for i = 1, 2 do assert(queue:put(tostring(i))) end
    local zk, got = world:process(), {}
    local mine = zk.session({ timeout = 30 }):queue("/jobs")
    for _ = 1, 4 do
      zk.spawn(function()
        local item = assert(mine:claim())
        got[#got + 1] = item
      end)
    end
    world:advance(3)
    world:plan(producer, "delay", { kind = "multi", seconds = 4 }) -- what makes the next bucket
    assert(queue:put "3")
    world:advance(2)
    assert.equal(3, #got)
    assert(queue:put "4")
    world:advance(5)
    assert.same({ 4, "4" }, { #got, got[4] and got[4].data })
  end)
end)

it("an idle process moves a delayed item although the link broke while it moved the item", function()
  local world = sim.new { seed = 1, limit = 1000 }
  world:run(function()
    local queue = world:process().session({ timeout = 10 }):queue("/jobs")
    assert(queue:put("0", { delay = 0.001 }))
    local zk = world:process()
    local mine = zk.session({ timeout = 60, request_timeout = 1 }):queue("/jobs")
    assert(assert(mine:claim(5)):ack())
    local wait = zk.spawn(mine.claim, mine)
    world:advance(5)
    world:plan(zk, "lose_request", { kind = "multi", down = 4 })
    assert(queue:put("x", { delay = 0.001 }))
    assert.equal("x", wait:wait(60).data)
    assert.equal(0, world:planned(zk))
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
