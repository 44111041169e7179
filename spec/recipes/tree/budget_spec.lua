-- The requests of a watched copy, counted at a proxy.

local Budget = require "spec.support.budget"
local env = require "spec.support.env"
local run = env.run

local LIMIT = 200

describe("the requests of a tree", function()
  local budget, tree

  local function counted(fn)
    return run(function()
      budget = Budget.start("/c", "root")
      for i = 1, 10 do assert(budget.other:create("/c/" .. i, "")) end
      assert(budget.session:sync("/c"))
      budget:spent()
      fn()
      budget:stop()
    end)
  end

  local function load(options)
    tree = budget.session:tree("/c", options)
    assert(tree:ready(LIMIT))
  end

  local function await(fn)
    assert(tree:await(fn, LIMIT))
    env.eventually("it is current", function() return tree:age() == 0 end)
  end

  it("to load: 2 for each znode, 1 if its children are not wanted; to read: none", counted(function()
    load()
    assert.same({ getData = 11, getChildren2 = 11 }, budget:spent())
    for _ = 1, 100 do
      tree:get("/c/1")
      tree:children()
      for _ in tree:pairs() do tree:age() end
    end
    assert.same({}, budget:spent())
    tree:close()
    load { depth = 1 }
    assert.same({ getData = 11, getChildren2 = 1 }, budget:spent())
    tree:close()
    load { depth = 0 }
    assert.same({ getData = 1 }, budget:spent())
  end))

  it("for a change: 1 for data, 1 and 2 for a new child, 2 for a deleted one", counted(function()
    load()
    budget:spent()
    for i = 1, 5 do
      assert(budget.other:set("/c/1", tostring(i)))
      await(function() return tree:get("/c/1") == tostring(i) end)
    end
    assert.same({ getData = 5 }, budget:spent())
    assert(budget.other:create("/c/new", ""))
    await(function() return tree:get("/c/new") end)
    assert.same({ getData = 1, getChildren2 = 2 }, budget:spent())
    assert(budget.other:delete("/c/new"))
    await(function() return not tree:get("/c/new") end)
    assert.same({ getData = 1, getChildren2 = 1 }, budget:spent())
  end))

  it("for znodes that the filter leaves out: none, and no watch", counted(function()
    local before = budget.session:usage().watches
    load { filter = { "/c/1", "/c/2/x" } }
    assert.same({ getData = 3, getChildren2 = 3 }, budget:spent())
    assert.equal(3, budget.session:usage().watches - before)
    for i = 3, 9 do assert(budget.other:set("/c/" .. i, "new")) end
    assert(budget.other:create("/c/3/x", ""))
    assert(budget.other:set("/c/1", "last"))
    await(function() return tree:get("/c/1") == "last" end)
    assert.same({ getData = 1 }, budget:spent())
    assert(budget.other:create("/c/left-out", ""))
    assert(budget.other:set("/c/1", "later"))
    await(function() return tree:get("/c/1") == "later" end)
    assert.same({ getData = 1, getChildren2 = 1 }, budget:spent())
  end))

  it("for a second tree of the same znodes: none if both read at the same time, and no further watch", counted(function()
    local first = budget.session:tree "/c"
    load()
    assert(first:ready(LIMIT))
    local watches = budget.session:usage().watches
    assert.same({ getData = 11, getChildren2 = 11 }, budget:spent())
    local function both(fn)
      await(function() return fn(tree) end)
      assert(first:await(fn, LIMIT))
    end
    assert(budget.other:set("/c/1", "new"))
    both(function(one) return one:get("/c/1") == "new" end)
    assert.same({ getData = 1 }, budget:spent())
    assert(budget.other:create("/c/new", ""))
    both(function(one) return one:get("/c/new") end)
    assert.same({ getData = 1, getChildren2 = 2 }, budget:spent())
    assert(budget.other:delete("/c/new"))
    both(function(one) return not one:get("/c/new") end)
    assert.same({ getData = 1, getChildren2 = 1 }, budget:spent())
    tree:close()
    load()
    assert.same({ getData = 11, getChildren2 = 11 }, budget:spent()) -- there was nothing to join
    assert.equal(watches, budget.session:usage().watches)
    first:close()
  end))

  it("for many trees that load together: those of one, although answers come before all have asked", counted(function()
    local trees = {}
    for i = 1, 500 do trees[i] = budget.session:tree "/c" end
    for i = 1, #trees do
      assert(trees[i]:ready(LIMIT))
      assert.equal(10, #trees[i]:children())
    end
    assert.same({ getData = 11, getChildren2 = 11 }, budget:spent())
    assert(budget.other:set("/c/1", "new"))
    for i = 1, #trees do assert(trees[i]:await(function(one) return one:get("/c/1") == "new" end, LIMIT)) end
    assert.same({ getData = 1 }, budget:spent())
    for i = 1, #trees do trees[i]:close() end
  end))

  it("after a reconnect: none, if nothing has changed", counted(function()
    load()
    budget:spent()
    budget.proxy:refuse()
    budget.proxy:cut()
    env.eventually("it is told", function() return tree:age() > 0 end)
    budget.proxy:heal()
    env.eventually("it is current", function() return tree:age() == 0 end)
    local spent = budget:spent()
    spent.setWatches = nil
    assert.same({}, spent)
    assert(budget.other:set("/c/1", "new"))
    await(function() return tree:get("/c/1") == "new" end)
    assert.same({ getData = 1 }, budget:spent())
  end))

  it("for a missing root: 2, and 2 when it is created", counted(function()
    tree = budget.session:tree("/none")
    assert(tree:ready(LIMIT))
    assert.same({ getData = 1, exists = 1 }, budget:spent())
    assert(budget.other:create("/none", ""))
    await(function() return tree:get() end)
    assert.same({ getData = 1, getChildren2 = 1 }, budget:spent())
  end))
end)
