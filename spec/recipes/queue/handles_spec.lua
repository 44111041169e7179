-- A new handle for each request, as in handlers of web servers. Nothing of it stays, neither on the servers nor in the session's usage.
-- Tags: sanitize, one thread

local collect = require "spec.support.collect"
local core = require "zkrecipes.core"
local env = require "spec.support.env"
local handles = require "spec.support.handles"
local sim = require "zkrecipes.sim"

local in_use, serve = handles.in_use, handles.serve

-- Runs body(world, zk, session) in a simulated world.
local function in_world(body)
  return function()
    local world = sim.new { seed = 3, limit = 1e6 }
    world:run(function()
      local client = world:process()
      body(world, client, client.session { timeout = 10 })
    end)
  end
end

local function consumers(world, path) return #(world:children((path or "/jobs") .. "/consumers") or {}) end

-- Serves this many requests. Returns the session's usage afterwards, and the number of registered consumers.
local function after(world, session, count)
  for i = 1, count do
    serve(session, "/jobs")
    if i % 500 == 0 then collect(4) end
  end
  collect(4)
  world:advance(5)
  return in_use(session) .. ("; consumers %d"):format(consumers(world))
end

describe("a handle of a queue for each request", function()
  it("leaves nothing: 3,000 of them", in_world(function(world, _, session)
    local first = after(world, session, 10)
    assert.equal(first, after(world, session, 2990))
    assert.equal(0, consumers(world))
  end))

  it("leaves nothing: 300 paths", in_world(function(world, _, session)
    serve(session, "/jobs/0")
    collect(4)
    world:advance(5)
    local first = in_use(session)
    for i = 1, 300 do serve(session, "/jobs/" .. i) end
    collect(4)
    world:advance(5)
    assert.equal(first, in_use(session))
    for i = 0, 300 do assert.equal(0, consumers(world, "/jobs/" .. i)) end
  end))

  it("makes no more znodes than one handle does", in_world(function(world, _, session)
    serve(session, "/jobs")
    for _ = 1, 20 do serve(session, "/jobs") end -- with or without a collection meanwhile
    assert.is_true(consumers(world) <= 1, consumers(world))
  end))

  it("is the existing handle if path and options are the same", in_world(function(_, _, session)
    local queue = session:queue("/jobs")
    local function same(path, options) return rawequal(queue, session:queue(path, options)) end
    assert.is_true(same("/jobs") and same("/jobs", {}) and same("/jobs", { attempts = 5 }))
    assert.is_false(same("/jobs", { capacity = 5 }))
    assert.is_false(same("/jobs", { attempts = 4 }))
    assert.is_false(same("/jobs", { format = "simple" }))
    assert.is_false(same("/other"))
  end))

  it("is kept alive by a claimed item", in_world(function(world, _, session)
    local queue = session:queue("/jobs")
    assert(queue:put_all { "1", "2" })
    local item = assert(queue:claim(200))
    queue = nil -- luacheck: ignore 311
    collect(4)
    world:advance(5)
    assert.equal(1, consumers(world))
    assert.is_true(rawequal(item.queue, session:queue("/jobs")))
    assert(item:ack())
    item = nil -- luacheck: ignore 311
    collect(4)
    world:advance(5)
    assert.equal(0, consumers(world))
  end))

  it("leaves nothing when it is collected with an item that was not acked", in_world(function(world, _, session)
    for _ = 1, 3 do
      local queue = session:queue("/jobs")
      assert(queue:put("x"))
      assert(queue:claim(200))
      queue = nil -- luacheck: ignore 311
      collect(4)
      world:advance(5)
      assert.equal(0, #world:children("/jobs/claims"))
      assert.equal(0, consumers(world))
    end
  end))

  it("leaves nothing when it is collected in an outage", in_world(function(world, client, session)
    serve(session, "/jobs")
    world:disconnect(client)
    collect(4)
    world:advance(3)
    world:heal()
    env.eventually_in(world, "it is gone", function() return consumers(world) == 0 end)
    assert.equal("connected", session.state)
  end))

  it("leaves nothing when an allocation fails", in_world(function(world, _, session)
    local failed, n = true, 0
    while failed do
      serve(session, "/jobs")
      n = n + 1
      core.alloc_fail(n)
      collect(4)
      world:advance(5)
      failed = core.alloc_failed()
      core.alloc_fail(0)
      world:advance(5)
      assert.equal(0, consumers(world))
    end
    assert.is_true(n > 1, n)
  end))

  it("leaves nothing when the answers are lost", in_world(function(world, client, session)
    local queue = session:queue("/jobs")
    assert(queue:put_all { "1", "2" })
    world:plan(client, "lose_reply", { kind = "create", nth = 1 })
    world:plan(client, "lose_reply", { kind = "create", nth = 2 })
    local item = assert(queue:claim(60))
    assert.equal(1, consumers(world))
    assert(item:ack())
    item, queue = nil, nil -- luacheck: ignore 311
    world:plan(client, "lose_reply", { kind = "delete" })
    collect(4)
    world:advance(30)
    assert.equal(0, consumers(world))
  end))

  it("ends with its session", in_world(function(world, client)
    do
      local session = client.session { timeout = 10 }
      serve(session, "/jobs")
    end
    collect(4)
    world:advance(30)
    assert.equal(0, consumers(world))
  end))

  -- On Lua 5.1 and LuaJIT a finalizer can still reach the handle.
  it("is a new one when the collector has just taken the last one", in_world(function(_, _, session)
    for _ = 1, 200 do
      serve(session, "/jobs")
      for _ = 1, 40 do
        collectgarbage("step", 1)
        assert(session:queue("/jobs"):size())
      end
      collect()
    end
  end))
end)
