-- The file of a watched copy: it serves a program while no server answers; and when it is written.
-- Tags: sanitize

local collect = require "spec.support.collect"
local zk = require "zkrecipes"
local sim = require "zkrecipes.sim"
local testing = require "zkrecipes.testing"
local core = require "zkrecipes.core"
local env = require "spec.support.env"
local files = require "spec.support.tree_file"
local run = env.run

local LIMIT = files.LIMIT
local place, read = files.place, files.read
local to_server, prepared, alone, content = files.to_server, files.prepared, files.alone, files.content

describe("the file of a tree", function()
  it("shows the last known copy while no server answers, with its age", run(function()
    local file, _, _, clean = place()
    local session, namespace = prepared(file)
    local live = session:tree("/c")
    assert(live:ready(LIMIT))
    local away = alone(namespace)
    local tree = away:tree("/c", { file = file })
    assert.is_true(tree:ready(0))
    assert.equal("file", tree.source)
    assert.same(content(live), content(tree))
    assert.same({ "a", "a.b", "b", "bytes", "null" }, tree:children())
    assert.same({ "x" }, tree:children("/c/a"))
    assert.is_nil(tree:get("/c/null"))
    assert.equal("\0\1\255\n", (tree:get("/c/bytes")))
    local first = tree:age()
    assert.is_true(first > 0 and first < LIMIT)
    env.eventually("it grows old", function() return tree:age() > first end)
    local told = {}
    local changes = tree:changes()
    for _ = 1, 7 do told[#told + 1] = assert(changes:next(0)).path end
    table.sort(told)
    assert.equal("/c /c/a /c/a.b /c/a/x /c/b /c/bytes /c/null", table.concat(told, " "))
    away:close()
    assert.equal("file", tree.source)
    assert.equal("/c/b", (tree:get("/c/b")))
    session:close()
    clean()
  end))

  it("is replaced by the servers' tree, and readers get the differences", run(function()
    local file, _, _, clean = place()
    local session, namespace = prepared(file)
    assert(session:set("/c/b", "new"))
    assert(session:delete("/c/a/x"))
    assert(session:multi { { "delete", "/c/null" }, { "create", "/c/null", "again" } })
    assert(session:create("/c/z", "z"))
    local proxy = env.proxy()
    proxy:refuse()
    local other = env.session { namespace = namespace, hosts = proxy.hosts }
    local tree = other:tree("/c", { file = file })
    local changes, told = tree:changes(), {}
    for _ = 1, 7 do assert.equal("added", assert(changes:next(0)).kind) end
    proxy:heal()
    to_server(tree)
    env.eventually("it is current", function() return tree:age() == 0 end)
    local change = changes:next(0)
    while change do
      told[#told + 1] = ("%s %s %s"):format(change.kind, change.path, tostring(change.data))
      change = changes:next(0)
    end
    table.sort(told)
    assert.same({ "added /c/null again", "added /c/z z", "changed /c/b new", "removed /c/a/x nil", "removed /c/null nil" }, told)
    tree:close()
    assert.matches("/c/z", read(file), 1, true)
    other:close()
    session:close()
    clean()
  end))

  it("has the copy's last state after close, also at the end of its scope", run(function()
    local file, _, _, clean = place()
    local session, namespace = prepared(file)
    local away = alone(namespace)
    local function closed_by(close, data)
      local tree = session:tree("/c", { file = file })
      assert(tree:ready(LIMIT))
      assert(session:set("/c/b", data))
      assert(tree:await(function() return tree:get("/c/b") == data end, LIMIT))
      close(tree)
      assert.equal(data, (away:tree("/c", { file = file }):get("/c/b")))
    end
    closed_by(function(tree) tree:close() end, "by close")
    closed_by(function(tree) debug.getmetatable(tree).__close(tree) end, "by a scope")
    away:close()
    session:close()
    clean()
  end))

  it("does not count as current if the servers were set up anew, although their zxids are the same", function()
    local file, _, _, clean = place()
    local function with_server(data, fn)
      local server = assert(testing.start())
      run(function()
        local session = zk.session { hosts = server.hosts, timeout = 60 }
        assert(session:connected(LIMIT))
        local before -- at the same zxid on both servers: a busy machine may make a session twice
        repeat before = select(2, assert(session:create("/before-", "", { sequential = true }))) until before.czxid >= ("%016x"):format(20)
        local _, stat = assert(session:create("/c", data))
        fn(session, stat.czxid)
        session:close()
      end)()
      server:stop()
    end
    local before
    with_server("old", function(session, czxid)
      before = czxid
      local tree = session:tree("/c", { file = file })
      assert(tree:ready(LIMIT))
      tree:close()
    end)
    with_server("new", function(session, czxid)
      assert.equal(before, czxid)
      local tree = session:tree("/c", { file = file })
      assert.equal("old", (tree:get("/c")))
      to_server(tree)
      assert.equal("new", (tree:get("/c")))
    end)
    clean()
  end)

  it("records which znodes may not be read", run(function()
    local file, _, _, clean = place()
    local session, namespace = prepared(file)
    assert(session:set_acl("/c/b", { { perms = "w", scheme = "world", id = "anyone" } }))
    local tree = session:tree("/c", { file = file })
    to_server(tree)
    tree:close()
    local away = alone(namespace)
    local again = away:tree("/c", { file = file })
    local data, stat, problem = again:get("/c/b")
    assert.same({ "nil", "no_auth" }, { tostring(data), problem })
    assert.equal(0, stat.version)
    away:close()
    session:close()
    clean()
  end))

  -- In virtual time; the files are real.
  local function writes_of(fn)
    local file, _, _, clean = place()
    local replace, count = core.replace_file, 0
    core.replace_file = function(...)
      count = count + 1
      return replace(...)
    end
    local world = sim.new { seed = 1 }
    local ok, problem = pcall(world.run, world, function() fn(world, file, function() return count end) end)
    core.replace_file = replace
    clean()
    if not ok then error(problem, 0) end
  end

  it("is written at most every five seconds while the copy changes, otherwise every minute", function()
    writes_of(function(world, file, count)
      local session = world:session()
      assert(session:create("/c", ""))
      local tree = session:tree("/c", { file = file })
      assert(tree:ready())
      assert.equal(1, count())
      for i = 1, 600 do
        assert(session:set("/c", tostring(i)))
        world:advance(0.1)
      end
      local busy = count()
      assert.is_true(busy >= 11 and busy <= 14)
      world:advance(7)
      local quiet = count()
      world:advance(600)
      assert.is_true(count() - quiet >= 8 and count() - quiet <= 10)
      assert.is_true(tree:age() == 0)
      tree:close()
      local last = count()
      world:advance(600)
      assert.equal(last, count())
      session:close()
    end)
  end)

  it("is not written once the tree is collected, nor while no server answers", function()
    writes_of(function(world, file, count)
      local session = world:session()
      assert(session:create("/c", ""))
      local tree = session:tree("/c", { file = file })
      assert(tree:ready())
      world:partition(session)
      world:advance(300)
      local away = count()
      world:advance(600)
      assert.equal(away, count())
      assert.is_true(tree:age() > 600)
      world:heal()
      assert(tree:await(function() return tree:age() == 0 or session:set("/c", "again") end, 100))
      tree = nil -- luacheck: ignore
      collect(2)
      world:advance(10)
      local over = count()
      world:advance(600)
      assert.equal(over, count())
      session:close()
    end)
  end)
end)
