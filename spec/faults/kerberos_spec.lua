-- Sessions with SASL by GSSAPI, on a real KDC and a real server.
-- Tags: sanitize

local zk = require "zkrecipes"
local allocations = require "spec.support.allocations"
local env = require "spec.support.env"
local kerberos = require "spec.support.kerberos"
local process = require "spec.support.process"
local sasl = require "spec.support.sasl"
local silent = require "spec.support.silent"
local tls = require "spec.support.tls"
local socket = require "socket"
local run, fails, raises = env.run, env.fails, env.raises

describe("a session with Kerberos", function()
  local realm, server, hung

  setup(function()
    hung = assert(socket.bind("127.0.0.1", 0)) -- accepts connections, and never answers
    realm = kerberos.start(select(2, hung:getsockname()))
    server = realm:server { tls = true }
  end)

  teardown(function()
    server:stop()
    realm:stop()
    hung:close()
  end)

  local function plain() return "localhost:" .. server.port end

  local function account(user) return { mechanism = "GSSAPI", user = user, keytab = realm.keytab } end

  local function open(options)
    local all = { hosts = plain(), sasl = account "ann", tick = 0.5, timeout = 120 }
    for name, value in pairs(options or {}) do all[name] = value end
    local session = zk.session(all)
    assert(session:connected(300))
    return session
  end

  local function is_mine(session, id)
    local path = env.namespace()
    assert(session:create(path, "mine", { acl = "creator" }))
    local found = false
    for _, entry in ipairs(assert(session:get_acl(path))) do found = found or entry.scheme == "sasl" and entry.id == id end
    assert.is_true(found)
    assert.equal("mine", (session:get(path)))
    return path
  end

  it("is the user of the keytab, and other users are not", run(function()
    local session, other = open(), open { sasl = account "bob@ZKTEST" }
    fails("no_auth", other:get(is_mine(session, "ann@ZKTEST")))
    is_mine(other, "bob@ZKTEST")
    session:close()
    other:close()
  end))

  it("is the first user of the keytab, or the user of the ticket", run(function()
    local session = open { sasl = { mechanism = "GSSAPI", keytab = realm.keytab } }
    is_mine(session, "ann@ZKTEST")
    session:close()
    realm:kinit "bob"
    session = open { sasl = { mechanism = "GSSAPI" } }
    is_mine(session, "bob@ZKTEST")
    session:close()
    realm.kdestroy()
  end))

  it("works over TLS", run(function()
    local session = open { hosts = "localhost:" .. server.hosts:match("%d+$"), tls = server.tls }
    is_mine(session, "ann@ZKTEST")
    session:close()
  end))

  it("is authenticated again after the end of a connection, and after a restart of the server", run(function()
    local relay = tls.relay("127.0.0.1:" .. server.port)
    local session = open { hosts = "localhost:" .. relay.port }
    local id, path = session.id, is_mine(session, "ann@ZKTEST")
    for i = 1, 3 do
      if i == 2 then assert(server:restart()) else relay.cut() end
      env.eventually("the end of the link", function() return relay.connections > i end)
      assert(session:connected(300))
      assert.equal("mine", (session:get(path, { timeout = 300 })))
    end
    assert.equal(id, session.id)
    session:close(300)
    relay.stop()
    for _, bytes in ipairs(relay.sent) do
      local operations = sasl.operations(bytes)
      for k = 1, math.min(4, #operations) do assert.equal(k == 1 and "handshake" or sasl.OP, operations[k]) end
    end
  end))

  -- Fails unless a session with these options never connects, and says so.
  local function says(pattern, options)
    local all = { hosts = plain(), sasl = account "ann", timeout = 30 }
    for name, value in pairs(options) do all[name] = value end
    local session = zk.session(all)
    env.eventually(pattern, function() return session.trouble and session.trouble:find(pattern) end)
    env.eventually("the message has it", function() -- a busy machine may give another reason, and then this one again
      return env.fails("connection_loss", session:connected(0.3)):find("SASL: " .. pattern)
    end)
    session:close(0)
  end

  it("says what is wrong", run(function()
    says("no ticket of Kerberos; run kinit, or set sasl%.keytab: No Kerberos credentials available", { sasl = { mechanism = "GSSAPI" } })
    says("no ticket of Kerberos by the key in /.* for nobody: ", { sasl = account "nobody" })
    says("cannot read the file of sasl%.keytab, /none: ", { sasl = { mechanism = "GSSAPI", keytab = "/none" } })
    says("Kerberos cannot authenticate us to zookeeper@127%.0%.0%.1: ", { hosts = "127.0.0.1:" .. server.port })
    says("the server offers no GSSAPI; its java%.security%.auth%.login%.config", { hosts = "localhost:" .. env.server().port })
  end))

  it("is closed if the KDC refuses its key, which more attempts would lock", run(function()
    local session = zk.session { hosts = plain(), sasl = { mechanism = "GSSAPI", keytab = realm:keytab_of "old" }, timeout = 30 }
    fails("auth_failed", session:connected(300))
    assert.matches("Kerberos", session.trouble)
    assert.is_true(realm:refusals() <= 2)
    session:close(0)
  end))

  it("is the user of the file that is there now, also if it was another one", run(function()
    local keytab = realm:keytab_of "now"
    for _, user in ipairs { "ann", "bob" } do
      process.output(("cp '%s' '%s.new' && mv '%s.new' '%s'"):format(realm:keytab_of(user), keytab, keytab, keytab))
      local session = open { sasl = { mechanism = "GSSAPI", keytab = keytab } }
      is_mine(session, user .. "@ZKTEST")
      session:close()
    end
  end))

  it("does not connect to a server that cannot read the ticket, or sends nonsense", run(function()
    local function with(pattern, first, hosts)
      local fake = sasl.start(first, first)
      says(pattern, { hosts = hosts or "localhost:" .. fake.hosts:match("%d+$") })
      for op in pairs(fake.counts) do assert.equal(sasl.OP, op) end
      fake:stop()
    end
    with("Kerberos cannot authenticate us to zookeeper@localhost: ", function(xid) return sasl.answer(xid, "nonsense") end)
    with("Kerberos cannot authenticate us to zookeeper@localhost: ", function(xid, token) return sasl.answer(xid, token) end)
    with("the server refused our ticket, or is not for GSSAPI; its log says why", function(xid) return sasl.answer(xid, "", -115) end)
    with("it answers another request", function(xid) return sasl.answer(xid + 1, "x") end)
  end))

  it("says that its ticket is not answered", run(function()
    local fake = sasl.start(function() return "" end, function() return "" end)
    local server_is = "localhost %(127%.0%.0%.1:%d+%)"
    silent(server_is .. " did not answer the handshake of SASL within %d+%.%d s; it did not say whether it accepts our ticket",
      { hosts = "localhost:" .. fake.hosts:match("%d+$") }, { sasl = account "ann", timeout = 4 })
    fake:stop()
  end))

  it("lets other sessions live while a KDC does not answer, and is closed at once", run(function()
    local other = open { sasl = { mechanism = "GSSAPI", keytab = realm.keytab }, timeout = 4 }
    local session = zk.session { hosts = plain(), sasl = account "ann@HUNG", timeout = 6 }
    local connection
    hung:settimeout(0)
    env.eventually("a request to the KDC", function()
      connection = hung:accept()
      return connection
    end)
    -- A busy machine may lose such a short session in one try. If nothing else went on, every try would lose it.
    env.eventually("a hold of another session outlives its lease", function()
      local hold, deadline = other:lock(env.namespace()):acquire(300), zk.now() + 5
      while hold and hold:valid() and zk.now() < deadline do
        other:exists("/")
        zk.sleep(0.05)
      end
      return hold and hold:valid()
    end)
    env.eventually("a reason", function()
      return session.trouble and session.trouble:find("SASL: Kerberos did not answer in time; is a KDC of the realm reachable", 1, true)
    end)
    local before = zk.now()
    session:close(0)
    assert.is_true(zk.now() - before < 3)
    connection:close()
    other:close()
  end))

  it("connects, or says that it cannot, if memory is exhausted at any allocation", run(function()
    allocations.at_every_connect(function() return zk.session { hosts = plain(), sasl = account "ann", timeout = 15 } end)
  end))

  it("leaves no memory and no descriptor", run(function()
    env.leaves_no_descriptor(function()
      local session = open()
      assert(session:exists("/"))
      assert(session:close(300))
    end)
  end))

  it("is refused if its options contradict each other", run(function()
    local function bad(pattern, options) raises(pattern, zk.session, { sasl = options }) end
    bad("option 'sasl': GSSAPI has no password, but tickets or a keytab", { mechanism = "GSSAPI", password = "x" })
    bad("option 'sasl': the user's name is empty", { mechanism = "GSSAPI", user = "" })
    bad("option 'sasl': DIGEST%-MD5 needs user and password, and has no keytab",
      { mechanism = "DIGEST-MD5", user = "a", password = "b", keytab = "c" })
  end))

  -- The last one: until Kerberos has given up those requests, other sessions would have to wait.
  it("has at most 16 requests that hang, and waits for none of them for ever", run(function()
    local many = {}
    local function has_too_many()
      for _, session in ipairs(many) do
        if session.trouble and session.trouble:find("SASL: no helper thread for Kerberos: ", 1, true) then return true end
      end
    end
    for i = 1, 17 do many[i] = zk.session { hosts = plain(), sasl = account "ann@HUNG", timeout = 2 } end
    env.eventually("too many requests", has_too_many, 90)
    for _, session in ipairs(many) do session:close(0) end
    local session = zk.session { hosts = plain(), sasl = account "ann", timeout = 30 }
    env.eventually("authentication", function() return session:connected(1) end)
    is_mine(session, "ann@ZKTEST")
    session:close()
  end))
end)
