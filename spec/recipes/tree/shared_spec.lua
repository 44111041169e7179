-- Trees over the same znodes in one session share their reads. In simulated worlds.
-- Tags: sanitize, one thread

local collect = require "spec.support.collect"
local core = require "zkrecipes.core"
local sim = require "zkrecipes.sim"

local HALF = 0.05 -- seconds that a message takes
local LIMIT = 200

-- Calls fn(world, session of the trees, session of a writer), where /c has ten children, and /c/1 has one.
local function within(fn)
  return function()
    local world = sim.new { seed = 1, servers = 1, latency = HALF, jitter = 0 }
    world:run(function()
      local session, writer = world:session(), world:session()
      local parts = { { "create", "/c", "root" } }
      for i = 1, 10 do parts[#parts + 1] = { "create", "/c/" .. i, "first" } end
      parts[#parts + 1] = { "create", "/c/1/x", "" }
      assert(writer:multi(parts))
      assert(session:sync "/c")
      fn(world, session, writer)
      session:close()
      writer:close()
    end)
  end
end

local KINDS = { "get", "exists", "children" }

-- Calls fn. Returns the reads that were sent until all is settled.
local function reads(world, session, fn)
  local before, spent = {}, {}
  for _, kind in ipairs(KINDS) do before[kind] = world:requests(session, kind) end
  fn()
  world:advance(5)
  for _, kind in ipairs(KINDS) do
    local count = world:requests(session, kind) - before[kind]
    spent[kind] = count > 0 and count or nil
  end
  return spent
end

local function paths(tree)
  local list = {}
  for path in tree:pairs() do list[#list + 1] = path:sub(3) end
  return table.concat(list, " ")
end

local ALL = " /1 /1/x /10 /2 /3 /4 /5 /6 /7 /8 /9"

describe("trees over the same znodes in one session", function()
  it("send each read once if they load at the same time", within(function(world, session, writer)
    local trees = {}
    assert.same({ get = 12, children = 12 }, reads(world, session, function()
      for i = 1, 3 do trees[i] = session:tree "/c" end
    end))
    for i = 1, 3 do assert.same({ ALL, 0 }, { paths(trees[i]), trees[i]:age() }) end
    local parts = {}
    for i = 1, 300 do parts[i] = { "create", "/c/2/" .. i, "" } end
    assert.same({ get = 300, children = 301 }, reads(world, session, function() assert(writer:multi(parts)) end))
    for i = 1, 3 do assert.equal(300, #trees[i]:children "/c/2") end
  end))

  it("send each read once for a change", within(function(world, session, writer)
    local trees = { session:tree "/c", session:tree("/c", { depth = 1 }), session:tree("/c/1") }
    world:advance(5)
    assert.same({ get = 1 }, reads(world, session, function() assert(writer:set("/c/1", "second")) end))
    for i = 1, 3 do assert.equal("second", (trees[i]:get "/c/1")) end
    assert.same({ get = 1, children = 2 }, reads(world, session, function() assert(writer:create("/c/new", "")) end))
    assert.same({ get = 1, children = 1 }, reads(world, session, function() assert(writer:delete "/c/new") end))
    assert.same({ ALL, ALL:gsub(" /1/x", "") .. "" }, { paths(trees[1]), paths(trees[2]) })
  end))

  it("have each its own depth and filter", within(function(world, session, writer)
    local options = { { filter = { "/c/1*" } }, { depth = 0 }, {}, { depth = 1 }, { filter = { "/c/*/x" }, depth = 2 } }
    local trees = {}
    assert.same({ get = 12, children = 12 }, reads(world, session, function()
      for i = 1, #options do trees[i] = session:tree("/c", options[i]) end
    end))
    assert(writer:multi { { "create", "/c/1/y", "" }, { "create", "/c/2/x", "" }, { "delete", "/c/10" } })
    world:advance(5)
    local shown = {}
    for i = 1, #options do shown[i] = paths(trees[i]) end
    assert.same({ " /1 /1/x /1/y", "", " /1 /1/x /1/y /2 /2/x /3 /4 /5 /6 /7 /8 /9", " /1 /2 /3 /4 /5 /6 /7 /8 /9",
      " /1 /1/x /2 /2/x /3 /4 /5 /6 /7 /8 /9" }, shown)
  end))

  it("do not wait for one that is closed, or collected, at any moment", function()
    for ms = 0, 400, 10 do
      within(function(world, session)
        local second
        assert.same({ get = 12, children = 12 }, reads(world, session, function()
          local first = session:tree "/c"
          second = session:tree "/c"
          world:advance(ms / 1000)
          if ms % 20 == 0 then first:close() end
          first = nil -- luacheck: ignore
          collect()
        end))
        assert.same({ ALL, 0 }, { paths(second), second:age() })
      end)()
    end
  end)

  it("take a request back that no tree waits for, and send it again for the next one", within(function(world, session)
    for ms = 0, 400, 10 do
      local trees = { session:tree "/c", session:tree "/c" }
      world:advance(ms / 1000)
      trees[1]:close()
      trees[2]:close()
      local third = session:tree "/c"
      assert(third:ready(LIMIT))
      assert.equal(ALL, paths(third))
      third:close()
      world:advance(5)
      assert.equal(0, world:watches())
    end
  end))

  it("are never given an older answer than the session was told of", function()
    for ms = 0, 400, 5 do
      within(function(world, session, writer)
        local first = session:tree "/c"
        world:advance(ms / 1000)
        if ms % 10 == 0 then
          assert(session:set("/c/5", "second"))
        else
          assert(writer:set("/c/5", "second"))
          assert(session:sync "/c")
        end
        local second = session:tree "/c"
        assert(second:ready(LIMIT))
        assert.equal("second", (second:get "/c/5"), ms)
        world:advance(1)
        assert.equal("second", (first:get "/c/5"), ms)
      end)()
    end
  end)

  it("go on when the connection, or the session, is lost at any moment", function()
    for ms = 0, 400, 20 do
      for _, fault in ipairs { "cut", "expire" } do
        within(function(world, session, writer)
          local trees = { session:tree "/c", session:tree "/c" }
          world:advance(ms / 1000)
          world[fault](world, session)
          trees[3] = session:tree "/c"
          assert(writer:set("/c/5", "second"))
          assert(writer:delete "/c/10")
          if ms % 40 == 0 then trees[1]:close() end
          world:advance(40)
          for i = ms % 40 == 0 and 2 or 1, 3 do
            assert.same({ "second", (ALL:gsub(" /10", "")), 0 }, { trees[i]:get "/c/5", paths(trees[i]), trees[i]:age() })
          end
        end)()
      end
    end
  end)

  it("go on when an allocation fails", function()
    local failed, n = true, 0
    while failed do
      n = n + 1
      within(function(world, session)
        local trees = { session:tree "/c", session:tree "/c" }
        core.alloc_fail(n)
        world:advance(20)
        failed = core.alloc_failed()
        core.alloc_fail(0)
        for i = 1, 2 do assert.same({ ALL, 0 }, { paths(trees[i]), trees[i]:age() }, n) end
      end)()
    end
    assert.is_true(n > 50, n)
  end)

  it("share the data", within(function(world, session, writer)
    assert(writer:set("/c/1", ("x"):rep(900000)))
    local before, trees = core.alloc_bytes(), {}
    for i = 1, 3 do trees[i] = session:tree "/c" end
    world:advance(5)
    assert.is_true(core.alloc_bytes() - before < 1000000, core.alloc_bytes() - before)
    assert(writer:set("/c/1", ""))
    world:advance(5)
    trees[1]:close()
    for i = 1, 3 do assert.equal("", (trees[i]:get "/c/1")) end
    assert.is_true(core.alloc_bytes() - before < 100000, core.alloc_bytes() - before)
  end))

  it("do not wait for another request of the same znode", within(function(world, session, writer)
    assert(writer:create("/secret", "", { acl = { { perms = "c", scheme = "world", id = "anyone" } } }))
    local first = session:tree "/secret"
    world:advance(2.4 * HALF) -- the get was refused, and it asks by exists
    local from = world:now()
    local second = session:tree "/secret"
    assert(second:ready(LIMIT))
    assert.is_true(world:now() - from < 4.1 * HALF)
    assert.is_true(first:ready(LIMIT))
  end))

  it("do not wait for a request that was sent with fewer credentials", within(function(world, session)
    local zk, told = world.zk, false
    assert.same({ get = 13, children = 12 }, reads(world, session, function()
      zk.spawn(function() told = session:add_auth("digest", "user:password") end)
      world:advance(1.5 * HALF)
      local first = session:tree "/c"
      world:advance(HALF)
      assert.is_true(told)
      local second = session:tree "/c"
      assert(second:ready(LIMIT))
      assert(first:ready(LIMIT))
    end))
  end))

  it("are as old as the read, not as the joining, if a znode may not be read", within(function(world, session, writer)
    assert(writer:create("/secret", "", { acl = { { perms = "c", scheme = "world", id = "anyone" } } }))
    for ms = 10, 90, 20 do
      local first = session:tree("/secret")
      world:advance(ms / 1000)
      local second = session:tree("/secret")
      assert(first:ready(LIMIT))
      assert(second:ready(LIMIT))
      assert.is_true(second:age() >= first:age(), ms)
      first:close()
      second:close()
      world:advance(5)
    end
  end))
end)
