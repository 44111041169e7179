-- What is said when a session with SASL does not connect; and servers that refuse, hang, send nonsense, or cannot prove who they are. None
-- of them gets a request.
-- Tags: sanitize

local zk = require "zkrecipes"
local env = require "spec.support.env"
local nonsense = require "spec.support.nonsense"
local sasl = require "spec.support.sasl"
local silent = require "spec.support.silent"
local tls = require "spec.support.tls"
local told_once = require "spec.support.told_once"
local wire = require "spec.support.wire"
local testing = require "zkrecipes.testing"
local run = env.run

local SECRET = "what nobody may read"

describe("SASL that fails", function()
  local function account(password) return { mechanism = "DIGEST-MD5", user = "bob", password = password or SECRET } end

  local function open(hosts, lines, options)
    local all = { hosts = hosts, sasl = account(), timeout = 30, auth = { { scheme = "digest", credential = "a:b" } },
      log = function(_, line) lines[#lines + 1] = line end }
    for name, value in pairs(options or {}) do all[name] = value end
    return zk.session(all)
  end

  -- Fails unless a session never connects to this server, says so with this pattern, and the server gets no request but SASL's.
  local function says(pattern, server)
    local lines, message = {}, nil
    local session = open(server.hosts, lines)
    env.eventually(pattern, function()
      message = env.fails("connection_loss", session:create("/x", "", { timeout = 0.2 }))
      return message:find(pattern) and session.trouble and session.trouble:find(pattern)
    end)
    local text = table.concat(lines, "\n") .. message
    assert.matches("127%.0%.0%.1:%d+: SASL: " .. pattern, text)
    assert.is_nil(text:find("zk retcode", 1, true))
    assert.is_nil(text:find(SECRET, 1, true))
    told_once(lines)
    session:close(0)
    for op in pairs(server.counts or {}) do assert.equal(sasl.OP, op) end
    if server.stop then server:stop() end
  end

  -- Fails unless the server refuses the session for good, with this pattern.
  local function is_refused(pattern, hosts, options)
    local lines = {}
    local session = open(hosts, lines, options)
    local message = env.fails("auth_failed", session:connected(300))
    assert.matches("127%.0%.0%.1:%d+%)?: SASL: " .. pattern, message)
    env.fails("auth_failed", session:create("/x"))
    assert.matches(pattern, session.trouble)
    assert.equal("closed", session.state)
    local text = table.concat(lines, "\n") .. message
    assert.matches(pattern, text)
    assert.is_nil(text:find(SECRET, 1, true))
    session:close(0)
  end

  -- ---- Refused --------------------------------------------------------------------------------------------------------------------------

  it("is final when a server refuses the password, or does not know the user", run(function()
    local server = assert(testing.start { sasl = { bob = "other" }, tls = true })
    local plain = "127.0.0.1:" .. server.port
    local pattern = "the server refused user 'bob'; check sasl%.user and sasl%.password"
    is_refused(pattern, plain)
    is_refused(pattern, server.hosts, { tls = server.tls })
    is_refused("the server refused user 'nobody'", plain, { sasl = { mechanism = "DIGEST-MD5", user = "nobody", password = SECRET } })
    is_refused("the server refused user 'bob'", plain, { sasl = account "" })
    server:stop()
  end))

  it("is final when a server that demands SASL refuses the password", run(function()
    local server = assert(testing.start { sasl = { bob = "other" }, config = { sessionRequireClientSASLAuth = "true" } })
    is_refused("the server refused user 'bob'", server.hosts)
    server:stop()
  end))

  it("is what a server demands of a session without it", run(function()
    local server = assert(testing.start { sasl = { bob = "other" }, config = { sessionRequireClientSASLAuth = "true" } })
    local session = zk.session { hosts = server.hosts }
    assert.matches("127%.0%.0%.1:%d+ demands SASL, or another authentication %(.*%): set the option 'sasl'",
      env.fails("auth_failed", session:connected(300)))
    session:close(0)
    server:stop()
  end))

  it("is final when a later connection is refused", run(function()
    local refuses = false
    local server = sasl.start(nil, function(xid, token) return sasl.answer(xid, sasl.proof(token, SECRET), refuses and -115 or 0) end)
    local lines = {}
    local session = open(server.hosts, lines)
    assert(session:connected(300))
    refuses = true
    server:drop()
    env.eventually("the end", function() return session.state == "closed" end)
    env.fails("auth_failed", session:exists("/"))
    assert.matches("the server refused user 'bob'", session.trouble)
    session:close(0)
    server:stop()
  end))

  -- This server accepts a client whose password is wrong, without a proof.
  it("does not connect to a server that accepts every password", run(function()
    local server = assert(testing.start { sasl = { bob = "other" }, config = { allowSaslFailedClients = "true" } })
    says("the server did not prove that it knows the password of sasl%.user", { hosts = server.hosts })
    server:stop()
  end))

  it("does not connect to a server without SASL", run(function()
    says("the server offers no DIGEST%-MD5; its java%.security%.auth%.login%.config has to name a file with a section Server",
      { hosts = env.server().hosts })
  end))

  -- ---- The proof ------------------------------------------------------------------------------------------------------------------------

  it("accepts a server that knows the password, and proves to it that it knows it too", run(function()
    local known = {}
    local server = sasl.start(nil, function(xid, token)
      known[#known + 1] = sasl.knows(token, SECRET)
      return sasl.answer(xid, sasl.proof(token, SECRET))
    end)
    local lines = {}
    local session = open(server.hosts, lines)
    assert(session:connected(300))
    assert.is_true(#known > 0) -- more than one if an attempt to connect took too long
    for _, right in ipairs(known) do assert.is_true(right) end
    assert(session:sync("/"))
    session:close()
    server:stop()
  end))

  it("does not connect to a server that does not prove that it knows the password", run(function()
    local pattern = "the server did not prove that it knows the password of sasl%.user: it is not one of yours"
    local wrong = {
      function(token) return sasl.proof(token, "another password") end,
      function(token) return sasl.proof(token, SECRET):upper() end,
      function(token) return sasl.proof(token, SECRET):sub(1, -2) end,
      function(token) return sasl.proof(token, SECRET) .. "0" end,
      function(token) return (sasl.proof(token, SECRET):gsub("rspauth", "rspautH")) end,
      function(token) return token end,
      function() return "rspauth=" end,
      function() return "rspauth=" .. ("0"):rep(32) end,
      function() return "" end,
      function() return nil end,
    }
    for _, proof in ipairs(wrong) do
      says(pattern, sasl.start(nil, function(xid, token) return sasl.answer(xid, proof(token)) end))
    end
  end))

  -- ---- Nonsense -------------------------------------------------------------------------------------------------------------------------

  it("names what is wrong with a challenge", run(function()
    local function challenge(text, pattern)
      says("the server's challenge is invalid: " .. pattern, sasl.start(function(xid) return sasl.answer(xid, text) end))
    end
    challenge('realm="x",algorithm=md5-sess', "it has no nonce")
    challenge('nonce="x",nonce="y",algorithm=md5-sess', "it has two nonces")
    challenge('nonce="x"', "its algorithm is not md5%-sess")
    challenge('nonce="x",algorithm=md5', "its algorithm is not md5%-sess")
    challenge('nonce="x",algorithm=md5-sess,qop="auth-int,auth-conf"', "it does not offer authentication alone %(qop=auth%)")
    for _, text in ipairs { "x", "nonce", "nonce=", 'nonce="x', 'nonce="x\\', 'nonce="x"y', "=x", "\0", 'nonce="a\0b",algorithm=md5-sess',
      'nonce="' .. ("x"):rep(256) .. '",algorithm=md5-sess', ("n"):rep(40) .. "=1", 'nonce="x" algorithm=md5-sess' } do
      challenge(text, "it is malformed")
    end
  end))

  it("reads every correct challenge", run(function()
    local correct = {
      'nonce="x",algorithm=md5-sess',
      ',, nonce = x ,\r\n algorithm="md5-sess",,',
      'realm="a",realm="b",nonce="\\"\\\\",algorithm=MD5-SESS,foo="bar,baz"',
      'qop="auth-int,auth",realm="' .. ("r"):rep(255) .. '",nonce="' .. ('\\"'):rep(255) .. '",algorithm=md5-sess,cipher="rc4"',
    }
    for _, text in ipairs(correct) do
      local got
      local server = sasl.start(function(xid) return sasl.answer(xid, text) end, function(xid, token)
        got = token
        return sasl.answer(xid, "")
      end)
      local session = zk.session { hosts = server.hosts, sasl = account(), timeout = 30 }
      env.eventually("a response", function() return got end)
      assert.matches('username="bob",', got)
      session:close(0)
      server:stop()
    end
  end))

  it("does not connect to a server that answers with something else", run(function()
    local function first(frame, pattern) says(pattern, sasl.start(function() return frame end)) end
    first(nonsense.answer(2, wire.text(sasl.CHALLENGE)), "it answers another request")
    first(nonsense.answer(-1, wire.text(sasl.CHALLENGE)), "it answers another request")
    first(nonsense.event(3, "/x"), "it answers another request")
    first(nonsense.frame(""), "it answers another request")
    first(nonsense.frame("x"), "it answers another request")
    first(nonsense.answer(1, ""), "it sent a malformed answer")
    first(nonsense.answer(1, "\0\0\0"), "it sent a malformed answer")
    first(nonsense.answer(1, wire.int(-2)), "it sent a malformed answer")
    first(nonsense.answer(1, wire.int(5) .. "abcd"), "it sent a malformed answer")
    first(nonsense.answer(1, wire.int(3) .. "abcd"), "it sent a malformed answer")
    first(nonsense.answer(1, wire.int(2147483647)), "it sent a malformed answer")
    first(nonsense.answer(1, "", -115), "the server does not begin DIGEST%-MD5; the section Server")
    first(nonsense.answer(1, "", -9), "the server answered with the error %-9; see its log")
    first(wire.int(-1) .. "abcd", "it does not answer as a ZooKeeper server does")
    first(wire.int(8193), "it does not answer as a ZooKeeper server does")
    first(sasl.answer(1, ("x"):rep(8000)), "the server's challenge is invalid")
    says("it answers another request", sasl.start(nil, function() return sasl.answer(1, "rspauth=") end))
    says("it does not answer as a ZooKeeper server does", tls.talker("HTTP/1.1 400 Bad Request\r\n\r\n", true))
    says("it broke the connection off", tls.talker("", true))
  end))

  it("says which step is not answered", run(function()
    local function hangs(pattern, server)
      silent("127%.0%.0%.1:%d+ did not answer the handshake of " .. pattern, server, { sasl = account() })
      for op in pairs(server.counts or {}) do assert.equal(sasl.OP, op) end
      server:stop()
    end
    hangs("ZooKeeper within %d+%.%d s; is it starting, or overloaded%?", tls.talker(nil))
    hangs("SASL within %d+%.%d s; it sent no challenge; see its log", sasl.start(function() return "" end))
    hangs("SASL within %d+%.%d s; it did not say whether it accepts the password; see its log", sasl.start(nil, function() return "" end))
  end))

  it("is not repeated many times per second", run(function()
    local server = sasl.start(nil, function(xid) return sasl.answer(xid, "") end)
    local session = zk.session { hosts = server.hosts, sasl = account(), timeout = 30 }
    zk.sleep(5) -- pauses of 0.1, 0.2, 0.4, 0.8, 1.6 ... s: a busy machine makes less of them
    assert.is_true(server.connections >= 1 and server.connections <= 8, server.connections .. " connections")
    session:close(0)
    server:stop()
  end))

  it("does not hide that the session is over", run(function()
    local server
    server = sasl.start(nil, function(xid, token) return sasl.answer(xid, sasl.proof(token, SECRET)) end)
    local lines = {}
    local session = open(server.hosts, lines)
    assert(session:connected(300))
    local id = session.id
    server.greet = function()
      local over = session.id == id -- until the client knows
      server.timeout, server.id = over and 0 or 10000, over and 0 or 78
    end
    server:drop()
    env.eventually("another session", function() return session.id == "000000000000004e" and session.state == "connected" end)
    assert.matches("the server has ended it", table.concat(lines, "\n"))
    session:close()
    server:stop()
  end))

  it("sends nothing to a server that ends a new session at once", run(function()
    local server = sasl.start()
    server.timeout = 0
    local session = open(server.hosts, {})
    env.eventually("three attempts", function() return server.connections >= 3 end)
    session:close(0)
    server:stop()
    assert.is_nil(next(server.counts))
  end))
end)
