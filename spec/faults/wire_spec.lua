-- The fair lock when answers get lost: a proxy between client and server drops a chosen request
-- or reply and cuts the connection. Whatever is lost: one node, one holder, nothing left.
-- Tags: sanitize

local zk = require "zkrecipes"
local env = require "spec.support.env"
local run, fails = env.run, env.fails

local function through_proxy(proxy, namespace, timeout)
  return env.session { hosts = proxy.hosts, namespace = namespace, timeout = timeout or 100 }
end

describe("a lock whose messages get lost", function()
  local proxy, namespace, direct
  before_each(function()
    proxy, namespace = env.proxy(), env.namespace()
    direct = env.session { namespace = namespace }
    assert(direct:create("/l", nil, { parents = true }))
  end)
  after_each(function()
    proxy:clear()
    proxy:heal()
    direct:close()
  end)

  for _, fault in ipairs { "drop_reply", "drop_request" } do
    for _, op in ipairs { "create2", "getChildren2" } do
      it("is acquired with one node: " .. fault .. " of " .. op, run(function()
        local session = through_proxy(proxy, namespace)
        assert(session:connected(200))
        proxy[fault](proxy, op, 1)
        local hold = assert(session:lock("/l"):acquire(200))
        assert.are.equal(1, proxy:fired())
        assert.are.equal(1, #direct:children("/l"))
        assert.is_true(hold:valid())
        assert.are.equal(hold.token, direct:exists(hold.path).czxid)
        hold:release()
        env.queue_of(direct, "/l", 0)
        session:close()
      end))

      it("leaves nothing when it is given up: " .. fault .. " of " .. op, run(function()
        local blocker = assert(direct:lock("/l"):acquire())
        local session = through_proxy(proxy, namespace)
        assert(session:connected(200))
        proxy[fault](proxy, op, 1)
        env.late(session:lock("/l"):acquire(0.05))
        env.queue_of(direct, "/l", 1)
        blocker:release()
        session:close()
      end))
    end

    it("is released within a reconnect: " .. fault .. " of delete", run(function()
      local session = through_proxy(proxy, namespace)
      local hold = assert(session:lock("/l"):acquire(200))
      local next_one = env.start(function() return direct:lock("/l"):acquire(150) end)
      env.queue_of(direct, "/l", 2)
      proxy[fault](proxy, "delete", 1)
      local from, id = zk.now(), session.id
      hold:release()
      assert.is_true(zk.now() - from < 60) -- never blocks; the session would last 100 s
      local mine = assert(next_one())
      assert.are.equal(id, session.id) -- by a reconnect, not by the end of the session
      env.eventually("the proxy has seen the reply", function() return proxy:fired() == 1 end)
      mine:release()
      session:close()
    end))

    it("is handed over if the watch's read is lost: " .. fault .. " of getData", run(function()
      local blocker = assert(direct:lock("/l"):acquire())
      local session = through_proxy(proxy, namespace)
      assert(session:connected(200))
      proxy[fault](proxy, "getData", 1)
      local wait = env.start(function() return session:lock("/l"):acquire(200) end)
      env.eventually("the fault", function() return proxy:fired() == 1 end)
      blocker:release()
      local hold = assert(wait())
      assert.is_true(hold:valid())
      hold:release()
      env.queue_of(direct, "/l", 0)
      session:close()
    end))

    it("reports a plain write with unknown outcome: " .. fault .. " of setData", run(function()
      local session = through_proxy(proxy, namespace)
      assert(session:connected(200))
      proxy[fault](proxy, "setData", 1)
      fails("connection_loss", session:set("/l", "x"))
      assert.are.equal(fault == "drop_reply" and "x" or nil, (direct:get("/l")))
      -- a read is sent again
      proxy[fault](proxy, "getData", 1)
      assert.is_truthy(select(2, session:get("/l")))
      session:close()
    end))
  end

  it("is handed over if the contender ahead leaves while the waiter is cut off", run(function()
    local session = through_proxy(proxy, namespace)
    local blocker = assert(direct:lock("/l"):acquire())
    local wait = env.start(function() return session:lock("/l"):acquire(200) end)
    env.queue_of(direct, "/l", 2)
    env.eventually("the waiter watches", function() return proxy:counts().getData >= 1 end)
    assert(session:sync("/")) -- and knows it
    proxy:refuse()
    proxy:cut()
    env.eventually("the link is seen to be lost", function() return session.state == "suspended" end)
    blocker:release()
    env.queue_of(direct, "/l", 1)
    proxy:heal()
    local hold = assert(wait())
    hold:release()
    session:close()
  end))

  it("survives random cuts without a leak, fifty times", run(function()
    local session = through_proxy(proxy, namespace)
    local lock = session:lock("/l")
    for round = 1, 50 do
      local cutter = env.start(function()
        zk.sleep(round % 10 * 0.0003)
        proxy:cut()
      end)
      local hold, message, code = lock:acquire(200)
      assert(hold or code == "lost", message)
      if hold then
        hold:release()
      end
      cutter()
    end
    env.queue_of(direct, "/l", 0)
    session:close()
  end))

  it("is no longer valid before the server can grant it to another session", run(function()
    local timeout = 40 -- the lease ends some seconds before the session
    local session = through_proxy(proxy, namespace, timeout)
    local hold = assert(session:lock("/l"):acquire())
    assert.is_true(hold:valid())
    local told
    hold:on_lost(function() told = zk.now() end)
    local wait = env.start(function()
      local other = assert(direct:lock("/l"):acquire(200))
      return other, hold:valid() -- at the moment of the grant
    end)
    env.queue_of(direct, "/l", 2)
    proxy:blackhole()
    local from = zk.now()
    local other, both = wait()
    assert.is_false(both, "the server was faster")
    env.eventually("it is told", function() return told end)
    assert.is_true(told - from < timeout, told - from)
    assert.is_true(other.token > hold.token)
    proxy:heal()
    env.eventually("a new session", function() return session.state == "connected" end)
    fails("lost", hold:set("/l", "stale"))
    other:release()
    assert(session:lock("/l"):acquire(200)):release()
    session:close()
  end))

  -- A busy machine may lose such a short session in one try. Without heartbeats every try loses it.
  local function outlives_its_lease()
    env.eventually("a hold of a strict session outlives its lease", function()
      local session = env.session { hosts = proxy.hosts, namespace = namespace, timeout = 4, strict = true }
      local hold, from = session:lock("/l"):acquire(200), zk.now()
      while hold and hold:valid() and zk.now() - from < 4.5 do zk.sleep(0.01) end
      local outlived = hold and hold:valid()
      session:close()
      return outlived
    end)
  end

  it("proves its lease by writes in a strict session", run(function()
    outlives_its_lease()
    assert.is_true(proxy:sent().delete >= 5)
  end))

  it("proves its lease also if other znodes are in the way of its heartbeats", run(function()
    local maker = zk.session { hosts = env.server().hosts, timeout = 60 }
    assert(maker:create("/zkrecipes-heartbeat/none/child", "", { parents = true }))
    outlives_its_lease()
    assert(maker:delete_tree("/zkrecipes-heartbeat"))
    maker:close()
  end))

  it("keeps its hold during a short cut", run(function()
    local session = through_proxy(proxy, namespace)
    local hold = assert(session:lock("/l"):acquire())
    local id, seen = session.id, {}
    local watch = env.start(function()
      local next_state = session:states() -- on Lua 5.1 `for ... in` cannot wait
      repeat
        seen[#seen + 1] = next_state()
        assert.is_true(seen[#seen] == "closed" or hold:valid())
      until #seen == 4 or seen[#seen] == "closed"
    end)
    proxy:cut()
    watch()
    assert.are.same({ "connecting", "connected", "suspended", "connected" }, seen)
    assert.are.equal(id, session.id)
    assert.is_true(hold:valid())
    hold:release()
    session:close()
  end))
end)
