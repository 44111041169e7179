-- How long the queue knows an id: while its item is in the queue, and for a minute after the item is done, in whatever way and by whatever
-- client. In virtual time.

local sim = require "zkrecipes.sim"
local env = require "spec.support.env"
local fails = env.fails

local DAY, MINUTE = 86400, 60

-- Calls fn(world, queue, session); the producer is the world's own process.
local function in_world(fn, options)
  return function()
    local world = sim.new { seed = 1, limit = 60 * DAY }
    world:run(function()
      local session = world.zk.session()
      fn(world, session:queue("/jobs", options), session)
    end)
  end
end

-- A queue in a new process.
local function another(world, options)
  local zk = world:process()
  local session = zk.session()
  assert(session:connected(200)) -- a put with a limit of 0 does not wait for a connection
  return session:queue("/jobs", options), session, zk
end

local function known(queue, id)
  local ok, word = assert(queue:put("again", { id = id }))
  assert.is_true(ok)
  assert.is_nil(queue:peek() and queue:peek().data == "again" or nil)
  return word == "known"
end

local function ids_of(world)
  local count = 0
  for _, folder in ipairs(world:children("/jobs/ids") or {}) do count = count + #world:children("/jobs/ids/" .. folder) end
  return count
end

-- The znodes that the queue keeps for done items.
local function tombstones_of(world)
  local count = 0
  for _, name in ipairs(world:children("/jobs/done") or {}) do
    if name:find "^b%-" then count = count + #world:children("/jobs/done/" .. name) end
  end
  return count
end

-- Ends the item with the id "x". Returns the second at which it was done.
local ENDS = {
  ack = function(_, queue) assert(assert(queue:claim(200)):ack()) end,
  take = function(_, queue) assert(queue:take(200)) end,
  ["ack by another process"] = function(world) assert(assert((another(world)):claim(200)):ack()) end,
  ["ack by a process that dies"] = function(world)
    local queue, session = another(world)
    assert(assert(queue:claim(200)):ack())
    session:close()
  end,
  ["take by a process whose session is lost"] = function(world)
    local queue, session = another(world)
    assert(queue:take(200))
    world:expire(session)
  end,
  ["ack after an expired claim"] = function(world, queue)
    local theirs, session = another(world)
    local item = assert(theirs:claim(200))
    world:expire(session)
    assert(assert(queue:claim(600)):ack())
    fails("lost", item:ack())
  end,
  ["ack after a nack, and one with a delay"] = function(_, queue)
    assert(assert(queue:claim(200)):nack())
    assert(assert(queue:claim(200)):nack(200))
    assert(assert(queue:claim(300)):ack())
  end,
  ["ack after it was a dead letter"] = function(_, queue)
    for _ = 1, 5 do assert(assert(queue:claim(200)):nack()) end
    assert.equal(1, queue:dead_size())
    assert.equal(1, queue:redrive())
    assert(assert(queue:claim(200)):ack())
  end,
  ["ack whose answer is lost"] = function(world)
    local queue, session = another(world)
    local item = assert(queue:claim(200))
    world:lose_reply(session, "multi")
    assert(item:ack())
  end,
}

describe("an id", function()
  for how, finish in pairs(ENDS) do
    it("is known for a minute, and no longer: " .. how, in_world(function(world, queue)
      assert(queue:put("first", { id = "x" }))
      assert.is_true(known(queue, "x"))
      finish(world, queue)
      local done = world:now()
      assert.is_true(known(queue, "x"))
      world:advance(MINUTE - 1 - (world:now() - done))
      assert.is_true(known(queue, "x"))
      world:advance(2)
      local ok, word = queue:put("second", { id = "x" })
      assert.is_true(ok)
      assert.is_nil(word)
      assert.is_true(known(queue, "x"))
      local item = assert(queue:claim(200))
      assert.equal("second", item.data)
      assert.equal("x", item.id)
      assert(item:ack())
    end))
  end

  -- The process is paused while the answer is on its way, so it believes that the server's clock is three seconds behind.
  it("is new after a minute, also for a producer whose view of the time is late, because it asks again", in_world(function(world, queue)
    local theirs, session = another(world)
    assert(theirs:put("first", { id = "x" }))
    world:plan(session, "pause", { kind = "create", seconds = 3 })
    local from = world:now()
    assert(theirs:put("late"))
    assert.is_true(world:now() - from >= 3)
    assert.equal("first", (queue:take(200)))
    world:advance(MINUTE + 1)
    local ok, word = theirs:put("second", { id = "x" })
    assert.is_true(ok)
    assert.is_nil(word)
  end))

  it("is known as long as its item is there, claimed, delayed or dead", in_world(function(world, queue)
    assert(queue:put("1", { id = "waits" }))
    world:advance(DAY)
    assert.is_true(known(queue, "waits"))
    local item = assert(queue:claim(200))
    world:advance(DAY)
    assert.is_true(known(queue, "waits"))
    assert(item:nack(2 * DAY))
    world:advance(DAY)
    assert.is_true(known(queue, "waits"))
    world:advance(2 * DAY)
    for _ = 1, 4 do assert(assert(queue:claim(200)):nack()) end
    assert.equal(1, queue:dead_size())
    world:advance(DAY)
    assert.is_true(known(queue, "waits"))
  end))

  it("is new at once after a remove", in_world(function(world, queue)
    assert(queue:put("1", { id = "x" }))
    assert.is_true(queue:remove("x"))
    local ok, word = queue:put("2", { id = "x" })
    assert.is_true(ok)
    assert.is_nil(word)
    assert.equal("2", (queue:take(200)))
    assert.is_false(queue:remove("x")) -- the item is done
    world:advance(MINUTE + 1)
    assert.is_false(queue:remove("x"))
    assert.same({ true }, { queue:put("3", { id = "x" }) })
  end))

  it("is not put after its remove by a late request of a session that the client has given up", in_world(function(world, queue, session)
    assert(queue:put("0"))
    local id = session.id
    world:plan(world.zk, "delay", { kind = "multi", seconds = 3 })
    world:plan(world.zk, "new_session", { kind = "exists", seconds = 0.1 })
    world.zk.spawn(session.exists, session, "/")
    assert.same({ true }, { queue:put("1", { id = "x" }) })
    assert.equal(0, world:planned(world.zk))
    assert.are_not.equal(id, session.id)
    assert.is_true(world:alive(id))
    assert.is_true(queue:remove("x"))
    while world:alive(id) do world:advance(1) end
    assert.equal(1, queue:size())
    assert.same({ true }, { queue:put("2", { id = "x" }) })
    assert.same({ "0", "2" }, { (queue:take(200)), (queue:take(200)) })
  end))

  it("leaves nothing behind after a remove, once its minute is over", in_world(function(world, queue)
    assert(queue:put("1", { id = "x" }))
    assert.is_true(queue:remove("x"))
    assert.same({ 1, 1 }, { ids_of(world), tombstones_of(world) })
    world:advance(2 * MINUTE)
    assert(queue:put("2", { id = "y" }))
    world:advance(MINUTE)
    assert(queue:take(200))
    assert.same({ 1, 1 }, { ids_of(world), tombstones_of(world) }) -- those of y
  end))

  for _, method in ipairs { "claim", "take" } do
    it("that is put once a day gives one item a day, for a week: " .. method, in_world(function(world, queue)
      local done, theirs = {}, another(world)
      local consumer = world.zk.spawn(function()
        for day = 1, 7 do
          local item = assert(theirs[method](theirs))
          done[day] = type(item) == "string" and item or item.data
          if method == "claim" then assert(item:ack()) end
        end
      end)
      for day = 1, 7 do
        local ok, word = queue:put("day " .. day, { id = "nightly" })
        assert.is_true(ok)
        assert.is_nil(word)
        world:advance(DAY)
      end
      assert.is_nil((select(3, consumer:wait(DAY))))
      assert.same({ "day 1", "day 2", "day 3", "day 4", "day 5", "day 6", "day 7" }, done)
    end))
  end

  it("is put again by one of two simultaneous callers", in_world(function(world, queue)
    local theirs = another(world)
    for round = 1, 20 do
      assert(queue:put("0", { id = "x" }))
      assert(queue:take(200))
      world:advance(MINUTE + 1)
      local words = { world.zk.all { function() return (select(2, queue:put("a", { id = "x" }))) or "new" end,
        function() return (select(2, theirs:put("b", { id = "x" }))) or "new" end } }
      table.sort(words)
      assert.same({ "known", "new" }, words, "round " .. round)
      assert.equal(1, queue:size())
      assert(queue:take(200))
      world:advance(MINUTE + 1)
    end
  end))

  for _, fault in ipairs { "lose_reply", "lose_request" } do
    it("is put again only once if a message is lost: " .. fault, in_world(function(world, queue, session)
      for nth = 1, 6 do
        assert(queue:put("0", { id = "x" }))
        assert(queue:take(200))
        world:advance(MINUTE + 1)
        world[fault](world, session, "any", nth)
        assert.is_true(queue:put("1", { id = "x" }))
        assert(session:sync("/"))
        assert(session:sync("/"))
        assert(session:sync("/"))
        assert(session:sync("/"))
        assert(session:sync("/"))
        assert(session:sync("/"))
        assert.equal(1, queue:size())
        assert.equal("1", (queue:take(200)))
        world:advance(MINUTE + 1)
      end
    end))
  end

  it("leaves nothing behind: each working client deletes expired ids", in_world(function(world, queue)
    local dead, dying = another(world)
    for i = 1, 2500 do assert(queue:put("1", { id = "a" .. i })) end
    for _ = 1, 2500 do assert(assert(dead:claim(200)):ack()) end
    dying:close()
    assert.equal(2500, ids_of(world))
    world:advance(2 * MINUTE)
    assert(queue:put("1", { id = "b" }))
    env.eventually_in(world, "2500 ids are forgotten", function() return ids_of(world) == 1 and tombstones_of(world) == 0 end)
    assert(queue:take(200))
    world:advance(2 * MINUTE)
    assert.same({ true }, { queue:put("1", { id = "b" }) })
    assert(queue:take(200))
    world:advance(2 * MINUTE)
    assert(queue:put("1"))
    assert(assert((another(world)):claim(200)):ack()) -- another client, and an item without an id
    env.eventually_in(world, "the last id is forgotten", function() return ids_of(world) == 0 and tombstones_of(world) == 0 end)
    assert.is_true(#world:children("/jobs/done") <= 4)
  end))
end)

describe("a put of a known id into a full queue", function()
  it("answers as in a queue with room, and does not wait", in_world(function(world, queue)
    assert(queue:put("1", { id = "x" }))
    assert(queue:put("2"))
    fails("full", queue:put("3", { timeout = 0 }))
    fails("full", queue:put("3", { timeout = 0, id = "y" }))
    local from = world:now()
    assert.same({ true, "known" }, { queue:put("1", { id = "x", timeout = 0 }) })
    assert.same({ true, "known" }, { queue:put("1", { id = "x", timeout = 5 }) })
    assert.same({ true, "known" }, { queue:put("1", { id = "x" }) })
    assert.is_true(world:now() - from < 1)
    assert.same({ 1, 1 }, { queue:put_all({ { data = "1", id = "x" } }, 0) })
    assert.equal("1", (queue:take(0)))
    assert(queue:put("3"))
    assert.same({ true, "known" }, { queue:put("1", { id = "x", timeout = 0 }) }) -- it is done
    world:advance(MINUTE + 1)
    fails("full", queue:put("1", { id = "x", timeout = 0 })) -- the id is new now
  end, { capacity = 2 }))

  it("says that the id is known if another producer puts it meanwhile", in_world(function(world, queue)
    assert(queue:put("1"))
    local put = world.zk.spawn(function() return queue:put("2", { id = "x" }) end)
    world:advance(5)
    assert((another(world)):put("3", { id = "x" }))
    assert.same({ true, "known" }, { put:wait(200) })
  end, { capacity = 1 }))
end)

describe("put_all", function()
  it("returns how many entries it has handled, and how many were known", in_world(function(world, queue)
    assert.same({ 3, 0 }, { queue:put_all { "1", { data = "2", id = "x" }, "3" } })
    assert.same({ 4, 2 }, { queue:put_all { { data = "2", id = "x" }, "4", { data = "5", id = "y" }, { data = "2", id = "x" } } })
    assert.equal(5, queue:size())
    assert.same({ 0, 0 }, { queue:put_all {} })
    local theirs = another(world, { capacity = 6 })
    local ok, _, code, count = theirs:put_all({ { data = "2", id = "x" }, "6", { data = "5", id = "y" }, "7" }, 0)
    assert.same({ nil, "full", 3 }, { ok, code, count })
    assert.equal(6, queue:size())
  end))

  it("deletes what is left of ids that are done, as a put does", in_world(function(world, queue)
    assert(queue:put("1", { id = "x" }))
    assert(queue:take(200))
    world:advance(2 * MINUTE)
    assert.equal(1, tombstones_of(world))
    assert.same({ 1, 0 }, { (another(world)):put_all { { data = "2", id = "y" } } })
    env.eventually_in(world, "the tombstone is deleted", function() return tombstones_of(world) == 0 end)
  end))

  -- The other put has created the id's znode again, with the same versions as the old one.
  it("puts an id once if another process puts it after the read of its old tombstone", in_world(function(world, queue, session)
    assert(queue:put("first", { id = "x" }))
    assert(assert(queue:claim(200)):ack())
    world:advance(MINUTE - 10)
    assert(queue:put("0", { id = "y" })) -- it looks for old tombstones now, and not again within half a minute
    assert(queue:take(200))
    world:advance(11)
    local other = another(world)
    world:plan(session, "delay", { kind = "multi", nth = 2, seconds = 2 }) -- the first one finds that the id's znode exists
    local mine = world.zk.spawn(function() return queue:put("mine", { id = "x" }) end)
    world:advance(1)
    assert.same({ true }, { other:put("theirs", { id = "x" }) })
    assert.same({ true, "known" }, { mine:wait(60) })
    assert.equal(0, world:planned(session))
    assert.equal(1, queue:size())
    assert.equal("theirs", queue:peek().data)
  end))
end)
