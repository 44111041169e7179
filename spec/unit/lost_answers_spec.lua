-- transact: a multi whose answer is lost (lost_answers.lua, src/plain/request_methods.c).
-- Tags: sanitize, one thread

local limits = require "zkrecipes.limit"
local requests = require "zkrecipes.lost_answers"
local sim = require "zkrecipes.sim"

local unpack = table.unpack or unpack -- luacheck: ignore 113 143

local function results_of(...) return { n = select("#", ...), ... } end

-- Runs fn(world, session) in a world with a znode /a.
local function in_world(fn)
  return function()
    local world = sim.new { seed = 1, limit = 1000 }
    world:run(function()
      local session = world:session()
      assert(session:create("/a", "before"))
      fn(world, session)
    end)
  end
end

local PARTS = { { "set", "/a", "after", 0 }, { "create", "/b", "" } }

-- Returns a was_done with these results, and a table that counts its calls.
local function telling(...)
  local results, calls = results_of(...), { count = 0 }
  return function()
    calls.count = calls.count + 1
    return unpack(results, 1, results.n)
  end, calls
end

local function sent(world, session) return world:requests(session, "multi") end

describe("a transaction whose answer is not lost", function()
  it("returns its results", in_world(function(world, session)
    local was_done, calls = telling(true)
    local results = assert(requests.transact(session, PARTS, was_done))
    assert.are.equal("1 /b", results[1].version .. " " .. results[2])
    assert.are.equal("1 0 0", ("%d %d %d"):format(sent(world, session), calls.count, world:requests(session, "sync")))
  end))

  it("returns each failure", in_world(function(world, session)
    local was_done, calls = telling(true)
    for code, part in pairs { no_node = { "delete", "/none" }, bad_version = { "set", "/a", "", 7 }, node_exists = { "create", "/a" } } do
      local results = results_of(requests.transact(session, { part }, was_done))
      assert.are.equal(nil, results[1])
      assert.are.equal("session:multi " .. part[2], results[2]:match("^%S+ [^:]+"))
      assert.are.equal(code, results[3])
    end
    assert.are.equal("3 0", sent(world, session) .. " " .. calls.count)
  end))

  it("is not sent in a session that is closed", in_world(function(_, session)
    session:close()
    local was_done, calls = telling(true)
    assert.are.equal("closed", (select(3, requests.transact(session, PARTS, was_done))))
    assert.are.equal(0, calls.count)
  end))
end)

describe("a transaction whose answer is lost", function()
  it("is not sent again if it was done", in_world(function(world, session)
    world:lose_reply(session, "multi")
    local given
    assert.is_true(requests.transact(session, PARTS, function(...)
      given = results_of(...)
      return "its name"
    end, 1, nil, 3))
    assert.are.same({ 1, nil, 3, n = 3 }, given)
    assert.are.equal(1, sent(world, session))
  end))

  it("is found, though the next server may lag", in_world(function(world, session)
    world:lag(2, 5)
    world:lag(3, 5)
    for n = 1, 10 do
      local path = "/c" .. n
      world:advance(10) -- a server that is behind what the session has seen does not take it
      world:lose_reply(session, "multi")
      assert.is_true(requests.transact(session, { { "create", path, "" } }, function() return session:exists(path) and true end))
    end
    assert.are.equal(10, sent(world, session))
  end))

  it("is sent again if it was not done", in_world(function(world, session)
    for nth = 1, 2 do world:lose_request(session, "multi", nth) end
    local was_done, calls = telling(false)
    local results = assert(requests.transact(session, PARTS, was_done))
    assert.are.equal("/b", results[2])
    assert.are.equal("3 2", sent(world, session) .. " " .. calls.count)
  end))

  it("fails with was_done's error if that cannot find out", in_world(function(world, session)
    world:lose_request(session, "multi")
    local results = results_of(requests.transact(session, PARTS, telling(nil, "it may have been done", "closed")))
    assert.are.same({ nil, "it may have been done", "closed", n = 3 }, results)
    assert.are.equal(1, sent(world, session))
  end))

  it("is given up if each request breaks the connection", in_world(function(world, session)
    for nth = 1, 7 do world:lose_request(session, "multi", nth) end
    local _, message, code = requests.transact(session, PARTS, telling(false))
    assert.are.equal("session:multi /a: 6 requests lost their answers, one after the other", message)
    assert.are.equal("connection_loss", code)
    assert.are.equal(6, sent(world, session))
  end))

  it("waits for the connection, and not longer than the limit", in_world(function(world, session)
    world:plan(session, "lose_reply", { kind = "multi", down = 100 })
    local was_done, calls = telling(true)
    local limit = limits.new(session, 1)
    local _, message, code = limit:told(requests.transact(limit.session, PARTS, was_done))
    assert.are.equal("connection_loss", code, message)
    assert.are.equal(0, calls.count)
  end))

  it("does not end with timeout within a time limit, because it may have been done", in_world(function(world, session)
    world:lose_reply(session, "multi")
    local limit = limits.new(session, 1)
    local _, message, code = limit:told(requests.transact(limit.session, PARTS, function()
      world:advance(2)
      return limit.session:exists("/a") -- not sent, because the limit has passed
    end))
    assert.are.equal("connection_loss", code, message)
  end))

  it("is done once, though the memory for its answer is exhausted", in_world(function(world, session)
    local core = require "zkrecipes.core"
    local failed = 0
    for n = 1, 100 do
      local path = "/m" .. n
      core.alloc_fail(n)
      local results, _, code = requests.transact(session, { { "create", path, "" } }, function()
        return session:exists(path) and true
      end)
      local missed = not core.alloc_failed()
      core.alloc_fail(0)
      if missed then break end
      failed = failed + 1
      if not results then assert.are.equal("no_memory", code) end
      if results then assert.is_truthy(world:get(path)) end
    end
    assert.is_true(failed > 3)
  end))
end)
