-- The filter of a watched copy, on a real server.

local core = require "zkrecipes.core"
local env = require "spec.support.env"
local run, raises = env.run, env.raises

local LIMIT = 200

local function pair()
  local namespace = env.namespace()
  return env.session { namespace = namespace }, env.session { namespace = namespace }
end

local function loaded(session, path, options)
  local tree = assert(session:tree(path, options))
  assert(tree:ready(LIMIT))
  return tree
end

local function await(tree, what) return assert(tree:await(what, LIMIT)) end

describe("the filter of a tree", function()
  it("keeps the znodes that it names, their descendants, and their ancestors", run(function()
    local session, writer = pair()
    for _, path in ipairs { "/c", "/c/db", "/c/db/host", "/c/db/port", "/c/eu-1", "/c/eu-1/host", "/c/eu-1/host/x", "/c/eu-1/hosts",
      "/c/us-1", "/c/us-1/host" } do assert(writer:create(path, "")) end
    local function paths(filter, depth)
      local tree, list = loaded(session, "/c", { filter = filter, depth = depth }), {}
      for path in tree:pairs() do list[#list + 1] = path:sub(3) end
      tree:close()
      return table.concat(list, " ")
    end
    assert.equal(" /db /db/host /db/port", paths { "/c/db" })
    assert.equal(" /db /db/host", paths { "/c/db/host" })
    assert.equal(" /db /eu-1 /eu-1/host /eu-1/host/x", paths { "/c/eu*/host", "/c/db/nothing" })
    assert.equal(" /db /db/host /eu-1 /eu-1/host /eu-1/host/x /us-1 /us-1/host", paths { "/c/*/host" })
    assert.equal(" /eu-1 /eu-1/host /eu-1/host/x /eu-1/hosts", paths { "/c/e**1" })
    assert.equal(" /eu-1 /eu-1/host /eu-1/host/x /eu-1/hosts /us-1 /us-1/host", paths { "/c/*u*-*1*/*h*s*" })
    assert.equal(" /eu-1 /us-1", paths({ "/c/*s-1", "/c/*u-1/host" }, 1))
    assert.equal("", paths { "/c/d", "/c/dbx", "/c/*b-", "/c/-*" })
    local whole = loaded(session, "/", { filter = { "/c/db/h" } })
    assert.same({ { "c" }, { "db" }, {} }, { whole:children(), whole:children("/c"), whole:children("/c/db") })
    local tree = loaded(session, "/c", { filter = { "/c/*/host" } })
    assert.same({ "db", "eu-1", "us-1" }, tree:children())
    assert.same({ "host" }, tree:children("/c/eu-1"))
    assert.is_nil(tree:get("/c/db/port"))
    assert(writer:create("/c/new", ""))
    assert(writer:create("/c/new/port", ""))
    assert(writer:create("/c/new/host", "came"))
    await(tree, function() return tree:get("/c/new/host") == "came" end)
    assert.is_nil(tree:get("/c/new/port"))
    assert(writer:delete("/c/new/host"))
    await(tree, function() return not tree:get("/c/new/host") end)
    session:close()
    writer:close()
  end))

  it("keeps no memory for znodes that it leaves out", run(function()
    local session, parts = env.session(), { { "create", "/f", "" } }
    for i = 1, 2000 do parts[#parts + 1] = { "create", ("/f/left-%d"):format(i), "" } end
    parts[#parts + 1] = { "create", "/f/kept", "" }
    assert(session:multi(parts))
    local before = core.alloc_bytes()
    local tree = loaded(session, "/f", { filter = { "/f/kept" } })
    assert.is_true(core.alloc_bytes() - before < 4 * 2000) -- two znodes; a pointer for each other znode would need twice as much
    tree:close()
    session:close()
  end))

  it("raises at the caller's line", run(function()
    local session = env.session()
    raises("'tree' %(option 'filter': at least one", function() session:tree("/c", { filter = {} }) end)
    raises("'tree' %(option 'filter': path expected at 2, got number", function() session:tree("/c", { filter = { "/c/a", 1 } }) end)
    raises("'tree' %(option 'filter': path 'a' must start", function() session:tree("/c", { filter = { "a" } }) end)
    raises("'tree' %(option 'filter': path '/c/a", function() session:tree("/c", { filter = { "/c/a\0" } }) end)
    for _, pattern in ipairs { "/c", "/cc/a", "/" } do
      raises("'tree' %(option 'filter': path below '/c' expected", function() session:tree("/c", { filter = { pattern } }) end)
    end
    raises("'tree' %(option 'filter': list of patterns expected, got a table with 'a'",
      function() session:tree("/c", { filter = { a = "/c/a" } }) end)
    raises("'tree' %(option 'filter': plain list of patterns expected, got a table whose metatable has __index",
      function() session:tree("/c", { filter = setmetatable({ "/c/a" }, { __index = {} }) }) end)
    raises("expected, got '/d" .. ("x"):rep(198) .. "%.%.%.'%)",
      function() session:tree("/c", { filter = { "/d" .. ("x"):rep(2000) } }) end)
    raises("path '/c\\000b' must not contain control", function() session:tree("/c", { filter = { "/c\0b" } }) end)
    session:close()
  end))
end)
