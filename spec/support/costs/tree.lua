-- The cases of the table "Costs" in docs/recipes/tree.md; see spec/recipes/all/costs_spec.lua.

local assert = require "luassert"

local function plant(of)
  for _, path in ipairs { "/c", "/c/a", "/c/b" } do assert(of.other:create(path, "")) end
end

local function loaded(of)
  plant(of)
  local tree = of.session:tree "/c"
  assert(tree:ready(10))
  return tree
end

return {
  { "to load", "2 for each znode, at most 64 at a time; 1 if its children are not wanted; 2 for a root that is not there", function(of)
    of:costs({ get = 1, exists = 1 }, function() assert(of.session:tree("/none"):ready(10)) end)
    plant(of)
    of:costs({ get = 3, children = 3 }, function() assert(of.session:tree("/c"):ready(10)) end)
    of:costs({ get = 3, children = 1 }, function() assert(of.session:tree("/c", { depth = 1 }):ready(10)) end)
    of:costs({ get = 1 }, function() assert(of.session:tree("/c", { depth = 0 }):ready(10)) end)
  end },
  { "what a `filter` leaves out", "none; a listing of its parent when it comes or goes", function(of)
    plant(of)
    of:costs({ get = 2, children = 2 }, function()
      of.kept = { of.session:tree("/c", { filter = { "/c/a" } }) }
      assert(of.kept[1]:ready(10))
    end)
    of:costs({}, function() assert(of.other:set("/c/b", "1")) end)
    of:costs({ children = 1 }, function() assert(of.other:create("/c/new", "")) end)
    of:costs({ children = 1 }, function() assert(of.other:delete("/c/new")) end)
  end },
  { "`get`, `children`, `pairs`, `age`, `changes`", "none", function(of)
    local tree = loaded(of)
    of:costs({}, function()
      for path in tree:pairs() do assert(tree:get(path) and tree:children(path)) end
      local changes = tree:changes()
      for _ = 1, 3 do assert(changes:next(0)) end
      assert.equal(0, tree:age())
    end)
  end },
  { "data were set", "1 event, 1 read", function(of)
    local tree = loaded(of)
    of:costs({ get = 1 }, function() assert(of.other:set("/c/a", "1")) end)
    assert.equal("1", (tree:get("/c/a")))
  end },
  { "a new child", "1 event, 1 listing, and as to load it", function(of)
    local tree = loaded(of)
    of:costs({ get = 1, children = 2 }, function() assert(of.other:create("/c/new", "1")) end)
    assert.equal("1", (tree:get("/c/new")))
  end },
  { "a child is deleted", "2 events, 1 read, 1 listing", function(of)
    local tree = loaded(of)
    of:costs({ get = 1, children = 1 }, function() assert(of.other:delete("/c/a")) end)
    assert.is_nil((tree:get("/c/a")))
  end },
  { "all of these, for several trees of the same znodes in one session that read at the same time", "as for one", function(of)
    plant(of)
    of:costs({ get = 3, children = 3 }, function() of.kept = { of.session:tree "/c", of.session:tree "/c" } end)
    of:costs({ get = 1 }, function() assert(of.other:set("/c/a", "1")) end)
    of:costs({ get = 1, children = 2 }, function() assert(of.other:create("/c/new", "1")) end)
    of:costs({ get = 1, children = 1 }, function() assert(of.other:delete("/c/new")) end)
    for _, tree in ipairs(of.kept) do assert.same({ "1", 0 }, { (tree:get("/c/a")), tree:age() }) end
    of:costs({ get = 3, children = 3 }, function() of.kept[3] = of.session:tree "/c" end)
  end },
  { "a minute has passed, for each znode that may not be read", "2 reads, 1 listing", function(of)
    assert(of.other:create("/c", ""))
    assert(of.other:create("/c/secret", "", { acl = { { perms = "c", scheme = "world", id = "anyone" } } }))
    local tree = of.session:tree "/c"
    of.kept = { tree }
    assert(tree:ready(10))
    of:costs({ get = 1, exists = 1, children = 1 }, function() of.world:advance(60) end)
  end },
  { "a minute has passed, for a root that is not there", "1 read", function(of)
    local tree = of.session:tree "/none"
    of.kept = { tree }
    assert(tree:ready(10))
    of:costs({ exists = 1 }, function() of.world:advance(60) end)
  end },
  { "the session was lost", "as to load", function(of)
    local tree = loaded(of)
    of:costs({ get = 3, children = 3 }, function()
      of.world:expire(of.session)
      of.world:advance(20)
    end)
    assert.equal(0, tree:age())
  end },
}
