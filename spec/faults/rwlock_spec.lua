-- The read/write lock when answers get lost: the downgrade, and readers that wait for it. wire_spec.lua tests the
-- requests that it shares with the lock.
-- Tags: sanitize

local zk = require "zkrecipes"
local env = require "spec.support.env"
local run, fails = env.run, env.fails

describe("a read/write lock whose messages get lost", function()
  local proxy, namespace, direct, session
  before_each(function()
    proxy, namespace = env.proxy(), env.namespace()
    direct = env.session { namespace = namespace }
    assert(direct:create("/rw", nil, { parents = true }))
    session = env.session { hosts = proxy.hosts, namespace = namespace, timeout = 100 }
    assert(session:connected(200))
  end)
  after_each(function()
    proxy:clear()
    proxy:heal()
    session:close()
    direct:close()
  end)

  local function queued(number, acquire, lock)
    local wait = env.start(acquire, lock)
    env.queue_of(direct, "/rw", number)
    return wait
  end

  for _, fault in ipairs { "drop_request", "drop_reply" } do
    for _, way in ipairs { "read", "write" } do
      it("has one node and one grant: " .. fault .. " of create2, to " .. way, run(function()
        local rw = session:rwlock("/rw")
        proxy[fault](proxy, "create2", 1)
        local hold = assert(rw[way](rw, 300))
        assert.are.equal(1, proxy:fired())
        env.queue_of(direct, "/rw", 1)
        assert.is_true(hold:valid())
        hold:release()
        env.queue_of(direct, "/rw", 0)
      end))
    end

    it("is downgraded for certain: " .. fault .. " of setData", run(function()
      local hold = assert(session:rwlock("/rw"):write())
      local ours, theirs, writers = session:rwlock("/rw"), direct:rwlock("/rw"), direct:rwlock("/rw")
      local waits = { queued(2, ours.read, ours), queued(3, theirs.read, theirs), queued(4, writers.write, writers) }
      proxy[fault](proxy, "setData", 1)
      assert.is_true(hold:downgrade())
      assert.are.equal(1, proxy:fired())
      local mine = { waits[1](), waits[2]() }
      assert.is_true(hold:valid() and mine[1]:valid() and mine[2]:valid())
      fails("timeout", direct:rwlock("/rw"):write(0))
      mine[1]:release()
      mine[2]:release()
      hold:release()
      waits[3]():release()
    end))

    it("admits a reader whose read of the mark is lost: " .. fault .. " of getData", run(function()
      local hold = assert(direct:rwlock("/rw"):write())
      local rw = session:rwlock("/rw")
      local wait = queued(2, rw.read, rw)
      env.eventually("it watches", function() return proxy:counts().getData >= 1 end)
      proxy[fault](proxy, "getData", 1)
      assert.is_true(hold:downgrade())
      local mine = assert(wait())
      assert.are.equal(1, proxy:fired())
      assert.is_true(hold:valid())
      mine:release()
      hold:release()
    end))
  end

  it("admits a reader if the downgrade happens while the reader is cut off", run(function()
    local hold = assert(direct:rwlock("/rw"):write())
    local rw = session:rwlock("/rw")
    local wait = queued(2, rw.read, rw)
    env.eventually("it watches", function() return proxy:counts().getData >= 1 end)
    assert(session:sync("/")) -- and knows it
    proxy:refuse()
    proxy:cut()
    env.eventually("the link is seen to be lost", function() return session.state == "suspended" end)
    assert.is_true(hold:downgrade())
    proxy:heal()
    assert(wait()):release()
    assert.is_true(hold:valid())
    hold:release()
  end))

  it("is handed over if the writer leaves while the waiter is cut off", run(function()
    local hold = assert(direct:rwlock("/rw"):write())
    local rw = session:rwlock("/rw")
    local waits = { queued(2, rw.read, rw), queued(3, rw.read, rw) }
    env.eventually("it watches", function() return proxy:counts().getData >= 1 end)
    assert(session:sync("/")) -- and knows it
    proxy:refuse()
    proxy:cut()
    env.eventually("the link is seen to be lost", function() return session.state == "suspended" end)
    hold:release()
    env.queue_of(direct, "/rw", 2)
    proxy:heal()
    assert(waits[1]()):release()
    assert(waits[2]()):release()
  end))

  it("loses a downgrade with the session, and nothing is left", run(function()
    local lease = env.session { hosts = proxy.hosts, namespace = namespace, timeout = 30 }
    local hold = assert(lease:rwlock("/rw"):write())
    local theirs = direct:rwlock("/rw")
    local wait = queued(2, theirs.write, theirs)
    proxy:blackhole()
    fails("lost", hold:downgrade())
    assert.is_false(hold:valid())
    local mine = assert(wait())
    proxy:heal()
    mine:release()
    env.eventually("a new session", function() return lease.state == "connected" end)
    assert(lease:rwlock("/rw"):read(200)):release()
    lease:close()
  end))

  it("survives random cuts without a leak or two conflicting holders, fifty times", run(function()
    local rw, theirs, writing = session:rwlock("/rw"), direct:rwlock("/rw"), 0
    for round = 1, 50 do
      local cutter = env.start(function()
        zk.sleep(round % 10 * 0.0004)
        proxy:cut()
      end)
      local reader = env.start(function()
        local hold = assert(theirs:read(200))
        assert.are.equal(0, writing)
        hold:release()
      end)
      local hold, message, code = rw:write(300)
      assert(hold or code == "lost", message)
      if hold then
        writing = hold:valid() and 1 or 0
        zk.sleep(0.0003)
        writing = 0
        if round % 2 == 0 then assert(select(3, hold:downgrade()) ~= "connection_loss") end
        hold:release()
      end
      cutter()
      reader()
    end
    env.queue_of(direct, "/rw", 0)
  end))
end)
