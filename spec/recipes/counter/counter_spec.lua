-- The counter on a real server.
-- Tags: sanitize

local collect = require "spec.support.collect"
local zk = require "zkrecipes"
local testing = require "zkrecipes.testing"
local env = require "spec.support.env"
local run, fails, raises = env.run, env.fails, env.raises

local MOST = 2 ^ 53

describe("a counter", function()
  it("counts from 0, creates its znode and the parents, and stores decimal text", run(function()
    local session = env.session()
    local counter = session:counter("/a/b/c")
    assert.equal("/a/b/c", counter.path)
    assert.equal(0, counter:get())
    assert.is_false(session:exists("/a"))
    assert.equal(5, counter:add(5))
    assert.equal(3, counter:add(-2))
    assert.equal("3", session:get("/a/b/c"))
    assert.equal(3, counter:get())
    assert.is_true(counter:set(-7))
    assert.equal("-7", session:get("/a/b/c"))
    assert.is_true(counter:compare_and_set(-7, 0))
    assert.same({ false, 0 }, { counter:compare_and_set(-7, 1) })
    session:close()
  end))

  it("counts the adds of many coroutines in two sessions, with one object and with many", run(function()
    local namespace = env.namespace()
    local one, other = env.session { namespace = namespace }, env.session { namespace = namespace }
    local shared, seen, adders = one:counter("/c"), {}, {}
    for i = 1, 12 do
      local counter = i <= 4 and shared or (i % 2 == 0 and one or other):counter("/c")
      adders[i] = function()
        for _ = 1, 5 do
          local sum = assert(counter:add(1))
          assert.is_nil(seen[sum])
          seen[sum] = true
        end
      end
    end
    zk.all(adders)
    assert.equal(60, #seen)
    assert.equal(60, shared:add(0))
    one:close()
    other:close()
  end))

  it("has values from -2^53 to 2^53, exact in each Lua", run(function()
    local session = env.session()
    local counter = session:counter("/c")
    assert.is_true(counter:set(MOST))
    assert.equal("9007199254740992", session:get("/c"))
    assert.equal(MOST, counter:get())
    assert.matches("^counter:add /c: it holds 9007199254740992, so", fails("full", counter:add(1)))
    assert.equal(MOST - 1, counter:add(-1))
    assert.is_true(counter:compare_and_set(MOST - 1, -MOST))
    fails("full", counter:add(-1))
    assert.equal("-9007199254740992", session:get("/c"))
    assert.equal(0, counter:add(MOST))
    session:close()
  end))

  it("overwrites data that are no number only by `set`", run(function()
    local session = env.session()
    local counter = session:counter("/c")
    assert(session:create("/c"))
    assert.equal(0, counter:get()) -- kazoo's counters begin with empty data
    assert.equal(1, counter:add(1))
    for _, text in ipairs { "one", "1.5", "-", "1\n", " 1", "9007199254740993", "123456789012345678901234567890" } do
      assert(session:set("/c", text))
      local shown = text:sub(1, 32):gsub("%c", "?"):gsub("%p", "%%%0")
      assert.matches('^counter:add /c: it holds "' .. shown .. '", which is no whole number', fails("conflict", counter:add(1)))
      fails("conflict", counter:compare_and_set(1, 2))
      assert.matches("^counter:get /c: it holds", fails("conflict", counter:get()))
      assert.equal(text, session:get("/c"))
    end
    assert.is_true(counter:set(3))
    assert.equal(4, counter:add(1))
    session:close()
  end))

  it("that is deleted counts from 0 again, whatever versions its new znode has", run(function()
    local session = env.session()
    local counter, other = session:counter("/c"), session:counter("/c")
    assert.equal(3, counter:add(3))
    assert(session:delete_tree("/c"))
    assert.equal(0, counter:get())
    assert(session:create("/c", "10"))
    assert(session:set("/c", "20")) -- the version that the counter knows
    assert.equal(21, counter:add(1))
    assert.equal(22, other:add(1))
    assert(session:delete_tree("/c"))
    assert.is_true(counter:compare_and_set(0, 5))
    assert.is_true(other:set(6))
    assert.equal("6", session:get("/c"))
    session:close()
  end))

  it("leaves no mark when it is collected, and none when its session is closed", run(function()
    local namespace = env.namespace()
    local session, watcher = env.session { namespace = namespace }, env.session { namespace = namespace }
    local function count() assert(session:counter("/c"):add(1)) end
    for _ = 1, 5 do count() end
    collect(2)
    env.eventually("no mark", function() return #watcher:children("/c") == 0 end)
    local kept = session:counter("/c")
    assert(kept:add(1))
    assert.equal(1, #watcher:children("/c"))
    session:close()
    env.eventually("no mark", function() return #watcher:children("/c") == 0 end)
    assert.equal("6", watcher:get("/c"))
    watcher:close()
  end))

  it("raises misuse, and reports a closed session and missing rights", run(function()
    local session = env.session()
    local counter = session:counter("/c")
    for _, bad in ipairs { 1.5, 0 / 0, 1 / 0, MOST + 2, "1", {} } do
      raises("bad argument #1 to 'add' %(integer", function() counter:add(bad) end)
      raises("bad argument #1 to 'set' %(integer", function() counter:set(bad) end)
      raises("bad argument #2 to 'compare_and_set' %(integer", function() counter:compare_and_set(1, bad) end)
    end
    raises("bad argument #1 to 'add' %(integer expected, got nil", function() counter:add() end)
    raises("unknown option 'limit'", function() counter:add(1, { limit = 1 }) end)
    raises("below the root", function() session:counter("/") end)
    raises("path", function() session:counter("c") end)
    assert(session:create("/e", "1", { ephemeral = true }))
    fails("no_children_for_ephemerals", session:counter("/e"):add(1))
    assert(session:create("/r", "1", { acl = { { scheme = "world", id = "anyone", perms = "r" } } }))
    assert.matches("^counter:add /r: ", fails("no_auth", session:counter("/r"):add(1)))
    assert.equal(1, session:counter("/r"):get())
    session:close()
    for _, method in ipairs { "add", "get", "set" } do fails("closed", counter[method](counter, method ~= "get" and 1 or nil)) end
    fails("closed", counter:compare_and_set(0, 1))
  end))
end)

describe("a counter, when the connection breaks", function()
  local proxy, session, counter
  before_each(function()
    proxy = env.proxy()
    session = env.session { hosts = proxy.hosts }
    counter = session:counter("/c")
    assert(counter:add(1))
  end)
  after_each(function()
    proxy:clear()
    proxy:heal()
    session:close()
  end)

  for _, fault in ipairs { "drop_reply", "drop_request" } do
    it("counts once: " .. fault, run(function()
      for i = 2, 4 do
        proxy[fault](proxy, "multi")
        assert.equal(i, counter:add(1))
      end
      assert.equal(3, proxy:fired())
      proxy[fault](proxy, "multi")
      assert.is_true(counter:set(10))
      proxy[fault](proxy, "multi")
      assert.is_true(counter:compare_and_set(10, 11))
      assert.equal(5, proxy:fired())
      assert.equal("11", session:get("/c"))
    end))
  end

  it("creates another mark if the answer to the mark's create is lost", run(function()
    local other = session:counter("/c")
    proxy:drop_reply("create2")
    assert.equal(2, other:add(1))
    assert.equal(1, proxy:fired())
    env.eventually("the mark of each", function() return #session:children("/c") == 2 end)
    assert.equal(3, counter:add(1))
  end))

  it("says that the change may have been made if its limit passes", run(function()
    proxy:blackhole("down")
    local message = fails("connection_loss", counter:add(1, { timeout = 0.2 }))
    assert.matches("may or may not have been made", message)
    local waits = env.start(function() return counter:add(10) end)
    fails("connection_loss", counter:add(100, { timeout = 0.2 }))
    proxy:heal()
    local sum = waits()
    assert.is_true(sum == 11 or sum == 12, sum)
    assert.equal(sum, counter:get())
  end))

  it("continues in the next session with another mark", run(function()
    local ended = session.id
    assert(testing.expire(env.server(), session.id))
    env.eventually("a new session", function() return session.id and session.id ~= ended end)
    assert.equal(2, counter:add(1))
    assert.equal(3, counter:add(1))
    assert.is_true(counter:compare_and_set(3, 4))
  end))
end)
