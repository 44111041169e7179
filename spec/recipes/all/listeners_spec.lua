-- A listener may wait at once, also for the lock whose event it was told. The user's functions never run where they could block the engine.
-- The only exception is `log`, which refuses to wait.

local zk = require "zkrecipes"
local testing = require "zkrecipes.testing"
local env = require "spec.support.env"
local run = env.run

describe("a listener that acquires a lock at once", function()
  local session, got
  before_each(function()
    session, got = env.session(), {}
  end)
  after_each(function() session:close() end)

  -- Acquires and releases each lock in turn, and records it. The session may be lost a moment after the listener was told.
  local function acquire(...)
    for _, path in ipairs { ... } do
      local hold, message, code
      repeat hold, message, code = session:lock(path):acquire(300) until code ~= "lost"
      assert(hold, message):release()
      got[#got + 1] = path
    end
  end

  it("is not stuck in on_lost", run(function()
    local hold = assert(session:lock("/l"):acquire(200))
    hold:on_lost(function() acquire("/other", "/l") end)
    hold:on_lost(function() acquire("/other", "/l") end)
    assert(testing.expire(env.server(), session.id))
    env.eventually("all are acquired", function() return #got == 4 end)
  end))

  it("is not stuck in on_lost while hold:lost waits for the same hold", run(function()
    local hold = assert(session:lock("/u", { fair = false }):acquire(200))
    hold:on_lost(function() acquire("/other", "/u2") end)
    local wait = env.start(function()
      assert.are.equal("lost", hold:lost())
      acquire("/other")
    end)
    assert(session:sync("/"))
    assert(session:delete("/u"))
    wait()
    env.eventually("all are acquired", function() return #got == 3 end)
  end))

  it("is not stuck in on_request", run(function()
    local lock
    lock = session:lock("/l", { on_request = function(hold)
      acquire("/other")
      hold:release()
      acquire("/l")
    end })
    local first = assert(lock:acquire(200))
    assert.are.equal(1, session:lock("/l"):request())
    env.eventually("all are acquired", function() return #got == 2 end)
    assert.is_false(first:valid())
  end))

  it("is not stuck where it observes an election, or follows the states", run(function()
    local proxy = env.proxy()
    local namespace, states, leaders = env.namespace(), {}, {}
    session:close()
    session = env.session { hosts = proxy.hosts, namespace = namespace, timeout = 20 }
    local other = env.session { namespace = namespace }
    env.start(function()
      local next_leader = session:election("/e"):observe() -- on Lua 5.1 `for ... in` cannot wait
      local leader = next_leader()
      while leader ~= nil do
        acquire("/other")
        leaders[#leaders + 1] = leader and leader.value
        leader = next_leader()
      end
    end)
    env.start(function()
      local state, seen = session:next_state(0)
      while state do
        if state ~= "closed" then acquire("/other") end -- also without a connection: then it waits for one
        states[#states + 1] = state
        state, seen = session:next_state(seen)
      end
    end)
    env.eventually("connected", function() return states[2] == "connected" end)
    local term = assert(other:election("/e", { value = "a" }):campaign(200))
    env.eventually("the leader is seen", function() return leaders[#leaders] == "a" end)
    proxy:refuse()
    proxy:cut()
    env.eventually("the link is seen to be lost", function() return session.state == "suspended" end)
    zk.sleep(0)
    proxy:heal()
    env.eventually("both went on", function() return states[4] == "connected" end)
    assert.are.same({ "connecting", "connected", "suspended", "connected" }, states)
    assert.is_true(term:valid())
    session:close()
    other:close()
  end))

  it("is not stuck in a leader's function, nor in on_lost of its term", run(function()
    local election, terms = session:election("/e"), 0
    local task = zk.spawn(function()
      return election:lead(function(term)
        terms = terms + 1
        if terms > 1 then return election:stop() end
        term:on_lost(function() acquire("/other", "/l") end)
        acquire("/l")
        assert(testing.expire(env.server(), session.id))
        term:lost()
      end)
    end)
    env.eventually("all are acquired", function() return #got == 3 end)
    task:wait(200)
    assert.are.equal(2, terms)
  end))

  it("cannot wait in `log`, unless it spawns a coroutine", function()
    local reports, calls, over = {}, 0, false
    zk.run(function()
      session = env.session { log = function()
        if over then return end
        calls = calls + 1
        zk.spawn(acquire, "/other")
        session:lock("/l"):acquire()
      end }
      assert(session:connected(200))
      assert(testing.expire(env.server(), session.id))
      env.eventually("it was called, and all are acquired", function() return calls > 0 and #got == calls end)
      over = true
      session:close()
    end, { on_error = function(text) reports[#reports + 1] = text end })
    assert.are.equal(calls, #reports)
    for _, text in ipairs(reports) do
      assert.matches("^in a session's log function: [^\n]*listeners_spec.lua:%d+: cannot wait here", text)
    end
  end)
end)
