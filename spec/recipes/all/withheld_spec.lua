-- Servers tell nobody of a znode's changes who may not read it. So a wait for a znode that others make, with an ACL that denies us to read
-- it, gets no event. In simulated worlds, which withhold such events as servers do.
-- Tags: sanitize, one thread

local core = require "zkrecipes.core"
local env = require "spec.support.env"
local sim = require "zkrecipes.sim"

local fails = env.fails
local MINUTE = 60

-- body(world, ours, theirs): what `theirs` makes may not be read by `ours`.
local function within(body)
  return function()
    local world = sim.new { seed = 1, servers = 1, jitter = 0, limit = 5000 }
    world:run(function()
      local theirs = world:session { acl = "creator", auth = { { scheme = "digest", credential = "u:p" } } }
      local ours = world:session()
      assert(ours:connected(5) and theirs:connected(5))
      body(world, ours, theirs)
    end)
  end
end

describe("a wait for a znode that may not be read when it is there:", function()
  -- make(theirs) makes it; call(ours) waits for it.
  local function refused(call, make)
    return within(function(world, ours, theirs)
      local wait = world.zk.spawn(function() return call(ours) end)
      world:advance(1)
      make(theirs)
      local from = world.zk.now()
      fails("no_auth", wait:wait(200))
      assert.is_true(world.zk.now() - from <= MINUTE + 1, world.zk.now() - from)
    end)
  end

  it("latch:wait returns, because it need not be read", within(function(world, ours, theirs)
    assert.are.equal(1, ours:latch("/ready", 1):count())
    local waits = {}
    for i = 1, 3 do waits[i] = world.zk.spawn(function() return ours:latch("/ready", 1):wait(600) end) end
    world:advance(1)
    assert.are.equal(0, theirs:latch("/ready", 1):count_down())
    local before = world:requests(ours)
    world:advance(MINUTE + 1)
    for i = 1, 3 do assert.is_true(waits[i].done and waits[i]:wait(0)) end
    assert.is_true(world:requests(ours) - before <= 3)
  end))

  local function seen(options)
    return function(session)
      local election, count = session:election("/e", options), 0
      repeat
        local leader, changes, code = election:next_leader(count)
        if code then return nil, changes, code end
        count = changes
      until leader
      return true
    end
  end
  for name, options in pairs { queue = {}, place = { fair = false }, rank = { rank = 1 } } do
    it("observers of an election, " .. name, refused(seen(options), function(theirs)
      assert(theirs:election("/e", options):campaign(5))
    end))
  end

  it("queue:claim", refused(function(ours) return ours:queue("/q"):claim(600) end,
    function(theirs) assert(theirs:queue("/q"):put "1") end))

  it("queue:take of the simple format", refused(function(ours) return ours:queue("/q", { format = "simple" }):take(600) end,
    function(theirs) assert(theirs:queue("/q", { format = "simple" }):put "1") end))

  it("watch:wait", refused(function(ours)
    local watch = assert(ours:watch "/w")
    assert.are.equal("created", watch:wait(600))
    return watch:wait(600)
  end, function(theirs) assert(theirs:create "/w") end))

  it("one request a minute while it waits, none afterwards, none while there is no connection", within(function(world, ours)
    local wait = world.zk.spawn(function() return ours:latch("/ready", 1):wait(3000) end)
    world:advance(5)
    local before = world:requests(ours, "exists")
    world:advance(10 * MINUTE)
    assert.are.equal(10, world:requests(ours, "exists") - before)
    wait:cancel()
    world:advance(MINUTE)
    before = world:requests(ours)
    world:advance(10 * MINUTE)
    assert.are.equal(0, world:requests(ours) - before)
  end))

  it("an event that comes meanwhile counts once", within(function(world, ours, theirs)
    local watch = assert(ours:watch "/w")
    fails("timeout", watch:wait(MINUTE - 1))
    assert(ours:create "/w")
    assert.are.equal("created", watch:wait(5))
    world:advance(3 * MINUTE)
    fails("timeout", watch:wait(0))
    assert(theirs:delete "/w")
    assert.are.equal("deleted", watch:wait(5))
    world:advance(3 * MINUTE)
    fails("timeout", watch:wait(0))
    watch:close()
  end))

  it("an event that comes while it asks counts once", within(function(world, ours)
    local watch = assert(ours:watch "/w")
    fails("timeout", watch:wait(MINUTE - 0.5))
    world:plan(ours, "delay", { kind = "exists", nth = 1, seconds = 2 })
    while world:planned(ours) > 0 do world:advance(0.2) end
    local before = world:requests(ours)
    assert(world:session():create "/w")
    assert.are.equal("created", watch:wait(10))
    world:advance(3 * MINUTE)
    assert.are.equal(2, world:requests(ours) - before) -- it reads the znode and its children
    fails("timeout", watch:wait(0))
    watch:close()
  end))

  it("looks again in the next session, and although an allocation fails", within(function(world, ours, theirs)
    local n, reached = 0, true
    assert(theirs:create "/all")
    while reached do
      n = n + 1
      local path = "/all/" .. n
      local watch = assert(ours:watch(path))
      fails("timeout", watch:wait(MINUTE - 0.5))
      if n % 2 == 0 then world:expire(ours) end
      assert(theirs:create(path))
      core.alloc_fail(n)
      world:advance(1)
      reached = core.alloc_failed()
      core.alloc_fail(0)
      assert.are.equal("created", watch:wait(2 * MINUTE + 1))
      watch:close()
    end
    assert.is_true(n > 2, n)
  end))
end)

describe("a presence", function()
  it("whose place is taken by a znode that it may not read says so, and is there when it has gone", within(function(world, ours, theirs)
    assert(theirs:create("/p", "", { ephemeral = true }))
    local presence = ours:presence("/p", "ours")
    world:advance(3)
    assert.are.equal("blocked", presence:state())
    assert.are.equal("no_auth", presence.problem)
    assert(theirs:delete "/p")
    world:advance(3)
    assert.are.equal("present", presence:state())
    assert.is_nil(presence.problem)
    presence:leave()
  end))

  it("whose znode is replaced by one that it may not read, too", within(function(world, ours, theirs)
    local presence = ours:presence("/p", "ours")
    world:advance(3)
    assert.are.equal("present", presence:state())
    assert(theirs:multi { { "delete", "/p" }, { "create", "/p", "", { ephemeral = true } } })
    world:advance(3)
    assert.are.equal("blocked", presence:state())
    assert.are.equal("no_auth", presence.problem)
    assert(theirs:delete "/p")
    world:advance(3)
    assert.are.equal("present", presence:state())
    presence:leave()
  end))
end)
