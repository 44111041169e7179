-- A list that is put by several requests, in simulated worlds: how it is cut, and what is left of it when one of them fails.
-- Tags: sanitize, one thread

local collect = require "spec.support.collect"
local core = require "zkrecipes.core"
local env = require "spec.support.env"
local sim = require "zkrecipes.sim"

local fails, raises = env.fails, env.raises

-- Runs body(world, queue, session) with a queue that has had an item, so that its znodes are there.
local function in_world(body, options, how)
  return function()
    local world = sim.new { seed = 1, limit = 100000 }
    world:run(function()
      local session = world.zk.session(options or { timeout = 10 })
      assert(session:connected(5))
      local queue = session:queue("/jobs", how)
      assert(queue:put("0"))
      assert(queue:take(5))
      world:advance(1) -- what follows a take is over
      body(world, queue, session)
    end)
  end
end

-- n strings: "1", "2" ...; change: index > another entry.
local function list_of(n, change)
  local list = {}
  for i = 1, n do list[i] = tostring(i) end
  for i, entry in pairs(change or {}) do list[i] = entry end
  return list
end

-- Takes all items. Returns their data.
local function taken(queue)
  local found, data = {}, queue:take(0)
  while data do
    found[#found + 1] = data
    data = queue:take(0)
  end
  return found
end

-- Asserts that these are the first n items of list_of, and all that there are.
local function has_first(n, queue) assert.same(list_of(n), taken(queue)) end

local FULL = 500000 / 5 - 200 - 2 * #"/jobs" -- bytes of data: five of these are just enough for one request

-- List > how many requests of one item, and of several, put it.
local CUTS = {
  ["a hundred"] = { list_of(100), 0, 1 },
  ["a hundred and one"] = { list_of(101), 1, 1 },
  ["two hundred"] = { list_of(200), 0, 2 },
  ["as many bytes as one request may have"] = { list_of(0, { ("x"):rep(FULL), ("x"):rep(FULL), ("x"):rep(FULL), ("x"):rep(FULL),
    ("x"):rep(FULL) }), 0, 1 },
  ["one byte more"] = { list_of(0, { ("x"):rep(FULL), ("x"):rep(FULL), ("x"):rep(FULL), ("x"):rep(FULL), ("x"):rep(FULL + 1) }), 1, 1 },
  ["an item that is larger alone"] = { list_of(5, { [3] = ("x"):rep(600000) }), 1, 2 },
  ["a delay"] = { list_of(5, { [3] = { data = "3", delay = 0 } }), 1, 2 },
  ["the default priority, given"] = { list_of(5, { [3] = { data = "3", priority = 0 } }), 0, 1 },
}

describe("put_all", function()
  for name, case in pairs(CUTS) do
    it("sends as many items as one request may have: " .. name, in_world(function(world, queue)
      local list, ones, several = case[1], case[2], case[3]
      local before, of_one, of_several = world:requests(world.zk), world:requests(world.zk, "create"), world:requests(world.zk, "multi")
      assert.same({ #list, 0 }, { queue:put_all(list) })
      assert.same({ ones, several, ones + several }, { world:requests(world.zk, "create") - of_one,
        world:requests(world.zk, "multi") - of_several, world:requests(world.zk) - before })
      local expected = {}
      for i, entry in ipairs(list) do expected[i] = entry.data or entry end
      assert.same(expected, taken(queue))
    end))
  end

  it("puts each item into the line of its priority, in the order of the list", in_world(function(world, queue)
    assert(queue:put("0", { priority = 7 })) -- makes the lane
    local before = world:requests(world.zk)
    assert.same({ 6, 0 }, { queue:put_all { "1", { data = "2", priority = 7 }, { data = "3", priority = 7 }, "4", "5",
      { data = "6", priority = 0 } } })
    assert.equal(3, world:requests(world.zk) - before)
    assert.same({ "1", "4", "5", "6", "0", "2", "3" }, taken(queue))
  end))

  it("puts the list that it was given, whatever becomes of the table", in_world(function(world, queue)
    local function id() return ("id"):rep(40) end -- nothing else keeps this string
    local entry = { data = "150", priority = 0 }
    local list = list_of(250, { [150] = entry, [160] = { data = "160", id = id() } })
    world:plan(world.zk, "delay", { kind = "multi", seconds = 1 })
    local task = world.zk.spawn(queue.put_all, queue, list)
    world:advance(0.5)
    entry.data, entry.priority, list[160].id = "other", 3, "other"
    for i = 1, 240 do list[i] = nil end
    list[250] = 5
    collect()
    for i = 1000, 2000 do list[i] = ("x"):rep(76) .. i end
    assert.same({ 250, 0 }, { task:wait(60) })
    has_first(250, queue)
    assert.same({ true, "known" }, { queue:put("160", { id = id() }) })
  end))

  for nth = 1, 3 do
    it("says how many it has put when no server answers to request " .. nth, in_world(function(world, queue, session)
      world:plan(session, "lose_request", { kind = "multi", nth = nth, down = 20 })
      local none, message, code, done = queue:put_all(list_of(300), 5)
      assert.same({ nil, "connection_loss", 100 * (nth - 1) }, { none, code, done })
      assert.matches("^queue:put_all /jobs: ", message)
      world:advance(20)
      has_first(done, queue)
    end))
  end

  it("puts nothing behind an item that is refused", in_world(function(_, queue)
    local none, message, code, done = queue:put_all(list_of(220, { [101] = ("x"):rep(980001) }))
    assert.same({ nil, "too_large", 100 }, { none, code, done })
    assert.equal("queue:put_all /jobs: an item has at most 980000 bytes, not 980001", message)
    has_first(100, queue)
  end))

  it("counts the items for which there was room, and goes on with the next one", in_world(function(world, queue)
    local task = world.zk.spawn(queue.put_all, queue, list_of(30))
    world:advance(5)
    assert.equal(12, queue:size())
    for i = 1, 30 do assert.equal(tostring(i), (queue:take(60))) end
    assert.same({ 30, 0 }, { task:wait(60) })
    assert.equal(0, queue:size())
  end, nil, { capacity = 12 }))

  it("looks for room no more often than a put", in_world(function(world, queue)
    assert(queue:put("1"))
    local function looks(put)
      local before = world:requests(world.zk)
      fails("full", put())
      return world:requests(world.zk) - before
    end
    local by_put = looks(function() return queue:put("2", { timeout = 20 }) end)
    assert.is_true(looks(function() return queue:put_all({ "2" }, 20) end) < 1.5 * by_put)
  end, nil, { capacity = 1 }))

  it("has one time limit for all its requests", in_world(function(world, queue)
    for nth = 1, 3 do world:plan(world.zk, "delay", { kind = "multi", nth = nth, seconds = 0.8 }) end
    local from = world:now()
    local none, _, code, done = queue:put_all(list_of(300), 2)
    assert.same({ nil, "connection_loss", 200 }, { none, code, done })
    assert.is_true(world:now() - from < 2.1)
  end))

  for _, timeout in ipairs { 0, "none" } do
    it("gives each request the time of one, with the limit " .. timeout, in_world(function(world, queue)
      for nth = 1, 3 do world:plan(world.zk, "delay", { kind = "multi", nth = nth, seconds = 0.8 }) end
      assert.same({ 300, 0 }, { queue:put_all(list_of(300), timeout ~= "none" and timeout or nil) })
      has_first(300, queue)
    end, { timeout = 10, request_timeout = 1 }))
  end

  it("that was canceled sends no further request", in_world(function(world, queue)
    world:plan(world.zk, "delay", { kind = "multi", nth = 2, seconds = 1 })
    local task = world.zk.spawn(queue.put_all, queue, list_of(300))
    world:advance(0.5)
    task:cancel()
    fails("canceled", task:wait(1))
    world:advance(10)
    has_first(200, queue)
  end))

  it("without a connection, or on a closed session, has put nothing", in_world(function(world, queue, session)
    world:disconnect(world.zk)
    world:advance(0.1)
    local none, message, code, done = queue:put_all({ "1" }, 0)
    assert.same({ nil, "connection_loss", 0 }, { none, code, done })
    assert.matches("^queue:put_all /jobs: not connected", message)
    session:close(0)
    assert.same({ nil, "closed", 0 }, { (queue:put_all { "1" }), select(3, queue:put_all { "1" }) })
  end))

  it("of an empty list needs no session, but its limit is checked", in_world(function(world, queue, session)
    world:disconnect(world.zk)
    world:advance(0.1)
    for _ = 1, 2 do
      for _, timeout in ipairs { 0, 5 } do assert.same({ 0, 0 }, { queue:put_all({}, timeout) }) end
      assert.same({ 0, 0 }, { queue:put_all {} })
      session:close(0)
    end
    raises("bad argument #2 to 'put_all' %(seconds must not be negative", function() queue:put_all({}, -1) end)
  end))

  it("tells exactly what it has put when memory is exhausted at any moment", function()
    local n, failed, put = 0, true, 0
    while failed do
      n = n + 1
      in_world(function(_, queue)
        local list = { "1", "2", { data = "3", id = "a" }, { data = "4", priority = 2 }, { data = "5", priority = 2 },
          { data = "6", delay = 60 } }
        core.alloc_fail(n)
        local count, _, code, done = queue:put_all(list)
        failed = core.alloc_failed()
        core.alloc_fail(0)
        if count then put = put + 1 else assert.equal("no_memory", code) end
        assert.equal(count or done, queue:size(), "allocation " .. n)
      end)()
    end
    assert.is_true(put > 0 and n > 10)
  end)

  it("and ack_all leave no memory behind", in_world(function(_, queue)
    local function blocks_after_round()
      assert.same({ 101, 0 }, { queue:put_all(list_of(101, { [7] = { data = "7", priority = 0, delay = 0 } })) })
      local items = {}
      for i = 1, 101 do items[i] = assert(queue:claim(5)) end
      assert.same({ 101, {} }, { queue:ack_all(items) })
      items = nil -- luacheck: ignore 311
      collect(2)
      return core.alloc_blocks()
    end
    blocks_after_round()
    local before = blocks_after_round()
    for _ = 1, 3 do assert.equal(before, blocks_after_round()) end
  end))

  it("raises for values out of range, and puts nothing", in_world(function(_, queue)
    local function bad(text, entry)
      raises("bad argument #1 to 'put_all' %(entry 2" .. text, function() queue:put_all { "1", entry, "3" } end)
    end
    bad(", option 'priority': integer from 0 to 65535 expected, got %-1%)", { data = "x", priority = -1 })
    bad(", option 'priority': integer from 0 to 65535 expected, got 65536%)", { data = "x", priority = 65536 })
    bad(", option 'priority': integer expected, got 1.5%)", { data = "x", priority = 1.5 })
    bad(", option 'id': 1 to 200 bytes expected, got 201%)", { data = "x", id = ("i"):rep(201) })
    bad(", option 'id': string or nil expected, got number%)", { data = "x", id = 1 })
    bad(", option 'delay': seconds must not be negative, got %-1%)", { data = "x", delay = -1 })
    bad(": unknown option 'timeout'; there are: data, priority, delay, id%)", { data = "x", timeout = 1 })
    bad(", option 'data': string expected, got nil%)", { priority = 1 })
    bad(", option 'data': string expected, got table%)", { data = {} })
    raises("bad argument #2 to 'put' %(option 'priority': integer from 0 to 65535 expected, got 70000%)", function()
      queue:put("x", { priority = 70000 })
    end)
    raises("bad argument #2 to 'put_all' %(seconds must not be negative", function() queue:put_all({ "1" }, -1) end)
    assert.equal(0, queue:size())
    assert.same({ 1, 0 }, { queue:put_all { { data = "x", priority = 65535, id = ("\0"):rep(200) } } })
  end))
end)
