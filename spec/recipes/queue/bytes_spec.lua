-- What a queue makes that is ephemeral counts in the session's budget: claims, the znode in `consumers`, the idle lock. In virtual time.
-- Tags: sanitize

local collect = require "spec.support.collect"
local sim = require "zkrecipes.sim"
local env = require "spec.support.env"
local fails = env.fails

-- The bytes that the znodes of this session count for: the path, four bytes, and ten for a number that the server may append.
local function bytes_of(world, session, path)
  local sum = 0
  for _, folder in ipairs { "claims", "consumers", "seat" } do
    for _, name in ipairs(world:children(("%s/%s"):format(path, folder)) or {}) do
      local full = ("%s/%s/%s"):format(path, folder, name)
      local mine = select(2, world:get(full)).ephemeral_owner == session.id
      if mine then sum = sum + #full + (folder == "seat" and 4 or 14) end
    end
  end
  return sum
end

local function used(session) return session:usage().ephemeral_bytes end

-- A body with a queue of `count` items: body(world, session, queue, check). check(claims) asserts that there are so many claims, and that
-- they and all else are counted, no more and no less.
local function with_items(count, body)
  return function()
    local world = sim.new { seed = 1, limit = 100000 }
    world:run(function()
      local zk = world:process()
      local session = zk.session { timeout = 20 }
      local queue, list = session:queue "/jobs", {}
      for i = 1, count do list[i] = tostring(i) end
      assert(queue:put_all(list))
      body(world, session, queue, function(claims)
        world:advance(1)
        local there = 0
        for _, name in ipairs(world:children "/jobs/claims" or {}) do
          if select(2, world:get("/jobs/claims/" .. name)).ephemeral_owner == session.id then there = there + 1 end
        end
        assert.equal(claims, there)
        assert.equal(bytes_of(world, session, "/jobs"), used(session))
      end, zk)
    end)
  end
end

local function claim(queue, count)
  local items = {}
  for i = 1, count do items[i] = assert(queue:claim(10)) end
  return items
end

describe("the bytes of a queue's ephemeral znodes", function()
  it("are those of its claims and of its znode in consumers, until each of them is gone", with_items(6,
    function(_, session, queue, check)
      assert.equal(0, used(session))
      local items = claim(queue, 5)
      check(5)
      assert.is_true(used(session) > 6 * 40)
      assert(items[1]:ack())
      check(4)
      assert(items[2]:nack())
      check(3)
      assert(items[3]:nack(3600))
      check(2)
      assert.same({ 2, {} }, { queue:ack_all { items[4], items[5] } })
      check(0)
      assert(queue:take(10))
      check(0)
      session:close()
      assert.equal(0, used(session))
    end))

  it("are none when the last handle is collected", with_items(3, function(world, session, _, check)
    do
      local items = claim(session:queue("/jobs", { prefetch = 2 }), 1)
      check(3)
      assert(items[1]:ack())
    end
    collect(4)
    check(0)
    world:advance(5)
    assert.equal(0, used(session))
  end))

  it("are those of a place in the line of idle processes", with_items(0, function(world, session, queue, check, zk)
    local task = zk.spawn(queue.claim, queue)
    world:advance(1)
    assert.equal(1, #world:children "/jobs/seat")
    check(0)
    assert.is_true(used(session) > 0)
    task:cancel()
    check(0)
  end))

  for _, fault in ipairs { "lose_request", "lose_reply" } do
    it("are right when answers are lost: " .. fault, with_items(40, function(world, session, queue, check, zk)
      for i = 1, 10 do
        world:plan(zk, fault, { kind = "multi", down = 1 })
        local items = claim(queue, 3)
        check(3)
        world:plan(zk, fault, { kind = "multi", down = 1 })
        if i % 3 == 0 then assert(items[1]:ack()) elseif i % 3 == 1 then assert(items[1]:nack()) else assert(items[1]:nack(3600)) end
        check(2)
        world:plan(zk, fault, { kind = "multi", down = 1 })
        assert.equal(2, (queue:ack_all { items[2], items[3] }))
        check(0)
      end
      assert.equal(0, world:planned(zk))
      session:close()
    end))
  end

  it("are right when another process was faster behind a lost request", with_items(1, function(world, _, queue, check, zk)
    local other = world:process()
    local rival = other.session { timeout = 20 }:queue "/jobs"
    assert(queue:claim(10)):nack()
    world:plan(zk, "lose_request", { kind = "multi", down = 3 })
    local mine
    local task = zk.spawn(function() mine = queue:claim(10) end)
    other.sleep(1)
    local theirs = assert(rival:claim(10))
    world:advance(15)
    assert.is_nil(mine)
    check(0)
    assert(theirs:ack())
    check(0)
    task:cancel()
  end))

  it("are those of claims that were made, whatever the first item has become behind a lost answer", with_items(3,
    function(world, session, _, check, zk)
      local queue = session:queue("/jobs", { prefetch = 2 })
      world:plan(zk, "lose_reply", { kind = "multi", down = 3 })
      local item
      local task = zk.spawn(function() item = queue:claim(60) end)
      world.zk.sleep(1)
      local bucket = "/jobs/lanes/00000/b-0000000000/"
      local first
      for _, name in ipairs(world:children(bucket:sub(1, -2))) do
        if name:find "%-0000000000$" then first = bucket .. name end
      end
      assert(world:session():delete(first)) -- by hand
      world:advance(10)
      task:wait()
      assert.is_truthy(item)
      fails("lost", item:ack())
      for _, want in ipairs { "2", "3" } do -- they are not lost
        local one = assert(queue:claim(60))
        assert.equal(want, one.data)
        assert(one:ack())
      end
      check(1) -- nobody knows that this one is of no use
    end))

  it("count for a claim of an item that was deleted by hand, as long as the claim is there", with_items(2,
    function(world, session, queue, check)
      local items = claim(queue, 2)
      local hand = world:session()
      assert(hand:delete(items[1].path))
      fails("lost", items[1]:ack())
      check(1 + 1)
      assert(hand:delete(items[2].claim.claim))
      fails("lost", items[2]:ack())
      check(1)
      assert.is_true(used(session) > 0)
    end))

  it("are gone with the session", with_items(5, function(world, session, queue, check, zk)
    claim(queue, 5)
    check(5)
    world:expire(zk)
    world:advance(60)
    assert(session:connected(10))
    assert.equal(0, used(session))
    claim(queue, 2)
    check(2)
  end))
end)

describe("a session without room for another claim", function()
  local PATH = "/" .. ("x"):rep(2000)

  it("has `full`, and room again when an item is acked", function()
    local world = sim.new { seed = 1, limit = 100000 }
    world:run(function()
      local session, list = world:session(), {}
      local queue, stock = session:queue(PATH), session:queue(PATH, { prefetch = 100 })
      for i = 1, 900 do list[i] = tostring(i) end
      assert(queue:put_all(list))
      local items = {}
      local item, problem, code
      repeat
        item, problem, code = queue:claim(10)
        items[#items + 1] = item
      until not item
      assert.equal("full", code)
      assert.matches("no room for another claim; ack some items first", problem)
      assert.equal(bytes_of(world, session, PATH), used(session))
      assert.is_true(used(session) > 1195000 and used(session) <= 1200000)
      assert.is_true(#items < 600)
      local last = tonumber(items[#items].data)
      assert.equal(tostring(last + 1), queue:take(10)) -- it leaves no claim
      for i = 1, 4 do assert(items[i]:ack()) end -- one of them for the other handle's znode in consumers
      local reads = world:requests(session, "get")
      for i = 2, 4 do -- a handle that claims in advance gets what fits, and the order is kept
        items[#items + 1] = assert(stock:claim(10))
        assert.equal(tostring(last + i), items[#items].data)
      end
      assert.equal("full", (select(3, stock:claim(10))))
      assert.is_true(world:requests(session, "get") - reads < 10) -- it reads no items for which there is no room
      assert.is_true(used(session) <= 1200000)
      session:close()
    end)
  end)

  it("shares its 5,000 claims of one queue among the handles of the queue", function()
    local world = sim.new { seed = 1, limit = 100000 }
    world:run(function()
      local session, list, items = world:session(), {}, {}
      for i = 1, 5100 do list[i] = tostring(i) end
      assert(session:queue("/jobs"):put_all(list))
      local handles = { session:queue "/jobs", session:queue("/jobs", { capacity = 100000 }), session:queue("/jobs", { attempts = 3 }) }
      for i = 1, 5000 do items[i] = assert(handles[1 + i % 3]:claim(10)) end
      for i = 1, 3 do
        assert.matches("this session has 5000 claims of the queue", fails("full", handles[i]:claim(0)))
      end
      assert(items[1]:ack())
      assert(handles[3]:claim(10))
      fails("full", handles[1]:claim(0))
      assert(session:queue("/others"):put "1")
      assert(session:queue("/others"):claim(10))
      session:close()
    end)
  end)
end)
