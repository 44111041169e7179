-- The watched copy, on a real server.
-- Tags: sanitize

local collect = require "spec.support.collect"
local testing = require "zkrecipes.testing"
local zk = require "zkrecipes"
local env = require "spec.support.env"
local run, fails, raises = env.run, env.fails, env.raises

local LIMIT = 200

-- Two sessions on one namespace: the copy's, and a writer's.
local function pair(options)
  local namespace = env.namespace()
  local session = env.session { namespace = namespace, hosts = options and options.hosts, auth = options and options.auth }
  return session, env.session { namespace = namespace, auth = options and options.writer }
end

local function loaded(session, path, options)
  local tree = assert(session:tree(path, options))
  assert(tree:ready(LIMIT))
  return tree
end

local function await(tree, what)
  return assert(tree:await(what, LIMIT))
end

-- "path=data" of each znode, in the order of pairs.
local function picture(tree)
  local list = {}
  for path, data in tree:pairs() do list[#list + 1] = path .. "=" .. tostring(data) end
  return table.concat(list, " ")
end

local function told(changes)
  local change = assert(changes:next(LIMIT))
  return ("%s %s %s"):format(change.kind, change.path, tostring(change.data)), change
end

-- Waits until the copy has all earlier writes of this session: writes a marker and waits for that.
local function settle(tree, writer, root)
  local path = root .. "/zz" .. tostring(zk.now()):gsub("%p", "")
  assert(writer:create(path, ""))
  await(tree, function() return tree:get(path) end)
  assert(writer:delete(path))
  env.eventually("it is current", function() return not tree:get(path) and tree:age() == 0 end)
end

describe("a tree", function()
  it("shows all znodes in order, and follows changes", run(function()
    local session, writer = pair()
    for _, path in ipairs { "/c", "/c/b", "/c/a", "/c/a/x", "/c/a-", "/c/a/x/1" } do
      assert(writer:create(path, "of " .. path, { parents = true }))
    end
    local tree = session:tree("/c")
    assert.equal(math.huge, tree:age())
    assert.is_nil(tree:get())
    assert.same({ true }, { tree:ready(LIMIT) })
    assert.equal("/c=of /c /c/a=of /c/a /c/a/x=of /c/a/x /c/a/x/1=of /c/a/x/1 /c/a-=of /c/a- /c/b=of /c/b", picture(tree))
    assert.same({ "a", "a-", "b" }, tree:children("/c"))
    assert.same({ "a", "a-", "b" }, tree:children())
    assert.same({}, tree:children("/c/b"))
    assert.is_nil(tree:children("/c/none"))
    assert.is_nil((tree:get("/elsewhere")))
    local data, stat = tree:get("/c/b")
    local real, real_stat = session:get("/c/b")
    assert.equal(real, data)
    assert.same(real_stat, stat)
    assert(writer:set("/c/b", "new"))
    assert(writer:delete_tree("/c/a"))
    assert(writer:create("/c/d/e", "deep", { parents = true }))
    await(tree, function() return tree:get("/c/b") == "new" and tree:get("/c/d/e") and not tree:get("/c/a") end)
    assert.equal("/c=of /c /c/a-=of /c/a- /c/b=new /c/d=nil /c/d/e=deep", picture(tree):gsub("/c/d=[^ ]*", "/c/d=nil"))
    settle(tree, writer, "/c")
    assert.equal(0, tree:age())
    assert.equal("/c", tree.path)
    assert.is_nil(tree.problem)
  end))

  it("stops at the given depth", run(function()
    local session, writer = pair()
    assert(writer:create("/c/a/x", "", { parents = true }))
    local one, two = loaded(session, "/c", { depth = 0 }), loaded(session, "/c", { depth = 1 })
    assert.equal("/c=", (picture(one):gsub("nil", "")))
    assert.same({}, one:children())
    assert.same({ "a" }, two:children())
    assert.same({}, two:children("/c/a"))
    assert(writer:create("/c/b", "b"))
    assert(writer:create("/c/b/y", "y"))
    await(two, function() return two:get("/c/b") == "b" end)
    assert(writer:set("/c", "root"))
    await(one, function() return one:get() == "root" end)
    assert.is_nil((one:get("/c/b")))
    assert.is_nil((two:get("/c/b/y")))
    assert(writer:create("/c/b/y/z", ""))
    local three = loaded(session, "/c", { depth = 2 })
    assert.same({ "y" }, three:children "/c/b")
    assert.same({}, three:children "/c/b/y")
    assert(writer:create("/c/b/w", "w"))
    await(three, function() return three:get "/c/b/w" == "w" end)
    assert.is_nil((three:get "/c/b/y/z"))
  end))

  it("waits for a missing root, and follows a root that is deleted and created again", run(function()
    local session, writer = pair()
    local tree = loaded(session, "/later/root")
    local changes = tree:changes()
    assert.is_nil((tree:get()))
    assert.is_nil(tree:children())
    for turn = 1, 3 do
      assert(writer:create("/later/root/a", tostring(turn), { parents = true }))
      await(tree, function() return tree:get("/later/root/a") == tostring(turn) end)
      assert(writer:delete_tree("/later/root"))
      await(tree, function() return not tree:get() end)
      assert.equal("", picture(tree))
    end
    changes:close()
    tree:close()
  end))

  it("keeps binary data, empty and null data, a megabyte, and names in UTF-8", run(function()
    local session, writer = pair()
    local all = { bytes = "\0\1\255\n\0", empty = "", large = ("x"):rep(999000), ["ключ-鍵-é"] = "key" }
    assert(writer:create("/c", nil))
    for name, data in pairs(all) do assert(writer:create("/c/" .. name, data)) end
    local tree = loaded(session, "/c")
    local data, stat = tree:get("/c")
    assert.is_nil(data)
    assert.equal(0, stat.data_length)
    for name, each in pairs(all) do assert.is_true(tree:get("/c/" .. name) == each, name) end
    assert(writer:set("/c/large", ("y"):rep(999000)))
    await(tree, function() return tree:get("/c/large"):sub(1, 1) == "y" end)
  end))

  it("copies the rest if some znodes may not be read", run(function()
    local me, other = { scheme = "digest", credential = "me:1" }, { scheme = "digest", credential = "other:2" }
    local session, writer = pair { auth = { me }, writer = { other } }
    assert(writer:create("/c/open", "1", { parents = true }))
    assert(writer:create("/c/closed/below", "2", { parents = true }))
    assert(writer:set("/c/closed", "secret"))
    assert(writer:set_acl("/c/closed", "creator"))
    local tree = loaded(session, "/c")
    local data, stat, problem = tree:get("/c/closed")
    assert.same({ nil, 6, "no_auth" }, { data, stat.data_length, problem })
    assert.same({ "closed", "open" }, tree:children("/c"))
    assert.same({}, tree:children("/c/closed"))
    local changes = tree:changes()
    local problems = {}
    for _ = 1, 3 do
      local _, change = told(changes)
      problems[change.path] = change.problem or "none"
    end
    assert.same({ ["/c"] = "none", ["/c/open"] = "none", ["/c/closed"] = "no_auth" }, problems)
    assert(writer:delete_tree("/c/closed"))
    await(tree, function() return not select(2, tree:get("/c/closed")) end)
  end))

  it("serves many coroutines at once", run(function()
    local session, writer = pair()
    assert(writer:create("/c", "0"))
    local tree, ends = session:tree("/c"), {}
    for i = 1, 20 do
      ends[i] = env.start(function()
        assert(tree:ready(LIMIT))
        return tree:await(function() return tree:get() == "1" and i end, LIMIT)
      end)
    end
    assert(writer:set("/c", "1"))
    for i = 1, 20 do assert.equal(i, ends[i]()) end
  end))
end)

describe("changes of a tree", function()
  it("are reported to each reader: first the present znodes, then each difference", run(function()
    local session, writer = pair()
    assert(writer:create("/c", "0"))
    local tree = loaded(session, "/c")
    local one, two = tree:changes(), tree:changes()
    assert.equal("added /c 0", (told(one)))
    assert(writer:create("/c/a", "1"))
    assert.equal("added /c/a 1", (told(one)))
    assert(writer:set("/c/a", "2"))
    local text, change = told(one)
    assert.equal("changed /c/a 2", text)
    assert.same({ "1", 0, 1 }, { change.before.data, change.before.stat.version, change.stat.version })
    assert(writer:delete("/c/a"))
    text, change = told(one)
    assert.equal("removed /c/a nil", text)
    assert.same({ "2", nil }, { change.before.data, change.stat })
    assert(writer:create("/c/b", "3"))
    assert.equal("added /c/b 3", (told(one)))
    assert.equal("added /c 0", (told(two)))
    assert.equal("added /c/b 3", (told(two)))
    env.late(two:next(0.01))
    fails("timeout", two:next(0))
  end))

  it("are merged for a slow reader, which still learns that a znode was created again", run(function()
    local session, writer = pair()
    assert(writer:create("/c/a", "1", { parents = true }))
    local tree = loaded(session, "/c")
    local changes = tree:changes()
    told(changes)
    told(changes)
    for i = 1, 50 do assert(writer:set("/c/a", tostring(i))) end
    assert(writer:create("/c/gone", ""))
    await(tree, function() return tree:get("/c/a") == "50" and tree:get("/c/gone") end)
    assert(writer:delete("/c/gone"))
    await(tree, function() return not tree:get("/c/gone") end)
    local text, change = told(changes)
    assert.same({ "changed /c/a 50", "1" }, { text, change.before.data })
    fails("timeout", changes:next(0))
    assert(writer:delete("/c/a"))
    assert(writer:create("/c/a", "again"))
    await(tree, function() return tree:get("/c/a") == "again" end)
    assert.equal("removed /c/a nil", (told(changes)))
    assert.equal("added /c/a again", (told(changes)))
    fails("timeout", changes:next(0))
  end))

  -- On Lua 5.1 `for ... in` cannot wait.
  local _ = (_VERSION ~= "Lua 5.1" or rawget(_G, "jit")) and it("can be iterated, and keep the tree alive", run(function()
    local session, writer = pair()
    assert(writer:create("/c", "0"))
    local seen = {}
    for change in session:tree("/c"):changes() do
      seen[#seen + 1] = change.data
      collect()
      if #seen == 3 then break end
      assert(writer:set("/c", tostring(#seen)))
    end
    assert.same({ "0", "1", "2" }, seen)
  end))

  it("end when the reader, the tree or the session is closed", run(function()
    local session = pair()
    local tree = loaded(session, "/c")
    local one, two, three = tree:changes(), tree:changes(), session:tree("/d"):changes()
    local ends = {}
    for i, changes in ipairs { one, two, three } do ends[i] = env.start(function() return changes:next(LIMIT) end) end
    local ready = env.start(function() return tree:await(function() return false end, LIMIT) end)
    zk.sleep(0)
    one:close()
    assert.matches("^changes:next /c: it is closed", fails("closed", ends[1]()))
    tree:close()
    tree:close()
    assert.matches("^changes:next /c: the tree is closed", fails("closed", ends[2]()))
    fails("closed", ready())
    fails("closed", tree:ready())
    session:close()
    assert.matches("^changes:next /d: ", fails("closed", ends[3]()))
    fails("closed", two:next())
    assert.is_nil((tree:get()))
    local none, _, code = session:tree("/c")
    assert.same({ nil, "closed" }, { none, code })
  end))
end)

describe("the copy of a tree", function()
  it("stays readable while the connection is broken, shows its age, and continues afterwards", run(function()
    local proxy = env.proxy()
    local session, writer = pair { hosts = proxy.hosts }
    assert(session:connected(LIMIT))
    assert(writer:create("/c/a", "1", { parents = true }))
    local tree = loaded(session, "/c")
    proxy:refuse()
    proxy:cut()
    env.eventually("it is told", function() return session.state ~= "connected" end)
    assert.equal("1", (tree:get("/c/a")))
    local age = tree:age()
    assert.is_true(age > 0 and age < 400, age)
    zk.sleep(0.01)
    assert.is_true(tree:age() > age)
    assert(writer:set("/c/a", "2"))
    proxy:heal()
    await(tree, function() return tree:get("/c/a") == "2" end)
    env.eventually("it is current", function() return tree:age() == 0 end)
  end))

  it("is as old as an event that waits because the host is busy", run(function()
    local namespace = env.namespace()
    local session, writer = env.session { namespace = namespace, timeout = 10 }, env.session { namespace = namespace }
    assert(writer:create("/c", "1", { parents = true }))
    local tree = loaded(session, "/c")
    local ends = env.start(function() return writer:set("/c", "2") end)
    zk.sleep(0) -- it is sent; nothing is handled from here on
    local turns = 0
    while tree:age() <= 10 / 4 and turns < 60 do
      os.execute("sleep 1")
      turns = turns + 1
    end
    assert.equal("1", (tree:get()))
    assert.is_true(tree:age() > 10 / 4, tree:age())
    assert(ends())
    await(tree, function() return tree:get() == "2" end)
  end))

  it("is not current while an event waits", run(function()
    local namespace = env.namespace()
    local session, writer = env.session { namespace = namespace, timeout = 40 }, env.session { namespace = namespace }
    assert(writer:create("/c", "1", { parents = true }))
    local tree = loaded(session, "/c")
    env.eventually("it is current", function() return tree:age() == 0 end)
    local ends = env.start(function() return writer:set("/c", "2") end)
    zk.sleep(0) -- it is sent; nothing is handled from here on
    local turns = 0
    while tree:age() == 0 and turns < 90 do
      os.execute("sleep 0.1")
      turns = turns + 1
    end
    assert.is_true(tree:age() > 0)
    assert.equal("1", (tree:get()))
    assert(ends())
    await(tree, function() return tree:get() == "2" end)
  end))

  it("survives the loss of the session, and is read again", run(function()
    local session, writer = pair()
    assert(writer:create("/c/a", "1", { parents = true }))
    assert(writer:create("/c/b", "1"))
    local tree = loaded(session, "/c")
    local changes, first = tree:changes(), session.id
    for _ = 1, 3 do told(changes) end
    assert(testing.expire(env.server(), first))
    env.eventually("the session is lost", function() return session.id ~= first end)
    assert.equal("1", (tree:get("/c/a")))
    assert(writer:set("/c/a", "2"))
    assert(writer:delete("/c/b"))
    local all = { [(told(changes))] = true, [(told(changes))] = true }
    assert.same({ ["changed /c/a 2"] = true, ["removed /c/b nil"] = true }, all)
    env.eventually("it is current", function() return tree:age() == 0 end)
    assert(writer:set("/c/a", "3"))
    assert.equal("changed /c/a 3", (told(changes)))
  end))

  it("ends with the handle, and leaves no watch", run(function()
    local session, writer = pair()
    assert(writer:create("/c/a", "1", { parents = true }))
    for turn = 1, 3 do
      local tree = loaded(session, "/c")
      assert.is_true(session:usage().watched_bytes > 0)
      local changes = tree:changes()
      told(changes)
      if turn == 1 then tree:close() end
      if turn == 2 then changes = nil end
      tree = nil -- luacheck: ignore
      env.eventually("nothing is watched", function()
        changes = turn < 3 and changes or nil
        collect()
        return session:usage().watched_bytes == 0
      end)
    end
  end))

  it("reports `full` if the session may watch no more, and continues when there is room", run(function()
    local session, writer = pair()
    assert(writer:create("/c", ""))
    local parts, name = {}, ("n"):rep(900)
    for i = 1, 400 do parts[i] = { "create", ("/c/%s%d"):format(name, i), "" } end
    assert(writer:multi(parts))
    local tree = session:tree("/c")
    assert.matches("^tree:ready /c: ", fails("full", tree:ready(LIMIT)))
    assert.equal("full", tree.problem)
    assert.equal(math.huge, tree:age())
    for i = 1, 400 do parts[i] = { "delete", ("/c/%s%d"):format(name, i) } end
    assert(writer:multi(parts))
    env.eventually("it is loaded", function() return tree:ready(LIMIT) end)
    assert.is_nil(tree.problem)
    assert.same({}, tree:children())
  end))
end)

describe("misuse of a tree", function()
  it("raises at the caller's line", run(function()
    local session = pair()
    raises("bad argument #1 to 'tree'", function() session:tree("c") end)
    raises("bad argument #2 to 'tree' %(option 'depth'", function() session:tree("/c", { depth = 1001 }) end)
    raises("bad argument #2 to 'tree' %(option 'depth'", function() session:tree("/c", { depth = 0.5 }) end)
    raises("bad argument #2 to 'tree' %(option 'depth'", function() session:tree("/c", { depth = -1 }) end)
    raises("unknown option 'deep'", function() session:tree("/c", { deep = 1 }) end)
    local tree = session:tree("/c")
    raises("bad argument #1 to 'get'", function() tree:get("c") end)
    raises("bad argument #1 to 'children'", function() tree:children(1) end)
    raises("bad argument #1 to 'await'", function() tree:await(1) end)
    raises("bad argument #2 to 'await'", function() tree:await(print, "1") end)
    raises("bad argument #1 to 'ready'", function() tree:ready(-1) end)
    raises("bad argument #1 to 'next'", function() tree:changes():next("1") end)
    raises("bad self", function() tree.get(session) end)
  end))
end)
