-- Items that a process claims before a caller asks for them (`prefetch`), and items that it claims together. In simulated worlds.
-- Tags: sanitize, one thread

local collect = require "spec.support.collect"
local env = require "spec.support.env"
local queues = require "spec.support.queues"
local prefetched = require "spec.support.prefetched"

local fails = env.fails
local in_world, put, requests, spent = prefetched.in_world, prefetched.put, prefetched.requests, prefetched.spent

describe("callers that wait at the same time", function()
  it("get their items by one transaction, in their order", in_world(0, function(world, zk, queue, other)
    local got, tasks = {}, {}
    for i = 1, 30 do
      tasks[i] = zk.spawn(function() got[i] = assert(queue:claim(60)) end)
    end
    world:advance(1)
    local cost = spent(world, zk, function()
      put(other, 1, 30)
      for i = 1, 30 do tasks[i]:wait(60) end
    end)
    for i = 1, 30 do assert.equal(tostring(i), got[i].data) end
    assert.same({ get = 30, multi = 1 }, cost)
    for i = 1, 30 do assert(got[i]:ack()) end
    assert.equal(0, queue:size())
  end))

  it("get the items that another process has left", in_world(0, function(world, zk, queue, other)
    put(other, 1, 10)
    local third = world:session()
    world:plan(zk, "delay", { kind = "multi", seconds = 1 })
    local got, tasks, before = {}, {}, requests(world, zk)
    for i = 1, 10 do tasks[i] = zk.spawn(function() got[i] = queue:claim(4) end) end
    world:advance(0.5)
    -- It takes the items 1, 5 and 10 while the transaction is on its way.
    for _, bucket in ipairs(world:children("/jobs/lanes/00000")) do
      local path = "/jobs/lanes/00000/" .. bucket
      for _, name in ipairs(bucket:find "^b%-" and world:children(path) or {}) do
        local data = world:get(path .. "/" .. name)
        if data:match "\n(.*)" == "1" or data:match "\n(.*)" == "5" or data:match "\n(.*)" == "10" then
          assert(third:delete(path .. "/" .. name))
        end
      end
    end
    world:advance(30)
    local after, count = requests(world, zk), 0
    assert.same({ 10, 1 + 3 }, { after.get - before.get, after.multi - before.multi })
    for i = 1, 10 do
      tasks[i]:wait(60)
      if got[i] then
        count = count + 1
        assert.equal(1, got[i].attempts)
        assert(got[i]:ack())
      end
    end
    assert.equal(7, count)
    assert.same({}, world:children("/jobs/claims"))
  end))

  it("get large items by several transactions", in_world(0, function(world, zk, queue, other)
    for _ = 1, 3 do assert(other:put(("x"):rep(400000))) end
    local got, tasks = {}, {}
    local cost = spent(world, zk, function()
      for i = 1, 3 do tasks[i] = zk.spawn(function() got[i] = assert(queue:claim(60)) end) end
      for i = 1, 3 do tasks[i]:wait(60) end
    end)
    assert.same({ get = 3, multi = 3 }, cost)
    for i = 1, 3 do assert(got[i]:ack()) end
  end))

  it("all get items if the answer is lost", in_world(0, function(world, zk, queue, other)
    for _, fault in ipairs { "lose_reply", "lose_request" } do
      put(other, 1, 10)
      world:plan(zk, fault, { kind = "multi" })
      local got, tasks = {}, {}
      for i = 1, 10 do tasks[i] = zk.spawn(function() got[i] = assert(queue:claim(60)) end) end
      for i = 1, 10 do tasks[i]:wait(60) end
      assert.equal(0, world:planned(zk))
      for i = 1, 10 do
        assert.equal(1, got[i].attempts)
        assert(got[i]:ack())
      end
    end
    assert.equal(0, queue:size())
  end))

  it("do not wait for an item that the server refuses to show", in_world(0, function(world, zk, queue, other)
    put(other, 1, 3)
    local bucket = world:children("/jobs/lanes/00000")[1]
    for _, name in ipairs(world:children("/jobs/lanes/00000")) do if name:find "^b%-" then bucket = name end end
    local path = "/jobs/lanes/00000/" .. bucket
    local names = world:children(path)
    table.sort(names, function(a, b) return a:sub(-10) < b:sub(-10) end)
    assert(world:session():set_acl(path .. "/" .. names[2], { { scheme = "world", id = "anyone", perms = "d" } }))
    local got, tasks = {}, {}
    for i = 1, 3 do tasks[i] = zk.spawn(function() got[i] = { queue:claim(60) } end) end
    for i = 1, 3 do tasks[i]:wait(60) end
    assert.same({ "1", "3", "no_auth" }, { got[1][1].data, got[2][1].data, got[3][3] })
  end))
end)

describe("prefetch", function()
  it("is an integer from 0 to 100", in_world(0, function(_, zk)
    local session = zk.session()
    for _, bad in ipairs { -1, 101, 1.5 } do
      assert.has_error(function() session:queue("/x", { prefetch = bad }) end,
        ("bad argument #2 to 'queue' (option 'prefetch': integer from 0 to 100 expected, got %s)"):format(bad))
    end
    assert.has_error(function() session:queue("/x", { prefetch = 1, format = "simple" }) end)
    assert.not_equal(session:queue("/x", { prefetch = 1 }), session:queue("/x"))
  end))

  it("serves the next callers without a request", in_world(9, function(world, zk, queue, other)
    put(other, 1, 30)
    local first
    assert.same({ get = 10, multi = 1 }, spent(world, zk, function() first = assert(queue:claim(5)) end))
    assert.equal("1", first.data)
    local held = { first }
    local cost = spent(world, zk, function()
      for i = 2, 5 do
        held[i] = assert(queue:claim(0))
        assert.equal(tostring(i), held[i].data)
      end
    end)
    assert.same({ get = 0, multi = 0 }, cost)
    for i = 1, 5 do assert(held[i]:ack()) end
  end))

  it("costs a read, an ack and a part of a claim for each item, in order", in_world(10, function(world, zk, queue, other)
    put(other, 1, 150)
    local cost = spent(world, zk, function()
      for i = 1, 150 do
        local item = assert(queue:claim(5))
        assert.equal(tostring(i), item.data)
        assert.equal(1, item.attempts)
        assert(item:ack())
      end
    end)
    assert.equal(150, cost.get)
    assert.is_true(cost.multi <= 150 + 150 / 5, cost.multi)
    assert.equal(0, queue:size())
  end))

  it("gives items back for which no caller asks in a second", in_world(5, function(world, _, queue, other)
    put(other, 1, 8)
    local item = assert(queue:claim(5))
    assert.equal(6, #world:children("/jobs/claims"))
    assert.equal(5, queues.counts(queue).stock)
    world:advance(0.9)
    assert.equal(6, #world:children("/jobs/claims"))
    world:advance(0.3)
    assert.equal(1, #world:children("/jobs/claims"))
    assert.equal(0, queues.counts(queue).stock)
    for i = 2, 8 do
      local theirs = assert(other:claim(5))
      assert.same({ tostring(i), 1 }, { theirs.data, theirs.attempts })
      assert(theirs:ack())
    end
    assert(item:ack())
  end))

  it("keeps the order of items that go back", in_world(4, function(world, _, queue, other)
    put(other, 1, 30)
    local at = 0
    for round = 1, 10 do
      for _ = 1, round % 3 + 1 do
        at = at + 1
        local item = assert(queue:claim(5))
        assert.equal(tostring(at), item.data)
        assert(item:ack())
      end
      world:advance(0.98 + round % 3 / 50)
    end
  end))

  it("gives back what it is claiming, too", in_world(4, function(world, zk, queue, other)
    put(other, 1, 30)
    local held = { assert(queue:claim(5)) }
    world:advance(0.9)
    world:plan(zk, "delay", { kind = "multi", seconds = 1 })
    for i = 2, 4 do held[i] = assert(queue:claim(0)) end -- more are on their way
    world:advance(2)
    assert.equal(0, world:planned(zk))
    assert.equal("5", assert(queue:claim(5)).data)
    for i = 1, 4 do assert(held[i]:ack()) end
  end))

  it("gives a waiting process the items that go back", in_world(5, function(world, _, queue, other)
    put(other, 1, 3)
    local item = assert(queue:claim(5))
    local from = world:now()
    local theirs = assert(other:claim(10))
    assert.equal("2", theirs.data)
    assert.is_true(world:now() - from < 1.5, world:now() - from)
    assert(item:ack())
    assert(theirs:ack())
  end))

  it("takes only its own share of the items", in_world(50, function(world, _, queue, other)
    put(other, 1, 100)
    local theirs = assert(other:claim(5)) -- now there are two consumers
    local ours = assert(queue:claim(5))
    assert.is_true(queues.counts(queue).stock > 40)
    local from = world:now()
    local held = { theirs, ours }
    for _ = 1, 40 do held[#held + 1] = assert(other:claim(0)) end
    assert.is_true(world:now() - from < 0.5)
    for i = 1, #held do assert(held[i]:ack()) end
  end))

  it("takes nothing of the share of others", in_world(50, function(_, _, queue, other)
    put(other, 1, 100)
    local held = { assert(other:claim(5)) }
    repeat held[#held + 1] = assert(queue:claim(0)) until queues.counts(queue).stock == 0
    held[#held + 1] = assert(queue:claim(5)) -- of the other share
    assert.equal(0, queues.counts(queue).stock)
    for i = 1, #held do assert(held[i]:ack()) end
  end))

  it("does not claim in vain again and again if the consumer is slow", in_world(32, function(world, zk, queue, other)
    put(other, 1, 200)
    for _ = 1, 6 do
      assert(assert(queue:claim(5)):ack())
      world:advance(5)
    end
    local cost = spent(world, zk, function()
      for _ = 1, 5 do
        assert(assert(queue:claim(5)):ack())
        world:advance(5)
      end
    end)
    assert.is_true(cost.multi <= 5 * 3, cost.multi)
    for _ = 1, 60 do assert(assert(queue:claim(5)):ack()) end -- now it is fast again
    assert.is_true(queues.counts(queue).stock > 8, queues.counts(queue).stock)
  end))

  it("lets an urgent item wait behind the prefetched ones only", in_world(5, function(_, _, queue, other)
    put(other, 1, 100)
    local held = { assert(queue:claim(5)) }
    assert(other:put("urgent", { priority = 0 }))
    assert(queue:put("0", { priority = 3 }))
    for _ = 1, 3 do held[#held + 1] = assert(queue:claim(0)) end
    for i = 1, 4 do assert.equal(tostring(i), held[i].data) end
    for i = 1, #held do assert(held[i]:ack()) end
  end))

  it("ends with the handle", in_world(5, function(world, _, queue, other)
    put(other, 1, 8)
    local session = world:session()
    ;(function()
      local mine = session:queue("/jobs", { prefetch = 7 })
      assert(assert(mine:claim(5)):ack())
    end)()
    assert.is_true(#world:children("/jobs/claims") > 0)
    collect(4)
    world:advance(0.2)
    assert.equal(0, #world:children("/jobs/claims"))
    assert.equal(7, queue:size())
  end))

  it("ends with the session", in_world(5, function(world, zk, queue, other)
    put(other, 1, 12)
    local item = assert(queue:claim(5))
    world:expire(zk)
    world:advance(0.5) -- the client has another session
    local again = assert(queue:claim(5))
    assert.is_true(again.attempts <= 2)
    assert(again:ack())
    fails("lost", item:ack())
    assert.equal(11, queue:size())
  end))

  it("does not serve an item that was lost in a pause", in_world(5, function(world, zk, queue, other)
    put(other, 1, 3)
    local item = assert(queue:claim(5))
    local waking = zk.spawn(function()
      zk.sleep(0.5)
      return queue:claim(0)
    end)
    world:pause(zk, 30)
    local theirs = { assert(other:claim(25)), assert(other:claim(5)), assert(other:claim(5)) }
    fails("timeout", waking:wait(60))
    fails("lost", item:ack())
    for i = 1, 3 do assert(theirs[i]:ack()) end
  end))

  it("does not keep a caller from its 5,000 claims", in_world(100, function(world, _, queue, other)
    local list, held = {}, {}
    for i = 1, 5100 do list[i] = tostring(i) end
    assert(other:put_all(list))
    for i = 1, 5000 do held[i] = assert(queue:claim(5)) end
    fails("full", queue:claim(0))
    assert.equal(5000, #world:children("/jobs/claims"))
    assert.equal("5000", held[5000].data)
  end))

  it("does not refuse a caller for whom an item is on its way", in_world(100, function(world, zk, queue, other)
    local list, held = {}, {}
    for i = 1, 5100 do list[i] = tostring(i) end
    assert(other:put_all(list))
    for i = 1, 4990 do held[i] = assert(queue:claim(5)) end
    world:advance(2)
    assert.equal(4990, queues.counts(queue).claims)
    world:plan(zk, "delay", { kind = "multi", seconds = 1 })
    local waiting = zk.spawn(function() held[#held + 1] = assert(queue:claim(5)) end)
    world:advance(0.5)
    held[#held + 1] = assert(queue:claim(5))
    waiting:wait(5)
    assert.equal(5000, queues.counts(queue).claims)
  end))

  it("leaves no items to callers that take", in_world(5, function(_, _, queue)
    assert.has_error(function() queue:take(0) end,
      "bad call of 'take' (items are claimed in advance; ask for the queue without 'prefetch')")
  end))
end)
