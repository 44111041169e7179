-- A server that accepts a connection and never answers its handshake, like a server that is starting.

local zk = require "zkrecipes"
local testing = require "zkrecipes.testing"
local env = require "spec.support.env"
local nonsense = require "spec.support.nonsense"
local run, fails = env.run, env.fails

-- The client library would wait for two thirds of this: 73 s.
local TIMEOUT, LONG = 110, 60

describe("a handshake that is not answered", function()
  local function timed(session)
    local from = zk.now()
    assert(session:connected(600))
    return zk.now() - from
  end

  it("is given up soon, on the first connection", run(function()
    local proxy = env.proxy()
    proxy:hold_reply("connect")
    local session = zk.session { hosts = proxy.hosts, timeout = TIMEOUT }
    assert(proxy:wait_for("fired"))
    assert.is_true(timed(session) < LONG)
    session:close()
  end))

  it("is given up soon, on a later connection, and the session continues", run(function()
    local proxy = env.proxy()
    local session = zk.session { hosts = proxy.hosts, timeout = TIMEOUT }
    local hold = assert(session:lock("/handshake"):acquire(300))
    proxy:hold_reply("connect")
    proxy:cut { side = "client" }
    assert(proxy:wait_for("fired"))
    env.eventually("the end of the link", function() return session.state ~= "connected" end)
    assert.is_true(timed(session) < LONG)
    assert.is_true(hold:valid())
    hold:release()
    session:close()
  end))

  -- This happens if a session is ended while it reconnects: the server drops all its requests.
  it("is given up soon, if only the request that proves the connection is not answered", run(function()
    local proxy = env.proxy()
    local session = zk.session { hosts = proxy.hosts, timeout = TIMEOUT }
    local hold = assert(session:lock("/handshake"):acquire(300))
    proxy:refuse()
    proxy:cut()
    env.eventually("the end of the link", function() return session.state ~= "connected" end)
    proxy:hold_reply("heartbeat")
    proxy:heal()
    assert(proxy:wait_for("fired"))
    assert.is_true(timed(session) < LONG)
    assert.is_true(hold:valid())
    hold:release()
    session:close()
  end))

  it("is reported with the server's address", run(function()
    local proxy, lines = env.proxy(), {}
    proxy:freeze("down")
    local session = zk.session { hosts = proxy.hosts, timeout = 3, log = function(_, text) lines[#lines + 1] = text end }
    env.eventually("a reason", function()
      return session.trouble and session.trouble:find("127%.0%.0%.1:%d+ did not answer the handshake of ZooKeeper within")
    end)
    assert.matches("did not answer the handshake of ZooKeeper within", table.concat(lines, "\n"))
    assert.is_nil(table.concat(lines, "\n"):find("closed the connection", 1, true)) -- we did
    assert.matches("not connected: 127%.0%.0%.1:%d+ did not answer the handshake of ZooKeeper within",
      fails("connection_loss", session:exists("/", { timeout = 0 })))
    proxy:heal()
    assert(session:connected(600))
    assert.is_nil(session.trouble)
    session:close()
  end))

  -- The limit is a second, and up to a quarter more. On a busy machine an answer may be late, so one of several tries must succeed.
  it("is not given up as long as each answer comes in time", run(function()
    local function slowly() zk.sleep(0.65) end
    for _ = 1, 100 do
      local server = nonsense.start(function(name) if name == "sync" or name == "auth" then slowly() end end, slowly)
      local session = zk.session { hosts = server.hosts, timeout = 10, auth = { { scheme = "digest", credential = "a:b" } } }
      assert(session:connected(600))
      session:close()
      server:stop()
      if server.connections == 1 then return end
    end
    error("each of 100 sessions left a server that answered slowly but steadily")
  end))

  it("is given up soon, also while the server sends events", run(function()
    local hung
    local server = nonsense.start(function(name)
      if name ~= "sync" or hung == false then return end
      hung = true
      local events = {}
      for i = 1, 50 do events[i] = nonsense.event(3, "/x" .. i) end
      return table.concat(events)
    end)
    server.events = nonsense.event(3, "/x")
    local session = zk.session { hosts = server.hosts, timeout = TIMEOUT }
    env.eventually("the request that proves the connection", function() return hung end)
    env.eventually("another attempt", function() return server.connections >= 2 end)
    hung, server.events = false, nil
    assert.is_true(timed(session) < LONG)
    session:close()
    server:stop()
  end))

  it("gets a longer limit each time, so that a client can connect over a slow network", run(function()
    local proxy = env.proxy()
    proxy:delay(700) -- each way; the first limit is a second
    local session = zk.session { hosts = proxy.hosts, timeout = 20 }
    assert(session:connected(600))
    assert(session:exists("/"))
    proxy:heal()
    session:close()
  end))
end)

describe("a reason why there is no connection", function()
  it("is reported in each outage, also if the log has had it just before", run(function()
    local proxy, lines, from = env.proxy(), {}, zk.now()
    local session = zk.session { hosts = proxy.hosts, timeout = 6, log = function(_, text) lines[#lines + 1] = text end }
    for _ = 1, 3 do
      assert(session:connected(300))
      proxy:refuse()
      proxy:cut()
      env.eventually("a reason", function()
        local _, message = session:connected(0.01)
        return message and message:find("not connected: .*127%.0%.0%.1")
      end)
      proxy:heal()
    end
    session:close()
    local count = {}
    for _, line in ipairs(lines) do
      count[line] = (count[line] or 0) + 1
      if line:find("refused") then assert.is_true(count[line] <= 1 + (zk.now() - from) / 10, line) end -- the log has it once in ten seconds
    end
  end))
end)

describe("restarts of a single server in a row", function()
  it("let the client come back soon after the server does", run(function()
    local server = assert(testing.start())
    local session = zk.session { hosts = server.hosts, timeout = 110 }
    assert(session:connected(300))
    local rounds = tonumber(os.getenv("RESTARTS")) or 3
    for round = 1, rounds do
      server:kill()
      assert(server:restart())
      local from = zk.now()
      assert(session:exists("/", { timeout = 300 }))
      local took = zk.now() - from
      if os.getenv("RESTARTS") then print(("restart %d: back after %.3f s"):format(round, took)) end
      assert.is_true(took < 60, took) -- the library's own limit is 73 s
    end
    session:close()
    server:stop()
  end))
end)
