-- The watched copy and znodes whose ACL forbids reading, in simulated worlds.

local sim = require "zkrecipes.sim"

local OWNER = { { scheme = "digest", credential = "owner:1" } }

-- Calls fn(world, session of the copy, session of the owner).
local function within(options, fn)
  return function()
    local world = sim.new { seed = 1, servers = 1, latency = options.latency, jitter = options.latency and 0 or nil }
    world:run(function() fn(world, world:session(), world:session { auth = OWNER }) end)
  end
end

local function loaded(session, path)
  local tree = session:tree(path)
  assert(tree:ready(10))
  return tree
end

describe("a tree with a znode that may not be read", function()
  it("is ready if its root is created while the tree checks whether it exists", function()
    for ms = 0, 300, 5 do
      within({ latency = 0.05 }, function(world, session, owner)
        assert(owner:connected(10))
        assert(session:connected(10))
        local tree = session:tree("/root")
        world:advance(ms / 1000)
        assert(owner:create("/root", "secret", { acl = "creator" }))
        assert.is_true(tree:ready(10))
        world:advance(70)
        local data, stat, problem = tree:get()
        assert.same({ nil, 6, "no_auth" }, { data, stat and stat.data_length, problem }, ms)
      end)()
    end
  end)

  it("reads the znode if an event comes while the tree checks whether it exists", function()
    for ms = 0, 300, 5 do
      within({ latency = 0.05 }, function(world, session, owner)
        assert(owner:create("/n", "secret"))
        assert(owner:set_acl("/n", "creator"))
        loaded(session, "/n") -- its watch brings the event
        local tree = session:tree("/n")
        world:advance(ms / 1000)
        world.zk.all({
          function() assert(owner:set_acl("/n", "open")) end,
          function() assert(owner:set("/n", "open data")) end,
        })
        world:advance(10)
        assert.equal("open data", (tree:get()), ms)
      end)()
    end
  end)

  it("is as old as the last check of the znode, and checks it again", within({}, function(world, session, owner)
    assert(owner:create("/n/a", "", { parents = true }))
    assert(owner:set("/n", "secret"))
    assert(owner:set_acl("/n", "creator"))
    local tree = loaded(session, "/n")
    for _ = 1, 200 do
      local age = tree:age()
      assert.is_true(age > 0 and age < 61, age)
      assert.same({ nil, "no_auth" }, { (tree:get()), select(3, tree:get()) })
      world:advance(1)
    end
    assert(owner:set_acl("/n", "open"))
    assert(owner:set("/n", "open data"))
    world:advance(61)
    assert.same({ "open data", 0 }, { (tree:get()), tree:age() })
    assert.same({ "a" }, tree:children())
  end))

  it("notices that such a root is created, and that it is deleted", within({}, function(world, session, owner)
    local tree = loaded(session, "/n")
    assert.equal(0, tree:age())
    assert(owner:create("/n", "secret", { acl = "creator" }))
    world:advance(61)
    assert.equal("no_auth", (select(3, tree:get())))
    assert(owner:delete("/n"))
    world:advance(61)
    assert.is_nil(select(2, tree:get()))
    assert.is_nil(tree:children())
    assert.equal(0, tree:age())
    tree:close()
    world:advance(200)
  end))
end)
