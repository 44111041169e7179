-- The unfair lock on a real server: the client that has created the node holds the lock.
-- Tags: sanitize

local zk = require "zkrecipes"
local env = require "spec.support.env"
local proxies = require "spec.support.proxy"
local testing = require "zkrecipes.testing"
local run, fails = env.run, env.fails

local UNFAIR = { fair = false, data = "me" }

describe("the unfair lock", function()
  it("is the node of its path, and excludes", run(function()
    local session = env.session()
    local other = session:lock("/a/b/l", { fair = false })
    local hold = assert(session:lock("/a/b/l", UNFAIR):acquire())
    assert.are.equal("/a/b/l", hold.path)
    local data, stat = assert(session:get("/a/b/l"))
    assert.are.same({ "me", hold.token, session.id }, { data, stat.czxid, stat.ephemeral_owner })
    assert.is_true(hold:valid())
    fails("timeout", other:acquire(0))
    env.late(other:acquire(0.05))
    hold:release()
    local second = assert(other:acquire(200))
    assert.is_true(second.token > hold.token)
    assert(second:create("/x", "guarded"))
    second:release()
    session:close()
  end))

  it("is granted to all waiters of all sessions, one at a time", run(function()
    local namespace = env.namespace()
    local waits, inside, turns, last = {}, 0, 0, ""
    for i = 1, 60 do
      local session = i % 20 == 1 and env.session { namespace = namespace } or waits.session
      waits.session = session
      waits[i] = env.start(function()
        session:lock("/l", UNFAIR):with(600, function(hold)
          inside = inside + 1
          assert.are.equal(1, inside)
          assert.is_true(hold.token > last)
          last = hold.token
          zk.sleep(0)
          inside, turns = inside - 1, turns + 1
        end)
      end)
    end
    for i = 1, 60 do waits[i]() end
    assert.are.equal(60, turns)
    env.eventually("the znode is gone", function() return waits.session:exists("/l") == false end)
  end))

  it("names its holder", run(function()
    local session = env.session()
    local lock = session:lock("/l", UNFAIR)
    assert.are.same({}, assert(lock:contenders()))
    local hold = assert(lock:acquire())
    local all = assert(lock:contenders())
    assert.are.same({ 1, "me", true, hold.token }, { #all, all[1].data, all[1].holding, all[1].token })
    hold:release()
  end))

  it("may be the namespace's own znode", run(function()
    local session = env.session()
    local lock = session:lock("/", UNFAIR)
    local hold = assert(lock:acquire(200))
    assert.are.same({ "/", "/" }, { hold.path, assert(lock:contenders())[1].path })
    hold:release()
  end))

  it("refuses the path of a fair lock, and says why", run(function()
    local session = env.session()
    local unfair, fair = session:lock("/l", UNFAIR), session:lock("/l")
    local hold = assert(unfair:acquire())
    fails("no_children_for_ephemerals", fair:acquire(200))
    hold:release()
    env.eventually("it is gone", function() return session:exists("/l") == false end)
    hold = assert(fair:acquire())
    assert.matches("not ephemeral", fails("conflict", unfair:acquire(200)))
    assert.matches("not ephemeral", fails("conflict", unfair:acquire(0)))
    hold:release()
  end))

  it("is canceled, and lost with its session", run(function()
    local namespace = env.namespace()
    local session, other = env.session { namespace = namespace }, env.session { namespace = namespace }
    local hold = assert(session:lock("/l", UNFAIR):acquire())
    local lock = other:lock("/l", UNFAIR)
    local wait = env.start(function() return lock:acquire() end)
    env.eventually("it waits", function() return #lock:attempts() == 1 end)
    assert.are.equal(1, lock:cancel())
    fails("canceled", wait())
    wait = env.start(function() return lock:acquire(200) end)
    session:close()
    assert.is_false(hold:valid())
    assert(wait()):release()
  end))

  it("deletes no other contender's node if the answer to its own delete was lost", run(function()
    local proxy, namespace = env.proxy(), env.namespace()
    local session = env.session { hosts = proxy.hosts, namespace = namespace }
    local other = env.session { namespace = namespace }
    local hold = assert(session:lock("/l", UNFAIR):acquire())
    proxy:drop_reply("delete", 1)
    hold:release()
    env.eventually("the answer is lost", function() return proxy:fired() == 1 end)
    local second = assert(other:lock("/l", UNFAIR):acquire(200))
    assert(session:sync("/")) -- connected again, and all repeated requests are answered
    assert(session:get("/l"))
    assert.is_true(second:valid())
    assert(second:create("/x", ""))
    second:release()
  end))

  it("deletes no other contender's node when its own was deleted by hand", run(function()
    local namespace = env.namespace()
    local one, two = env.session { namespace = namespace }, env.session { namespace = namespace }
    local three = env.session { namespace = namespace }
    for _ = 1, 5 do
      local first = assert(one:lock("/l", UNFAIR):acquire(200))
      assert(two:delete("/l"))
      local second = assert(two:lock("/l", UNFAIR):acquire(200))
      first:release()
      -- In the same session the next contender waits until the clean-up has ended.
      env.late(one:lock("/l", UNFAIR):acquire(0.3))
      fails("timeout", three:lock("/l", UNFAIR):acquire(0))
      assert.are.equal(second.token, assert(three:exists("/l")).czxid)
      second:release()
    end
  end))

  it("finds its own node if the answer to the create was lost", run(function()
    local proxy = env.proxy()
    local session = env.session { hosts = proxy.hosts }
    assert(session:connected(200))
    proxy:drop_reply("create2", 1)
    local hold = assert(session:lock("/l", UNFAIR):acquire(200))
    assert.are.equal(1, proxy:fired())
    local _, stat = assert(session:get("/l"))
    assert.are.equal(stat.czxid, hold.token)
    hold:release()
  end))

  describe("in requests", function()
    local server, proxy, session, other

    -- The ticks are so long that a session has a minute. So a busy machine does not lose it while the connection is frozen.
    setup(function()
      server = assert(testing.start { tick_time = 3000 })
      proxy = assert(proxies.start(server))
    end)

    teardown(function()
      proxy:stop()
      server:stop()
    end)

    before_each(function()
      local options = { hosts = proxy.hosts, namespace = env.namespace(), timeout = 60, tick = server.tick, request_timeout = 100 }
      proxy:heal()
      session = env.session(options)
      options.hosts = server.hosts
      other = env.session(options)
      assert(session:create("/d", nil, { parents = true }))
      assert(other:connected(200))
      proxy:reset()
    end)

    -- The requests since the last call.
    local function spent()
      assert(session:get_acl("/d")) -- when this is answered, all earlier requests have arrived
      local counts = proxy:sent()
      proxy:reset()
      return { counts.create2, counts.delete, counts.exists, counts.getData, counts.getChildren2 }
    end

    it("free: one write; release: one read and one write; a failing try: one read", run(function()
      local hold = assert(session:lock("/d/l", UNFAIR):acquire())
      assert.are.same({ 1, 0, 0, 0, 0 }, spent())
      hold:release()
      env.eventually("it is gone", function() return other:exists("/d/l") == false end)
      assert.are.equal(1, proxy:sent().sync)
      assert.are.same({ 0, 1, 1, 0, 0 }, spent())
      hold = assert(other:lock("/d/l", UNFAIR):acquire())
      fails("timeout", session:lock("/d/l", UNFAIR):acquire(0))
      assert.are.same({ 0, 0, 1, 0, 0 }, spent())
      hold:release()
    end))

    it("fifty waiters: one write and one watch for all of them", run(function()
      local hold = assert(other:lock("/d/l", UNFAIR):acquire())
      local lock, waits = session:lock("/d/l", UNFAIR), {}
      for i = 1, 50 do
        waits[i] = env.start(function() assert(lock:acquire(300)):release() end)
      end
      env.eventually("the watch is set", function() return proxy:counts().getData == 1 end)
      assert.are.same({ 1, 0, 0, 1, 0 }, spent())
      hold:release()
      for i = 1, 50 do waits[i]() end
      env.eventually("the last one has left", function() return other:exists("/d/l") == false end)
      local writes = spent()
      assert.are.same({ 50, 50 }, { writes[1], writes[2] })
    end))

    -- There are so many waiters that the first ones continue before the last one is woken.
    it("two thousand waiters: one write and one watch for all of them", run(function()
      local hold = assert(other:lock("/d/l", UNFAIR):acquire())
      local lock, waits = session:lock("/d/l", UNFAIR), {}
      proxy:freeze("down")
      for i = 1, 2000 do
        waits[i] = env.start(function() fails("canceled", lock:acquire(900)) end)
      end
      env.eventually("all wait", function() return #lock:attempts() == 2000 end)
      proxy:heal()
      env.eventually("the watch is set", function() return proxy:counts().getData == 1 end)
      assert.are.same({ 1, 0, 0, 1, 0 }, spent())
      assert.are.equal(2000, lock:cancel())
      for i = 1, 2000 do waits[i]() end
      hold:release()
    end))
  end)
end)
