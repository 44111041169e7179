-- Many items are acked by one request, in simulated worlds.
-- Tags: sanitize, one thread

local env = require "spec.support.env"
local queues = require "spec.support.queues"
local sim = require "zkrecipes.sim"

local fails = env.fails

-- Runs body(world, zk, queue, items) with so many claimed items.
local function with_items(count, body)
  return function()
    local world = sim.new { seed = 1, limit = 100000 }
    world:run(function()
      local zk = world:process()
      local queue = zk.session({ timeout = 10 }):queue("/jobs")
      local list, items = {}, {}
      for i = 1, count do list[i] = tostring(i) end
      assert(queue:put_all(list))
      for i = 1, count do items[i] = assert(queue:claim(60)) end
      body(world, zk, queue, items)
    end)
  end
end

-- Asserts that the call acked so many, and that these were lost.
local function acked(count, lost, got, got_lost)
  assert.equal(count, got, got_lost)
  assert.same(lost, got_lost)
end

-- Another process gets these items.
local function lose(world, zk, queue, items, ...)
  for _, i in ipairs { ... } do
    assert(zk.session():delete(items[i].claim.claim))
    local theirs = assert(world:session():queue("/jobs"):claim(5))
    assert.equal(items[i].data, theirs.data)
    queue[#queue + 1] = theirs -- keeps it
  end
end

describe("ack_all", function()
  it("acks up to a hundred by one request", with_items(250, function(world, zk, queue, items)
    local before = world:requests(zk)
    acked(250, {}, queue:ack_all(items))
    assert.equal(3, world:requests(zk) - before)
    assert.same({}, world:children("/jobs/claims"))
    assert.equal(0, queue:size())
    assert.equal(0, queues.counts(queue).claims)
    assert.has_error(function() items[1]:ack() end, "item:ack " .. items[1].path .. ": the item was acked before")
    acked(250, {}, queue:ack_all(items))
    acked(0, {}, queue:ack_all {})
  end))

  it("returns the items that were lost, and acks the others", with_items(10, function(world, zk, queue, items)
    lose(world, zk, queue, items, 3, 8)
    acked(8, { items[3], items[8] }, queue:ack_all(items))
    assert.equal(2, queue:size())
    acked(8, { items[3], items[8] }, queue:ack_all(items))
    for i = 1, 2 do assert(queue[i]:ack()) end
  end))

  it("returns all items if the session was lost", with_items(3, function(world, zk, queue, items)
    world:expire(zk)
    world:advance(20)
    acked(0, items, queue:ack_all(items))
    assert.equal(3, queue:size())
  end))

  for _, fault in ipairs { "lose_reply", "lose_request" } do
    it("finds out what it did if there is no answer: " .. fault, with_items(5, function(world, zk, queue, items)
      world:plan(zk, fault, { kind = "multi" })
      acked(5, {}, queue:ack_all(items))
      assert.equal(0, world:planned(zk))
      assert.equal(0, queue:size())
    end))

    it("does not ack again for another consumer: " .. fault, with_items(5, function(world, zk, queue, items)
      world:plan(zk, fault, { kind = "multi", down = 30 })
      local acking = zk.spawn(queue.ack_all, queue, items)
      world:advance(25)
      local other, theirs = world:session():queue("/jobs"), {}
      local done = fault == "lose_reply"
      for i = 1, done and 0 or 5 do theirs[i] = assert(other:claim(5)) end
      fails("timeout", other:claim(2))
      fails("connection_loss", acking:wait(1))
      world:advance(20)
      acked(done and 5 or 0, done and {} or items, queue:ack_all(items))
      for i = 1, #theirs do assert(theirs[i]:ack()) end
    end))
  end

  it("does not take a refused request for one that may have been done", with_items(3, function(world, zk, queue, items)
    local bucket, admin = items[1].path:match "^(.*)/", world:session()
    local function allow(perms) assert(admin:set_acl(bucket, { { scheme = "world", id = "anyone", perms = perms } })) end
    allow "ra"
    local message = fails("no_auth", queue:ack_all(items))
    assert.matches("^queue:ack_all /jobs", message)
    allow "rwcda"
    world:expire(zk)
    world:advance(20)
    local other = world:session():queue("/jobs")
    for _ = 1, 3 do assert(assert(other:claim(5)):ack()) end
    acked(0, items, queue:ack_all(items))
  end))

  it("can be called again after it was canceled", with_items(5, function(world, zk, queue, items)
    for _, fault in ipairs { "none", "lose_request" } do
      if fault ~= "none" then world:plan(zk, fault, { kind = "multi" }) end
      local before = world:requests(zk, "multi")
      local task = zk.spawn(queue.ack_all, queue, items)
      while world:requests(zk, "multi") == before do zk.sleep(0) end
      task:cancel()
      fails("canceled", task:wait(1))
      acked(5, {}, queue:ack_all(items))
      assert.equal(0, queue:size())
      for i = 1, 5 do assert(queue:put(tostring(i))) end
      for i = 1, 5 do items[i] = assert(queue:claim(5)) end
    end
  end))

  it("does nothing in a canceled task, and leaves nothing to the next call", with_items(4, function(_, zk, queue, items)
    local task = zk.spawn(function()
      pcall(zk.sleep, 60)
      local ok, why = pcall(queue.ack_all, queue, { items[1], items[2] })
      return { ok, tostring(why) }
    end)
    zk.sleep(0.1)
    task:cancel()
    task:wait(1)
    acked(2, {}, queue:ack_all { items[3], items[4] })
    assert.equal(2, queue:size())
    for i = 1, 2 do assert(items[i]:ack()) end
  end))

  it("says how many items it has acked when no server answers", with_items(150, function(world, zk, queue, items)
    local session = zk.session { request_timeout = 2, timeout = 10 }
    local mine = session:queue("/jobs")
    assert(queue:ack_all(items))
    local list, more = {}, {}
    for i = 1, 150 do list[i] = tostring(i) end
    assert(mine:put_all(list))
    for i = 1, 150 do more[i] = assert(mine:claim(5)) end
    world:plan(session, "lose_request", { kind = "multi", nth = 2, down = 5 })
    local none, message, code, count = mine:ack_all(more)
    assert.same({ nil, "connection_loss", 100 }, { none, code, count })
    assert.matches("^queue:ack_all /jobs", message)
    world:advance(5)
    acked(150, {}, mine:ack_all(more))
    assert.equal(0, queue:size())
  end))

  it("leaves tombstones of items with ids", with_items(1, function(world, _, queue, items)
    for i = 2, 5 do
      assert(queue:put(tostring(i), { id = i % 2 == 0 and "id" .. i or nil }))
      items[i] = assert(queue:claim(5))
    end
    acked(5, {}, queue:ack_all(items))
    assert.same({ true, "known" }, { queue:put("2", { id = "id2" }) })
    assert.equal(0, queue:size())
    assert.same({}, world:children("/jobs/claims"))
  end))

  it("checks its list", with_items(2, function(_, zk, queue, items)
    local function bad(list, text)
      assert.has_error(function() queue:ack_all(list) end, "bad argument #1 to 'ack_all' (" .. text .. ")")
    end
    bad({ items[1], "x" }, "entry 2 is no item")
    bad({ items[1], items[1] }, "entry 2 is in the list twice")
    assert(queue:put("3"))
    bad({ select(2, queue:take(5)) }, "entry 1 was taken, not claimed")
    local other = zk.session():queue("/jobs")
    assert.has_error(function() other:ack_all(items) end, "bad argument #1 to 'ack_all' (entry 1 is an item of another queue)")
    assert(items[1]:nack())
    bad(items, "entry 1 was nacked before")
  end))
end)
