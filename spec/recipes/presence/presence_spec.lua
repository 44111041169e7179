-- Presences, on a real server.
-- Tags: sanitize

local collect = require "spec.support.collect"
local testing = require "zkrecipes.testing"
local zk = require "zkrecipes"
local env = require "spec.support.env"
local run, fails, raises = env.run, env.fails, env.raises

local LIMIT = 200

-- Two sessions on one namespace: the presence's, and an observer's.
local function pair(options)
  local namespace = env.namespace()
  return env.session { namespace = namespace, log = options and options.log }, env.session { namespace = namespace }
end

local function there(session, path, data)
  local presence = assert(session:presence(path, data))
  assert.is_true(presence:ready(LIMIT))
  return presence
end

local function await_data(session, path, data)
  env.eventually(path .. " has " .. tostring(data), function()
    assert(session:sync(path))
    return (session:get(path)) == data
  end)
end

describe("a presence", function()
  it("creates an ephemeral znode and its parents, updates it, and leaves", run(function()
    local session, other = pair()
    local presence = session:presence("/a/b/me", "1")
    assert.equal("joining", presence:state())
    assert.is_true(presence:ready(LIMIT))
    assert.equal("present", presence:state())
    assert.equal("/a/b/me", presence.path)
    assert.equal(session, presence.session)
    assert.is_nil(presence.problem)
    await_data(other, "/a/b/me", "1")
    local _, stat = other:get("/a/b/me")
    assert.equal(session.id, stat.ephemeral_owner)
    assert.is_true(presence:update("\0two"))
    await_data(other, "/a/b/me", "\0two")
    assert.is_true(presence:update(nil, LIMIT))
    assert(other:sync("/a/b/me"))
    assert.is_nil((other:get("/a/b/me")))
    assert.is_true(presence:leave())
    assert(other:sync("/a/b/me"))
    fails("no_node", other:get("/a/b/me"))
    assert.equal("left", presence:state())
    assert.is_true(presence:leave(0))
    assert.matches("presence:update /a/b/me: the presence has left", fails("closed", presence:update("3")))
    fails("closed", presence:ready())
    session:close()
    assert.is_true(presence:leave())
    fails("closed", presence:update("3"))
    fails("closed", session:presence("/x"))
  end))

  it("is created again if another client deletes it, and written again if another client writes it", run(function()
    local session, other = pair()
    local presence = there(session, "/p", "mine")
    for _ = 1, 5 do
      assert(other:delete("/p"))
      await_data(other, "/p", "mine")
      assert(other:set("/p", "theirs"))
      await_data(other, "/p", "mine")
    end
    assert(presence:leave(LIMIT))
  end))

  it("waits while a stranger's znode is in the way, reports that, and then takes its place", run(function()
    local notes = {}
    local session, other = pair { log = function(level, text) notes[#notes + 1] = level .. " " .. text end }
    for _, options in ipairs { { ephemeral = true }, {} } do
      assert(other:create("/p", "stranger", options))
      local presence = session:presence("/p", "mine")
      env.eventually("blocked", function() return presence:state() == "blocked" end)
      assert.matches("presence:ready /p: another znode is in the way", fails("timeout", presence:ready(0.2)))
      fails("timeout", presence:update("newer", 0.1))
      assert.equal("stranger", (other:get("/p")))
      assert(other:set("/p", "stranger 2"))
      assert(other:delete("/p"))
      assert(presence:ready(LIMIT))
      await_data(other, "/p", "newer")
      assert(presence:leave())
    end
    local told = 0
    for _, note in ipairs(notes) do told = told + (note:find("presence /p: a znode of .- is in the way") and 1 or 0) end
    assert.equal(2, told)
    session:close()
  end))

  it("leaves while a stranger is in the way, and does not touch its znode", run(function()
    local session, other = pair()
    assert(other:create("/p", "stranger"))
    local presence = session:presence("/p", "mine")
    env.eventually("blocked", function() return presence:state() == "blocked" end)
    assert(presence:leave())
    assert.equal("stranger", (other:get("/p")))
    env.eventually("nothing is watched", function() return session:usage().watched_bytes == 0 end)
  end))

  it("is unique at its path, in one session and in two; the other presences follow it", run(function()
    local session, other = pair()
    local first = there(session, "/p", "1")
    local second, third = session:presence("/p", "2"), other:presence("/p", "3")
    env.eventually("both wait", function() return second:state() == "blocked" and third:state() == "blocked" end)
    fails("timeout", second:ready(0))
    assert(first:leave())
    env.eventually("one has it", function() return second:state() == "present" or third:state() == "present" end)
    local winner, loser = second, third
    if third:state() == "present" then winner, loser = third, second end
    assert.not_equal("present", loser:state())
    assert(winner:leave())
    assert(loser:ready(LIMIT))
    assert(loser:leave())
  end))

  it("comes back in the next session", run(function()
    local session, other = pair()
    local presence = there(session, "/p", "1")
    for turn = 1, 3 do
      local id = session.id
      assert(testing.expire(env.server(), id))
      env.eventually("lost", function() return session.id and session.id ~= id end)
      assert(presence:ready(LIMIT))
      assert(other:sync("/p"))
      local data, stat = other:get("/p")
      assert.equal(tostring(turn), data)
      assert.equal(session.id, stat.ephemeral_owner)
      assert(presence:update(tostring(turn + 1)))
    end
    assert(presence:leave())
  end))

  it("leaves when it is collected, and by <close>", run(function()
    local session, other = pair()
    there(session, "/p", "1")
    env.eventually("gone", function()
      collect()
      return not other:exists("/p")
    end)
    local load_text = rawget(_G, "loadstring") or load
    local body = load_text "local presence <close> = ... return presence:ready(200)"
    if body then -- Lua 5.4
      assert(body(session:presence("/p", "2")))
      env.eventually("gone", function() return not other:exists("/p") end)
    end
    env.eventually("no object is left", function() return session:usage().ephemeral_bytes == 0 end)
  end))

  it("reports missing rights to create or to write, and succeeds when it gets them", run(function()
    local session, other = pair()
    assert(other:create("/d", "", { acl = { { perms = "ra", scheme = "world", id = "anyone" } } }))
    local presence = session:presence("/d/p", "1")
    assert.matches("presence:ready /d/p: ", fails("no_auth", presence:ready(LIMIT)))
    assert.equal("no_auth", presence.problem)
    fails("no_auth", presence:update("2"))
    assert(other:set_acl("/d", "open"))
    env.eventually("there", function() return presence:state() == "present" end)
    await_data(other, "/d/p", "2")
    assert(other:set_acl("/d/p", { { perms = "a", scheme = "world", id = "anyone" } }))
    fails("no_auth", presence:update("3"))
    assert(other:set_acl("/d/p", "open"))
    await_data(other, "/d/p", "3")
    env.eventually("the answer that ends the problem has come", function() return presence.problem == nil end)
    assert(presence:leave())
  end))

  it("refuses data that are too large, and keeps its data", run(function()
    local session, other = pair()
    fails("too_large", session:presence("/p", ("x"):rep(1100000)))
    local presence = there(session, "/p", "1")
    fails("too_large", presence:update(("x"):rep(1100000)))
    assert.equal("1", (other:get("/p")))
    assert(presence:update(("x"):rep(900000)))
    assert(presence:leave())
    local parent = there(session, "/q", "1")
    fails("no_children_for_ephemerals", session:presence("/q/below"):ready(LIMIT))
    assert(parent:leave())
  end))

  it("survives a broken connection, and keeps the order of updates from many coroutines", run(function()
    local namespace, proxy = env.namespace(), env.proxy()
    local session, other = env.session { hosts = proxy.hosts, namespace = namespace }, env.session { namespace = namespace }
    local presence = there(session, "/p", "0")
    proxy:refuse()
    proxy:cut()
    fails("connection_loss", presence:update("cut", 0.1))
    proxy:heal()
    assert(presence:ready(LIMIT))
    await_data(other, "/p", "cut")
    local tasks = {}
    for i = 1, 50 do tasks[i] = zk.spawn(function() return presence:update(tostring(i)) end) end
    for i = 1, 50 do assert(tasks[i]:wait()) end
    await_data(other, "/p", "50")
    assert(presence:leave())
    session:close()
  end))

  it("raises misuse at the caller's line", run(function()
    local session = env.session()
    raises("path", function() session:presence("no path") end)
    raises("root", function() session:presence("/") end)
    raises("bad argument #2 to 'presence'", function() session:presence("/p", {}) end)
    local presence = session:presence("/p")
    raises("bad argument #1 to 'update'", function() presence:update({}) end)
    raises("bad argument #1 to 'ready'", function() presence:ready(-1) end)
    raises("bad argument #1 to 'leave'", function() presence:leave("x") end)
    assert(presence:leave())
  end))

  it("leaves nothing: no object, no watch, no count", run(function()
    local session = env.session()
    for i = 1, 20 do assert(there(session, "/p" .. i, "1"):leave()) end
    assert.equal(0, session:usage().ephemeral_bytes)
    env.eventually("nothing is watched", function() return session:usage().watched_bytes == 0 end)
    session:close()
  end))
end)
