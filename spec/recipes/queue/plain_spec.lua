-- Items that are put without a transaction: what happens where one bucket ends and the next one begins. In simulated worlds.
-- Tags: sanitize, one thread

local arguments = require "zkrecipes.recipes.queue.arguments"
local layout = require "spec.support.queue_layout"
local sim = require "zkrecipes.sim"
local env = require "spec.support.env"

local LANE = "/jobs/lanes/00000/"

-- Runs body(world, put, ...): `size` items fit into a bucket.
local function in_world(size, body)
  return function()
    local before = arguments.BUCKET
    finally(function() arguments.BUCKET = before end)
    arguments.BUCKET = size
    local world = sim.new { seed = 1, limit = 5000 }
    world:run(function() body(world) end)
  end
end

local function start(world)
  local zk = world:process()
  local session = zk.session { timeout = 10 }
  return session:queue("/jobs"), zk, session
end

local function voids(world)
  local count = 0
  for _, bucket in ipairs(world:children "/jobs/lanes/00000") do
    for _, name in ipairs(bucket:find "^b%-" and world:children(LANE .. bucket) or {}) do
      if layout.is_void(name) then count = count + 1 end
    end
  end
  return count
end

local function there(world, bucket) return world:get(LANE .. layout.bucket_name(bucket)) ~= nil end

-- Takes all items. Returns how often each one came, and their order.
local function drain(queue)
  local times, order = {}, {}
  while true do
    local data = queue:take(0)
    if not data then return times, order end
    times[data], order[#order + 1] = (times[data] or 0) + 1, data
  end
end

-- A producer that believes that the first bucket has room, although others have filled it and begun the next one.
local function behind(world, size)
  local queue, zk, session = start(world)
  assert(queue:put "0")
  local other = start(world)
  for i = 1, size do assert(other:put(tostring(i))) end
  return queue, zk, session, other
end

describe("plain puts", function()
  it("that were canceled on their way leave room for others", in_world(5, function(world)
    local queue, zk = start(world)
    assert(queue:put "0")
    world:plan(zk, "delay", { kind = "create", seconds = 1 })
    local one = zk.spawn(queue.put, queue, "canceled")
    world:advance(0.0001)
    one:cancel()
    for i = 1, 6 do assert(queue:put(tostring(i), { timeout = 20 })) end
    assert.is_true(queue:size() >= 7)
  end))

  it("of many processes at once are there once, in the order of each process; no void znode stays", in_world(20, function(world)
    local left, made = 0, 0
    for p = 1, 5 do
      local queue, zk = start(world)
      for c = 1, 10 do
        left = left + 1
        zk.spawn(function()
          for i = 1, 10 do assert(queue:put(("%d.%d:%02d"):format(p, c, i))) end
          left = left - 1
        end)
      end
    end
    repeat
      world:advance(0.0005)
      if world:children "/jobs/lanes/00000" then made = math.max(made, voids(world)) end
    until left == 0
    assert.is_true(made > 0)
    assert.equal(0, voids(world))
    local queue = start(world)
    assert.equal(500, queue:size())
    local times, order = drain(queue)
    assert.equal(500, #order)
    local last = {}
    for _, data in ipairs(order) do
      assert.equal(1, times[data])
      local who = data:match "^[^:]+"
      assert.is_true(not last[who] or last[who] < data)
      last[who] = data
    end
    assert.equal(0, queue:size())
  end))

  it("of one process never make a void znode, and wait for the next bucket", in_world(5, function(world)
    local queue, zk = start(world)
    assert(queue:put "0")
    local before, puts = world:requests(zk), {}
    for i = 1, 99 do puts[i] = function() return assert(queue:put(("%d"):format(i))) end end
    zk.all(puts)
    assert.equal(99 + 20, world:requests(zk) - before) -- 20 new buckets
    local _, order = drain(queue)
    for i = 0, 99 do assert.equal(tostring(i), order[i + 1]) end
  end))

  it("with a timeout of 0 do not wait for the next bucket", in_world(5, function(world)
    local queue, zk = start(world)
    assert(queue:put "0")
    local puts = {}
    for i = 1, 20 do puts[i] = function() return assert(queue:put(("%d"):format(i), { timeout = 0 })) end end
    zk.all(puts)
    assert.equal(21, queue:size())
    assert.equal(0, voids(world))
    assert.equal(21, #select(2, drain(queue)))
  end))

  it("find the next bucket when the one that they know is gone", in_world(3, function(world)
    local queue, zk, _, other = behind(world, 5)
    for _ = 1, 6 do assert(other:take(5)) end
    assert.is_false(there(world, 0))
    local before = world:requests(zk)
    assert(queue:put "late")
    assert.is_true(world:requests(zk) - before <= 5)
    assert.equal("late", (other:take(5)))
  end))

  it("cost one request; with a void znode three", in_world(9, function(world)
    local queue, zk, _, other = behind(world, 9)
    local before = world:requests(zk)
    assert(queue:put "late") -- the create, what would make the next bucket, the transaction
    assert.equal(3, world:requests(zk) - before)
    assert.equal(0, voids(world))
    assert(other:put "last")
    local _, order = drain(other)
    assert.same({ "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "late", "last" }, order)
    before = world:requests(zk)
    assert(queue:put "next")
    assert.equal(1, world:requests(zk) - before)
  end))
end)

local function list_of(from, to)
  local list = {}
  for i = from, to do list[#list + 1] = tostring(i) end
  return list
end

-- How many znodes of a bucket were made by plain creates, and how many there are.
local function made_plainly(world, bucket)
  local names, plain = world:children(LANE .. layout.bucket_name(bucket)), 0
  for _, name in ipairs(names) do if name:find "%-p%-" then plain = plain + 1 end end
  return plain, #names
end

-- A list is put by a producer that believes that the first bucket has room for it, although others have filled it, but for `room` items.
local function list_behind(world, size, room)
  local queue, zk, session = start(world)
  assert(queue:put "0")
  local other = start(world)
  for i = 1, size - 1 - room do assert(other:put(tostring(i))) end
  return queue, zk, session, other
end

describe("put_all", function()
  it("needs one request for a list, and a bucket takes as many items as it should", in_world(10, function(world)
    local queue, zk = start(world)
    assert(queue:put "0")
    local before = world:requests(zk)
    assert(queue:put_all(list_of(1, 4)))
    for i = 0, 8 do assert(queue:put_all(list_of(5 * i + 5, 5 * i + 9))) end
    world:advance(1)
    assert.equal(10 + 5, world:requests(zk) - before) -- 5 new buckets
    for bucket = 0, 4 do assert.same({ 10, 10 }, { made_plainly(world, bucket) }) end
    assert.equal(50, queue:size())
    local _, order = drain(queue)
    for i = 0, 49 do assert.equal(tostring(i), order[i + 1]) end
  end))

  it("goes beyond the size of a bucket rather than into two, if it is known to have no room for the list", in_world(10, function(world)
    local queue, zk = start(world)
    assert(queue:put "0")
    local before = world:requests(zk)
    for i = 0, 2 do assert(queue:put_all(list_of(6 * i + 1, 6 * i + 6))) end
    assert.equal(3 + 1, world:requests(zk) - before)
    assert.same({ 7, 13 }, { made_plainly(world, 0) })
    assert.same({ 6, 6 }, { made_plainly(world, 1) })
    assert.equal(0, voids(world))
    local _, order = drain(queue)
    for i = 0, 18 do assert.equal(tostring(i), order[i + 1]) end
  end))

  it("by many coroutines of a process makes no void znode", in_world(20, function(world)
    local queue, zk = start(world)
    assert(queue:put "0")
    local puts = {}
    for i = 1, 40 do puts[i] = function() return assert(queue:put_all(list_of(10 * i, 10 * i + i % 7))) end end
    local most = 0
    local watching = world.zk.spawn(function()
      for _ = 1, 400 do
        world:advance(0.0005)
        most = math.max(most, voids(world))
      end
    end)
    zk.all(puts)
    watching:wait()
    assert.equal(0, most)
    local times, order = drain(queue)
    local count = 1
    for i = 1, 40 do count = count + i % 7 + 1 end
    assert.equal(count, #order)
    for data, number in pairs(times) do assert.equal(1, number, data) end
  end))

  it("with a timeout of 0 does not wait for the next bucket", in_world(10, function(world)
    local queue, zk = start(world)
    assert(queue:put "0")
    local puts = {}
    for i = 1, 10 do puts[i] = function() return assert(queue:put_all(list_of(10 * i, 10 * i + 3), 0)) end end
    zk.all(puts)
    assert.equal(41, queue:size())
    assert.equal(0, voids(world))
    assert.equal(41, #select(2, drain(queue)))
  end))

  for room = 0, 3 do
    it("gives no part of a list whose last items have no room; room " .. room, in_world(10, function(world)
      local queue, zk, _, other = list_behind(world, 10, room)
      world:plan(zk, "lose_reply", { kind = "multi", down = 3 })
      local put = zk.spawn(queue.put_all, queue, { "a", "b", "c", "d" })
      world:advance(1)
      assert.equal(4, voids(world))
      assert.equal(10 - room, other:size())
      local seen = {}
      for one in other:items() do seen[#seen + 1] = one.data end
      assert.equal(10 - room, #seen)
      local before = {}
      for i = 1, 10 - room do before[i] = assert(other:claim(5)) end
      env.fails("timeout", other:claim(0))
      assert.equal(4, put:wait(100))
      for i = 1, 10 - room do assert(before[i]:ack()) end
      assert.same({ "a", "b", "c", "d" }, (select(2, drain(other))))
      assert.same({ 0, 0 }, { voids(world), queue:size() })
    end))
  end
end)

it("dead letters and tombstones are counted and moved across their buckets", in_world(3, function(world)
  local _, _, session = start(world)
  local queue = session:queue("/jobs", { attempts = 1 })
  for i = 1, 10 do
    assert(queue:put(tostring(i), { id = i % 2 == 0 and tostring(i) or nil }))
    assert(assert(queue:claim(5)):nack())
  end
  assert.same({ 0, 10 }, { queue:size(), queue:dead_size() })
  assert.equal(7, queue:redrive(7))
  assert.same({ 7, 3 }, { queue:size(), queue:dead_size() })
  assert.equal(3, queue:redrive())
  assert.same({ 10, 0 }, { queue:size(), queue:dead_size() })
  for i = 1, 10 do assert.equal(tostring(i), (queue:take(5))) end
  assert.same({ 0, 0 }, { queue:size(), queue:dead_size() })
end))

describe("a void znode", function()
  it("is no item for any method, and is deleted with its bucket", in_world(3, function(world)
    local queue, _, session = start(world)
    for i = 1, 4 do assert(queue:put(tostring(i))) end
    local bucket = LANE .. layout.bucket_name(0)
    local item = session:get(bucket .. "/" .. session:children(bucket)[1])
    for i = 1, 3 do assert(session:create(("%s/0abc_1_%d-p-"):format(bucket, i), item, { sequential = true })) end
    assert.equal(3, voids(world))
    assert.equal(4, queue:size())
    local seen = {}
    for one in queue:items() do seen[#seen + 1] = one.data end
    assert.same({ "1", "2", "3", "4" }, seen)
    for i = 1, 4 do
      assert.equal(tostring(i), queue:peek().data)
      local claimed = assert(queue:claim(5))
      assert.equal(tostring(i), claimed.data)
      assert(claimed:ack())
    end
    env.fails("timeout", queue:claim(0))
    assert.is_false(queue:peek())
    assert.equal(0, queue:size())
    assert.equal(0, voids(world))
    assert.is_false(there(world, 0))
  end))

  it("of a producer that died is deleted by the next look, also if its bucket has claimed items", in_world(3, function(world)
    local queue, zk, _, other = behind(world, 4)
    local first = assert(other:claim(5))
    for _ = 1, 4 do assert(other:take(5)) end
    world:plan(zk, "lose_reply", { kind = "create", down = 1000 })
    local put = zk.spawn(queue.put, queue, "dead")
    world:advance(1)
    put:cancel()
    assert.equal(1, voids(world))
    env.fails("timeout", other:claim(0))
    assert.equal(0, voids(world))
    assert.is_true(there(world, 0))
    assert(first:ack())
    env.fails("timeout", other:claim(0))
    assert.is_false(there(world, 0))
  end))

  it("that was deleted by a consumer before its item was put again does no harm", in_world(3, function(world)
    local queue, zk, _, other = behind(world, 4)
    local claims = {}
    for i = 1, 5 do claims[i] = assert(other:claim(5)) end
    world:plan(zk, "delay", { kind = "multi", seconds = 3 })
    local put = zk.spawn(queue.put, queue, "late")
    world:advance(0.5)
    assert.equal(1, voids(world))
    for i = 1, 5 do assert(claims[i]:ack()) end
    env.fails("timeout", other:claim(0))
    assert.equal(0, voids(world))
    assert.is_true(put:wait(60))
    assert.equal("late", (other:take(5)))
    env.fails("timeout", other:take(0))
  end))
end)

describe("a list whose znodes are void is put once", function()
  for _, fault in ipairs { "lose_request", "lose_reply", "late_request" } do
    for nth = 1, 3 do -- the list, the next bucket, the transaction
      for _, down in ipairs { 0.01, 30 } do
        it(("%s of request %d, %g s without a connection"):format(fault, nth, down), in_world(6, function(world)
          local queue, zk, _, other = list_behind(world, 6, 2)
          world:plan(zk, fault, { kind = "multi", nth = nth, down = down, seconds = down / 2 })
          assert.equal(4, zk.spawn(queue.put_all, queue, { "a", "b", "c", "d" }, 200):wait(300))
          assert.equal(0, world:planned(zk))
          assert.equal(8, other:size())
          local times, order = drain(other)
          assert.equal(8, #order)
          for data, count in pairs(times) do assert.equal(1, count, data) end
          assert.equal("d", order[8])
          assert.equal(0, voids(world))
        end))
      end
    end
  end
end)

describe("a put whose znode is void is done once", function()
  for _, fault in ipairs { "lose_request", "lose_reply", "late_request" } do
    for name, plan in pairs { create = { "create", 1 }, ["next bucket"] = { "multi", 1 }, transaction = { "multi", 2 } } do
      for _, down in ipairs { 0.01, 30 } do
        it(("%s of its %s, %g s without a connection"):format(fault, name, down), in_world(3, function(world)
          local queue, zk, _, other = behind(world, 4)
          world:plan(zk, fault, { kind = plan[1], nth = plan[2], down = down, seconds = down / 2 })
          assert.is_true(zk.spawn(queue.put, queue, "late", { timeout = 200 }):wait(300))
          assert.equal(0, world:planned(zk))
          assert.equal(6, other:size())
          local times = drain(other)
          for data, count in pairs(times) do assert.equal(1, count, data) end
          assert.equal(1, times.late)
          assert.equal(0, voids(world))
        end))
      end
    end
  end
end)
