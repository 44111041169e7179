-- Sessions that end, servers that cannot be reached, processes that are killed or paused.
-- Tags: sanitize

local zk = require "zkrecipes"
local testing = require "zkrecipes.testing"
local proxies = require "spec.support.proxy"
local env = require "spec.support.env"
local child = require "spec.support.child"
local run, fails = env.run, env.fails

local function expire(session)
  assert(testing.expire(env.server(), session.id))
end

-- True if no turn of the loop takes half a second. A busy machine delays some tries; a blocking call delays each of several.
local function goes_on(turn)
  local from, longest = zk.now(), 0
  while zk.now() - from < 0.5 do
    local before = zk.now()
    turn()
    longest = math.max(longest, zk.now() - before)
  end
  return longest < 0.5
end

describe("a session that expires", function()
  it("takes its holds with it and comes back", run(function()
    local session = env.session()
    local lock = session:lock("/l")
    local hold, why = assert(lock:acquire()), nil
    hold:on_lost(function(_, word) why = word end)
    local id, generation = session.id, {}
    local watch = env.start(function()
      local next_state = session:states() -- on Lua 5.1 `for ... in` cannot wait
      repeat generation[#generation + 1] = next_state() until generation[#generation] == "closed"
    end)
    expire(session)
    env.eventually("lost", function() return why end)
    assert.are.equal("lost", why)
    assert.is_false(hold:valid())
    fails("lost", hold:set("/x", ""))
    -- The hold may learn of its deleted node before the session learns of its end.
    env.eventually("a new session", function() return session.id ~= id and session.state == "connected" end)
    local again = assert(lock:acquire(200))
    assert.is_true(again.token > hold.token)
    assert.is_true(hold:release())
    assert.is_true(again:valid())
    again:release()
    session:close()
    watch()
    local text = table.concat(generation, " ")
    assert.matches("lost connecting connected closed$", text)
  end))

  -- Some servers that implement the protocol do this.
  it("is lost if a reconnect gives another id, without an expiry message", run(function()
    local proxy = env.proxy()
    local session = env.session { hosts = proxy.hosts }
    local hold = assert(session:lock("/l"):acquire(200))
    local told = {}
    local state, seen = session:next_state(0)
    for _ = 1, 20 do proxy:new_session("connect") end -- an attempt may be given up
    proxy:cut { side = "client" }
    repeat
      told[#told + 1] = state
      state, seen = session:next_state(seen)
    until state == "connected" and #told > 1
    assert.is_true(proxy:fired() >= 1)
    assert.matches("suspended lost", table.concat(told, " "))
    assert.is_false(hold:valid())
    fails("lost", hold:set("/x", ""))
    session:close()
  end))

  it("ends a waiting acquire with `lost`, and its place in the queue", run(function()
    local namespace = env.namespace()
    local holder, waiter = env.session { namespace = namespace }, env.session { namespace = namespace }
    local hold = assert(holder:lock("/l"):acquire())
    local wait = env.start(function() return fails("lost", waiter:lock("/l"):acquire()) end)
    env.queue_of(holder, "/l", 2)
    expire(waiter)
    assert.matches("lock:acquire /l: .*lost", wait())
    env.queue_of(holder, "/l", 1)
    assert.is_true(hold:valid())
    hold:release()
  end))

  it("keeps its watches", run(function()
    local namespace = env.namespace()
    local session, other = env.session { namespace = namespace }, env.session { namespace = namespace }
    assert(session:create("/w", "0", { parents = true }))
    local watch = session:watch("/w")
    assert(session:sync("/w"))
    expire(session)
    assert(other:set("/w", "1"))
    assert.are.equal("changed", watch:wait(200))
    assert(other:set("/w", "2"))
    assert.are.equal("changed", watch:wait(200))
    watch:close()
  end))

  it("sends the credentials of add_auth again", run(function()
    local session = env.session()
    assert(session:add_auth("digest", "ann:secret"))
    assert(session:create("/private", "x", { acl = "creator", parents = true }))
    local id = session.id
    expire(session)
    env.eventually("a new session", function() return session.id ~= id and session.state == "connected" end)
    assert.are.equal("x", (session:get("/private")))
  end))
end)

describe("servers that come back with a lower maxSessionTimeout", function()
  -- The server is restarted with another limit. Clients that will be cut off use the proxy.
  local server, proxy

  local function limit_timeouts(milliseconds)
    local name = server.folder .. "/zoo.cfg"
    local file = assert(io.open(name))
    local text = file:read("*a"):gsub("maxSessionTimeout=%d+", "maxSessionTimeout=" .. milliseconds)
    file:close()
    file = assert(io.open(name, "w"))
    file:write(text)
    file:close()
    server:kill()
    assert(server:restart())
  end

  before_each(function()
    server = assert(testing.start { config = { maxSessionTimeout = 100000 } })
    proxy = proxies.start(server)
  end)

  after_each(function()
    proxy:stop()
    server:stop()
  end)

  it("shorten the lease with the session", run(function()
    local session, other = zk.session { hosts = proxy.hosts, timeout = 100, tick = 0.5 },
      zk.session { hosts = server.hosts, timeout = 2, tick = 0.5 }
    local hold = assert(session:lock("/l"):acquire(200))
    assert.are.equal(100, session.timeout)
    limit_timeouts(2000)
    assert(session:sync("/", { timeout = 300 }))
    env.eventually("the shorter timeout", function() return session.timeout == 2 end)
    proxy:refuse()
    proxy:cut()
    local lost = env.start(function() return hold:lost() end)
    env.eventually("the other one has it", function() return other:lock("/l"):acquire(200) end) -- a busy machine may lose its session
    assert.is_false(hold:valid())
    assert.are.equal("lost", lost())
  end))

  it("shorten it also if the connection breaks before it was proved", run(function()
    local session = zk.session { hosts = proxy.hosts, timeout = 100, tick = 0.5 }
    local hold = assert(session:lock("/l"):acquire(200))
    proxy:hold_reply("heartbeat")
    limit_timeouts(2000)
    assert(proxy:wait_for("fired", 1)) -- a starting server may leave a connection without an answer
    proxy:refuse()
    proxy:cut()
    env.eventually("the loss of the link", function() return session.state ~= "connected" end)
    assert.are.equal("lost", hold:lost(40)) -- not after 70 s
    assert.is_false(hold:valid())
  end))
end)

describe("session:close with a limit, while no server can be reached", function()
  local function cut_off(timeout)
    local proxy = env.proxy()
    local session = env.session { hosts = proxy.hosts, timeout = timeout }
    assert(session:connected(200))
    proxy:refuse()
    proxy:cut()
    return session
  end

  it("keeps the limit if a session was lost before", run(function()
    local session = cut_off(15)
    env.eventually("the loss of the session", function() return session.state == "connecting" end)
    local from = zk.now()
    assert(session:close(0.1))
    assert.is_true(zk.now() - from < 10) -- not 15
  end))

  it("keeps the shorter of two limits", run(function()
    local session = cut_off(100)
    env.eventually("the loss of the link", function() return session.state == "suspended" end)
    local first = env.start(function() return session:close(300) end)
    env.eventually("the first close", function() return session.state == "closed" end)
    local from = zk.now()
    assert(session:close(0.1))
    assert(first())
    assert.is_true(zk.now() - from < 150) -- not 300
  end))
end)

describe("a server that cannot be reached", function()
  it("a refused port: the wait ends in time, with the reason", run(function()
    local session = zk.session { hosts = "127.0.0.1:1", timeout = 2 }
    env.eventually("the reason", function() return env.late(session:connected(0.3)):find "not connected: .*127%.0%.0%.1:1" end)
    env.late(session:lock("/l"):acquire(0.05))
    fails("connection_loss", session:lock("/l"):acquire(0))
    session:close()
  end))

  it("a name that does not resolve: the host never blocks", run(function()
    env.eventually("a session that looks for its server stalls nobody", function()
      local session = zk.session { hosts = "no-such-host.invalid:2181", timeout = 2 }
      local quick = goes_on(function() zk.sleep(0.001) end)
      assert.matches("no%-such%-host%.invalid", fails("connection_loss", session:connected(5)))
      session:close()
      return quick
    end)
  end))

  it("a server that accepts and stays silent", run(function()
    local server = assert(testing.start())
    server:pause()
    local session = zk.session { hosts = server.hosts, timeout = 100, tick = 0.5 }
    env.late(session:connected(0.2))
    local from = zk.now()
    session:close()
    assert.is_true(zk.now() - from < 60) -- not 100
    server:stop()
  end))

  it("wrong lists of hosts are misuse", function()
    for _, hosts in ipairs { "", ",", "a:0", "a:70000", "a:b", "a b", "a:1,,b:2", "[::1", "a:1/x//y", ":2181" } do
      assert.has_error(function() zk.session { hosts = hosts } end)
    end
  end)
end)

describe("a server that dies and comes back", function()
  local server
  setup(function() server = assert(testing.start()) end)
  teardown(function() server:stop() end)

  it("while a lock is acquired, held, released", run(function()
    local session = zk.session { hosts = server.hosts, timeout = 120, tick = 0.5, namespace = env.namespace() }
    local lock = session:lock("/l")
    assert(session:connected(200))

    server:kill()
    local wait = env.start(function() return lock:acquire(300) end)
    env.eventually("suspended", function() return session.state == "suspended" end)
    server:restart()
    local hold = assert(wait())
    assert.is_true(hold:valid())

    server:kill()
    env.eventually("suspended", function() return session.state == "suspended" end)
    assert.is_true(hold:valid()) -- its lease is not over
    server:restart()
    assert(session:connected(200))
    assert.is_true(hold:valid())

    server:kill()
    local from = zk.now()
    hold:release()
    assert.is_true(zk.now() - from < 60) -- the session lasts 120 s
    server:restart()
    assert(lock:acquire(200)):release()
    env.queue_of(session, "/l", 0)
    session:close()
  end))

  it("that is paused for longer than the lease ends the holds, but not the session", run(function()
    local session = zk.session { hosts = server.hosts, timeout = 15, tick = 0.5, namespace = env.namespace() }
    local hold = assert(session:lock("/l"):acquire(200))
    server:pause()
    assert.are.equal("lost", (hold:lost(200)))
    server:resume()
    assert(session:connected(200))
    assert(session:lock("/l"):acquire(200)):release()
    session:close()
  end))

  it("that is paused during a close does not block the host or another session", run(function()
    local other = env.session()
    env.eventually("a close stalls nobody", function()
      local session = zk.session { hosts = server.hosts, timeout = 15 }
      assert(session:connected(200))
      assert(other:connected(200))
      server:pause()
      local closing = env.start(function() session:close(1) end)
      local quick = goes_on(function()
        assert(other:exists("/") ~= nil)
        zk.sleep(0.001)
      end)
      closing()
      server:resume()
      return quick
    end)
    other:close()
  end))
end)

describe("another process", function()
  it("that is killed while it holds: the next waiter is granted within the session timeout", run(function()
    local namespace = env.namespace()
    local session = env.session { namespace = namespace, timeout = 110 }
    local holder = child.start(namespace, 20)
    local token = holder:ask("acquire"):match("^token (%x+)$")
    assert.is_string(token)
    local wait = env.start(function() return session:lock("/l"):acquire(200) end)
    env.queue_of(session, "/l", 2)
    local from = zk.now()
    holder:signal("KILL")
    local hold = assert(wait())
    assert.is_true(zk.now() - from < 90) -- less than the timeout of the waiter's own session
    assert.is_true(hold.token > token)
    hold:release()
    env.queue_of(session, "/l", 0)
    holder:stop()
  end))

  it("that is paused for longer than its session: its hold is not valid at once, and writes nothing", run(function()
    local namespace = env.namespace()
    local session = env.session { namespace = namespace }
    assert(session:create("/register", "0", { parents = true }))
    local holder = child.start(namespace, 20)
    assert.matches("^token", holder:ask("acquire"))
    assert.are.equal("written", holder:ask("write 1"))
    holder:signal("STOP")
    local hold = assert(session:lock("/l"):acquire(200))
    assert(hold:set("/register", "2"))
    holder:tell("valid") -- the order waits in its pipe until it wakes up
    holder:tell("write 3")
    holder:signal("CONT")
    assert.are.equal("false", holder:answer())
    assert.are.equal("lost", holder:answer())
    assert.are.equal("2", (session:get("/register")))
    assert.is_true(hold:valid())
    hold:release()
    holder:stop()
  end))
end)

describe("a fork", function()
  local process = require "spec_fork"

  it("does not affect the parent's session, which raises a clear error in the child", run(function()
    local namespace = env.namespace()
    local session = env.session { namespace = namespace }
    local hold = assert(session:lock("/l"):acquire())
    local pid = process.fork()
    if pid == 0 then
      local _, _, code = session:get("/")
      local good = code == "forked" and not hold:valid() and hold:release()
      local _, _, acquire = session:lock("/l"):acquire(1)
      good = good and acquire == "forked" and select(3, session:close()) == "forked"
      session, hold = nil, nil
      collectgarbage()
      process.exit(good and 7 or 1)
    end
    assert.are.equal(7, process.wait(pid))
    assert.is_true(hold:valid())
    assert(session:get("/l"))
    assert.are.equal(1, #session:children("/l"))
    hold:release()
    session:close()
  end))

  it("lets the child open its own session", run(function()
    local parent, namespace = env.session(), env.namespace() -- created here, because the parent does not see the child's counters
    assert(parent:connected(200))
    local pid = process.fork()
    if pid == 0 then
      local own = env.session { namespace = namespace }
      process.exit(own:connected(200) and own:lock("/l"):acquire(200) and 7 or 1)
    end
    assert.are.equal(7, process.wait(pid))
    assert(parent:sync("/"))
    parent:close()
  end))
end)

describe("a program that deletes the directory under the waiters", function()
  it("cannot make them hang", run(function()
    local namespace = env.namespace()
    local session = env.session { namespace = namespace }
    local hold, done = assert(session:lock("/l"):acquire()), 0
    for _ = 1, 5 do
      local other = env.session { namespace = namespace }
      env.start(function()
        local mine = assert(other:lock("/l"):acquire(200))
        mine:release()
        done = done + 1
      end)
    end
    env.queue_of(session, "/l", 6)
    assert(session:delete_tree("/l"))
    hold:release()
    env.eventually("all were served", function() return done == 5 end)
    env.queue_of(session, "/l", 0)
  end))
end)
