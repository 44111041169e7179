-- After a reconnect, one request registers all watches of a session again. It must never be longer than a server accepts.
-- Tags: sanitize

local testing = require "zkrecipes.testing"
local env = require "spec.support.env"
local run, fails = env.run, env.fails

-- Calls a function with one long path after the other until the session is full. Returns how often it succeeded.
local function fill(act)
  for i = 1, 2000 do
    local _, message, code = act(("/%04d"):format(i) .. ("x"):rep(995))
    if code == "full" then
      assert.matches("watched paths", message)
      return i - 1
    end
  end
  error("never full")
end

-- Breaks the connection once. The session, its hold and its place in a queue must survive.
local function survives(session, proxy, hold, other)
  local id = session.id
  assert(session:exists("/"))
  proxy:reset()
  proxy:cut()
  assert(proxy:wait_for("connections", 1))
  assert(session:sync("/"))
  assert.are.equal(id, session.id)
  assert.is_true(hold:valid())
  local theirs = assert(other:lock("/theirs"):acquire(200))
  local wait = env.start(function() return session:lock("/theirs"):acquire(200) end)
  env.queue_of(other, "/theirs", 2)
  theirs:release()
  assert(wait()):release()
  hold:release()
end

describe("a session with as many watches as it may have", function()
  local proxy, session, other, hold

  local function begin()
    proxy = env.proxy()
    local namespace = env.namespace()
    session = env.session { hosts = proxy.hosts, timeout = 100, namespace = namespace }
    other = env.session { namespace = namespace }
    hold = assert(session:lock("/held"):acquire(200))
  end

  local function finish()
    survives(session, proxy, hold, other)
    session:close()
    other:close()
  end

  it("survives a reconnect with watches on znodes and their children", run(function()
    begin()
    local kept = {}
    assert(fill(function(path)
      assert(other:create(path, ""))
      local watch, message, code = session:watch(path)
      kept[#kept + 1] = watch
      return watch, message, code
    end) > 250)
    finish()
    for _, watch in ipairs(kept) do watch:close() end
  end))

  it("has room for any number of closed watches, and survives a reconnect then", run(function()
    begin()
    for i = 1, 1500 do
      local watch = assert(session:watch(("/%04d"):format(i) .. ("x"):rep(995)))
      if i % 2 == 0 then assert(session:exists("/")) end
      watch:close()
    end
    finish()
  end))

  it("keeps a reserve for locks when await_gone is refused", run(function()
    begin()
    assert(fill(function(path)
      assert(other:create(path, "", { ephemeral = true }))
      local wait, task = env.start(function() return session:await_gone(path) end)
      assert(session:exists("/"))
      if task.done then return wait() end
      return true
    end) > 500)
    finish()
  end))

  it("has room again after watches were closed, and in a new session", run(function()
    begin()
    local kept = {}
    local function keep(path)
      local watch, message, code = session:watch(path)
      kept[#kept + 1] = watch
      return watch, message, code
    end
    local first = fill(keep)
    kept[1]:close()
    env.eventually("room", function() return session:watch("/" .. ("y"):rep(900)) end)
    for _, watch in ipairs(kept) do watch:close() end
    env.eventually("all of it", function() return session:usage().watched_bytes < 2000 end)
    kept = {}
    assert.is_true(math.abs(fill(keep) - first) <= 1)
    for _, watch in ipairs(kept) do watch:close() end
    local id = session.id
    assert(testing.expire(env.server(), id))
    env.eventually("a new session", function() return session.id ~= id and session.state == "connected" end)
    assert.is_true(math.abs(fill(function(again) return session:watch((again:gsub("x", "z"))) end) - first) <= 1)
    session:close()
    other:close()
  end))
end)

describe("a znode that is replaced while the connection is down", function()
  it("counts as lost for its holder, and as gone for its waiters", run(function()
    local proxy, namespace = env.proxy(), env.namespace()
    local session = env.session { hosts = proxy.hosts, timeout = 100, namespace = namespace }
    local other = env.session { namespace = namespace }
    local hold = assert(session:lock("/u", { fair = false }):acquire(200))
    assert(other:create("/e", "", { ephemeral = true }))
    proxy:reset()
    local lost = env.start(function() return hold:lost(300) end)
    local gone = env.start(function() return session:await_gone("/e", 300) end)
    env.eventually("both reads", function() return proxy:counts().getData == 2 end)
    assert(session:exists("/"))
    proxy:refuse()
    proxy:cut()
    assert(other:delete("/u"))
    assert(other:delete("/e"))
    assert(other:create("/e", "", { ephemeral = true }))
    local theirs = assert(other:lock("/u", { fair = false }):acquire(200))
    proxy:heal()
    assert.are.equal("lost", lost())
    assert.is_true(gone())
    assert.is_false(hold:valid())
    assert.is_true(theirs:valid())
    session:close()
    other:close()
  end))
end)

describe("a hold whose own znode may not be read", function()
  it("fails hold:lost; on_lost reports the session's loss", run(function()
    local session = env.session { acl = { { perms = "wcda", scheme = "world", id = "anyone" } } }
    local lock = session:lock("/l", { fair = false })
    local hold, told = assert(lock:acquire(200)), nil
    hold:on_lost(function(_, why) told = why end)
    fails("no_auth", hold:lost(200))
    assert.is_true(hold:valid())
    assert.is_nil(told)
    assert(testing.expire(env.server(), session.id))
    env.eventually("lost", function() return told end)
    assert.are.equal("lost", told)
    assert.are.equal("lost", (hold:lost()))
    session:close()
  end))
end)

describe("a watch on a znode that may not be read", function()
  it("ends, and sends no more requests", run(function()
    local proxy, namespace = env.proxy(), env.namespace()
    local session = env.session { hosts = proxy.hosts, timeout = 100, namespace = namespace }
    local other = env.session { namespace = namespace }
    assert(other:create("/n", "", { parents = true, acl = { { perms = "wcda", scheme = "world", id = "anyone" } } }))
    local watch = session:watch("/n")
    fails("no_auth", watch:wait(200))
    proxy:reset()
    fails("no_auth", watch:wait(200))
    assert.are.equal(0, proxy:sent().requests)
    watch:close()
    session:close()
    other:close()
  end))
end)

describe("await_gone with a limit of 0", function()
  it("reads the znode, and leaves no watch", run(function()
    local proxy, namespace = env.proxy(), env.namespace()
    local session = env.session { hosts = proxy.hosts, timeout = 100, request_timeout = 100, namespace = namespace }
    assert(session:create("/here", "", { ephemeral = true, parents = true }))
    assert(session:create("/stays", ""))
    proxy:reset()
    assert.is_true(session:await_gone("/nothing", 0))
    fails("timeout", session:await_gone("/here", 0))
    fails("conflict", session:await_gone("/stays", 0))
    assert.are.equal(3, proxy:sent().exists)
    assert.are.equal(3, proxy:sent().requests)
    assert(session:delete("/here"))
    assert(session:sync("/"))
    assert.are.equal(0, proxy:counts().events)
    session:close()
    fails("closed", session:await_gone("/here", 0))
  end))
end)

describe("add_auth", function()
  it("sends the same credential only once", run(function()
    local session = env.session()
    assert(session:add_auth("digest", "ann:secret"))
    local before = env.blocks()
    for _ = 1, 100 do assert.is_true(session:add_auth("digest", "ann:secret")) end
    assert.is_true(env.blocks() - before < 20)
    assert(session:add_auth("digest", "bob:secret"))
    assert(session:create("/private", "x", { acl = "creator", parents = true }))
    session:close()
  end))
end)
