-- Many items are acked by one request, in simulated worlds.
-- Tags: sanitize, one thread

local collect = require "spec.support.collect"
local core = require "zkrecipes.core"
local env = require "spec.support.env"
local queues = require "spec.support.queues"
local sim = require "zkrecipes.sim"
local wait = require "zkrecipes.host.wait"

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

  for _, count in ipairs { 1, 3 } do
    it("does not take a refused request for one that may have been done: " .. count, with_items(count, function(world, zk, queue, items)
      local bucket, admin = items[1].path:match "^(.*)/", world:session()
      local function allow(perms) assert(admin:set_acl(bucket, { { scheme = "world", id = "anyone", perms = perms } })) end
      allow "ra"
      local message = fails("no_auth", queue:ack_all(items))
      assert.matches("^queue:ack_all /jobs", message)
      allow "rwcda"
      world:expire(zk)
      world:advance(20)
      local other = world:session():queue("/jobs")
      for _ = 1, count do assert(assert(other:claim(5)):ack()) end
      acked(0, items, queue:ack_all(items))
    end))
  end

  for _, count in ipairs { 1, 5 } do
    it("can be called again after it was canceled: " .. count, with_items(count, function(world, zk, queue, items)
      for _, fault in ipairs { "none", "lose_request" } do
        if fault ~= "none" then world:plan(zk, fault, { kind = "multi" }) end
        local before = world:requests(zk, "multi")
        local task = zk.spawn(queue.ack_all, queue, items)
        while world:requests(zk, "multi") == before do zk.sleep(0) end
        task:cancel()
        fails("canceled", task:wait(1))
        acked(count, {}, queue:ack_all(items))
        assert.equal(0, queue:size())
        for i = 1, count do assert(queue:put(tostring(i))) end
        for i = 1, count do items[i] = assert(queue:claim(5)) end
      end
    end))
  end

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

  -- A refused transaction of a hundred, then each item of it alone. For the lost one it is looked whether it was acked before.
  it("acks the items of a refused request once each, and the others as before", with_items(250, function(world, zk, queue, items)
    lose(world, zk, queue, items, 150)
    local before, others = world:requests(zk, "multi"), world:requests(zk)
    acked(249, { items[150] }, queue:ack_all(items))
    assert.equal(1 + 1 + 100 + 1, world:requests(zk, "multi") - before)
    assert.equal(1 + 1 + 100 + 1, world:requests(zk) - others)
    assert.equal(1, queue:size())
  end))

  it("sends nothing for an item that was acked before", with_items(6, function(world, zk, queue, items)
    assert(items[3]:ack())
    local before = world:requests(zk)
    acked(6, {}, queue:ack_all(items))
    assert.equal(2, world:requests(zk) - before)
  end))

  it("ends the items of a request when it goes on, or when its caller takes the result", with_items(150, function(world, zk, queue, items)
    world:plan(zk, "delay", { kind = "multi", nth = 2, seconds = 1 })
    local task = zk.spawn(queue.ack_all, queue, items)
    world:advance(0.5)
    assert.same({ "acked", "acked" }, { items[1].claim.over, items[100].claim.over })
    assert.equal(50, queues.counts(queue).claims)
    task:cancel()
    world:advance(2)
    assert.same({}, world:children("/jobs/claims"))
    assert.is_nil(items[101].claim.over)
    assert.is_true(items[101]:ack())
    acked(150, {}, queue:ack_all(items))
    assert.equal(0, queues.counts(queue).claims)
  end))

  it("tells the host which items its coroutine does not have any more", with_items(103, function(world, zk, queue, items)
    local adapter, over = queue.host.adapter, {}
    finally(function() adapter.ended = nil end)
    function adapter.ended(item) over[#over + 1] = item end
    lose(world, zk, queue, items, 101)
    world:plan(zk, "lose_request", { kind = "multi", nth = 4, down = 20 }) -- a hundred, three, then one after the other
    fails("connection_loss", queue:ack_all(items))
    assert.equal(101, #over)
    for i = 1, 101 do assert.equal(items[i], over[i]) end
  end))

  it("ends nothing if its caller is gone when the answer has come", with_items(2, function(world, _, queue, items)
    local slot, host = core.classes.queue.inner.ack_all(queue.core, { items[1].claim, items[2].claim })
    local wanted = wait.expect(host, slot)
    world:advance(1)
    assert.is_true(wanted.done)
    wanted:give_up()
    assert.equal(0, queue:size())
    for i = 1, 2 do assert.is_true(items[i]:ack()) end
  end))

  -- Before the caller takes the result, which is there already, another call ends the claim.
  for _, how in ipairs { "nack", "close" } do
    it("counts what the server has acked, whatever becomes of the claim afterwards: " .. how, with_items(2, function(world, _, queue, items)
      local slot, host = core.classes.queue.inner.ack_all(queue.core, { items[1].claim, items[2].claim })
      local wanted = wait.expect(host, slot)
      world:advance(1)
      assert.is_true(wanted.done)
      if how == "nack" then fails("lost", items[2]:nack()) else getmetatable(items[2]).__close(items[2]) end
      world:advance(1)
      assert.same({ 2, {} }, { wait.await(host, slot, wanted) })
      assert.equal(0, queue:size())
    end))
  end

  for _, how in ipairs { "the time is over", "the session is closed" } do
    it("says that the items may have been acked, also if it cannot ask: " .. how, with_items(2, function(world, zk, queue, items)
      world:plan(zk, "lose_reply", { kind = "multi", down = 30 })
      local task = zk.spawn(queue.ack_all, queue, items)
      world:advance(0.5)
      if how == "the session is closed" then queue.session:close(0) end
      local none, message, code = task:wait(60)
      assert.same({ nil, how == "the session is closed" and "closed" or "connection_loss" }, { none, code })
      assert.matches("the change may or may not have been made", message)
    end))
  end

  it("of a list of which nothing is left to ack needs no session", with_items(3, function(world, zk, queue, items)
    lose(world, zk, queue, items, 2)
    acked(2, { items[2] }, queue:ack_all(items))
    world:partition(zk)
    world:disconnect(zk)
    world:advance(0.1)
    for _ = 1, 2 do
      acked(0, {}, queue:ack_all {})
      acked(2, { items[2] }, queue:ack_all(items))
      acked(2, {}, queue:ack_all { items[3], items[1] })
      queue.session:close(0)
    end
    world:heal()
  end))

  it("acks the list that it was given, whatever becomes of the table", with_items(150, function(world, zk, queue, items)
    lose(world, zk, queue, items, 120)
    local list, lost = {}, items[120]
    for i = 1, 150 do list[i] = items[i] end
    world:plan(zk, "delay", { kind = "multi", seconds = 1 })
    local task = zk.spawn(queue.ack_all, queue, list)
    world:advance(0.5)
    for i = 1, 150 do list[i], items[i] = i < 100 and 5 or nil, nil end
    collect(2)
    acked(149, { lost }, task:wait(60))
    assert.equal(1, queue:size())
  end))

  it("counts an item that was nacked meanwhile among the others", with_items(103, function(world, zk, queue, items)
    world:plan(zk, "delay", { kind = "multi", seconds = 1 })
    local task = zk.spawn(queue.ack_all, queue, items)
    world:advance(0.5)
    assert(items[102]:nack())
    acked(102, { items[102] }, task:wait(60))
    assert.equal(1, queue:size())
    assert.equal(items[102].data, queue:peek().data)
  end))

  it("says what became of the items before the one that failed", with_items(3, function(world, zk, queue, items)
    assert(queue:put("4", { id = "x" }))
    items[4] = assert(queue:claim(5))
    items[5] = assert(queue:put("5")) and assert(queue:claim(5))
    lose(world, zk, queue, items, 2)
    world:plan(zk, "lose_request", { kind = "multi", nth = 5, down = 20 }) -- the first four: three items, then one after the other
    local none, message, code, done = queue:ack_all(items)
    assert.same({ nil, "connection_loss", 3 }, { none, code, done })
    assert.matches("^queue:ack_all " .. items[4].path:gsub("%p", "%%%0") .. ": ", message)
    assert.same({ "acked", "lost", "acked" }, { items[1].claim.over, items[2].claim.over, items[3].claim.over })
    world:advance(20)
    acked(2, { items[2], items[4], items[5] }, queue:ack_all(items))
  end))

  it("names the queue if it was the request for several items that failed", with_items(3, function(world, zk)
    local mine = zk.session({ request_timeout = 1, timeout = 10 }):queue("/more")
    assert.same({ 3, 0 }, { mine:put_all { { data = "1", id = "x" }, "2", "3" } })
    local items = { assert(mine:claim(5)), assert(mine:claim(5)), assert(mine:claim(5)) }
    world:plan(mine.session, "delay", { kind = "multi", nth = 2, seconds = 5 })
    local none, message, code, done = mine:ack_all(items)
    assert.same({ nil, "connection_loss", 1 }, { none, code, done })
    assert.matches("^queue:ack_all /more: no server answered within the time limit; the change may or may not have been made", message)
    world:advance(5)
    acked(3, {}, mine:ack_all(items))
  end))

  it("says that nothing was sent if there was no connection", with_items(2, function(world, zk, queue, items)
    world:partition(zk)
    world:disconnect(zk)
    world:advance(0.1)
    local message = fails("connection_loss", queue:ack_all(items))
    assert.matches("^queue:ack_all /jobs: there was no connection within the time limit; nothing was sent", message)
    assert.not_matches("may or may not", message)
    world:heal()
  end))

  it("gives each request the time of one", with_items(1, function(world, zk)
    local mine, list, items = zk.session({ request_timeout = 1, timeout = 10 }):queue("/more"), {}, {}
    for i = 1, 300 do list[i] = tostring(i) end
    assert(mine:put_all(list))
    for i = 1, 300 do items[i] = assert(mine:claim(5)) end
    for nth = 1, 3 do world:plan(mine.session, "delay", { kind = "multi", nth = nth, seconds = 0.8 }) end
    acked(300, {}, mine:ack_all(items))
  end))

  it("acks one by one what is too large for one request", with_items(1, function(world, zk)
    local mine, items = zk.session():queue("/" .. ("q"):rep(5400)), {}
    for i = 1, 100 do
      assert(mine:put(tostring(i)))
      items[i] = assert(mine:claim(5))
    end
    local before = world:requests(zk)
    acked(100, {}, mine:ack_all(items))
    assert.equal(100, world:requests(zk) - before)
  end))

  it("can be called again when memory was exhausted at any moment", function()
    local n, failed, through = 0, true, 0
    while failed do
      n = n + 1
      with_items(4, function(world, zk, queue, items)
        assert(queue:put("5", { id = "x" }))
        items[5] = assert(queue:claim(5))
        lose(world, zk, queue, items, 2)
        core.alloc_fail(n)
        local count, _, code, done = queue:ack_all(items)
        failed = core.alloc_failed()
        core.alloc_fail(0)
        if count then
          through = through + 1
        else
          assert.equal("no_memory", code)
          for i = 1, 5 do assert.equal(i <= done, items[i].claim.over ~= nil, ("allocation %d, item %d of %d"):format(n, i, done)) end
        end
        acked(4, { items[2] }, queue:ack_all(items))
        assert.equal(1, queue:size())
      end)()
    end
    assert.is_true(through > 0 and n > 10)
  end)

  it("of a closed session has done nothing", with_items(2, function(world, _, queue, items)
    queue.session:close(0)
    world:advance(1)
    assert.same({ nil, "closed", 0 }, { (queue:ack_all(items)), select(3, queue:ack_all(items)) })
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
    world:advance(61)
    assert.same({ true }, { queue:put("2", { id = "id2" }) }) -- it is known for a minute only
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
    assert(items[2]:ack())
    items[2].claim = queue.core
    bad({ items[2] }, "claims of this queue expected")
    items[2].claim = {}
    bad({ items[2] }, "list of objects expected, got table")
  end))
end)
