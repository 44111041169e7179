-- Sessions with SASL on real servers: who they are, that they are it again on each connection, and that nothing is sent before.
-- Tags: sanitize

local zk = require "zkrecipes"
local allocations = require "spec.support.allocations"
local env = require "spec.support.env"
local sasl = require "spec.support.sasl"
local tls = require "spec.support.tls"
local testing = require "zkrecipes.testing"
local run, fails, raises = env.run, env.fails, env.raises

-- The blocks of the hash have 64 bytes. "user:zk-sasl-md5:" has 17 of the first.
local USERS = { bob = "secret that nobody may read", eve = "other" }
for _, length in ipairs { 1, 37, 38, 39, 46, 47, 48, 101, 102, 103, 110, 111, 112, 300 } do
  USERS["user" .. length % 10] = ("p"):rep(length)
end
local SPECIAL = { user_1 = [[a "b" \c\\ ,d=e]], user_2 = "na\195\175f", user_3 = "\226\130\172 \195\169", user_4 = " " }

describe("a session with SASL", function()
  local server

  setup(function()
    local users = {}
    for user, password in pairs(USERS) do users[user] = password end
    for user, password in pairs(SPECIAL) do users[user] = password end
    server = assert(testing.start { sasl = users, tls = true,
      config = { maxSessionTimeout = 3600000, sessionRequireClientSASLAuth = "true" } })
  end)

  teardown(function() server:stop() end)

  local function plain() return "127.0.0.1:" .. server.port end

  local function account(user)
    return { mechanism = "DIGEST-MD5", user = user, password = USERS[user] or SPECIAL[user] }
  end

  local function open(options)
    local all = { hosts = plain(), sasl = account("bob"), tick = 0.5, timeout = 120 }
    for name, value in pairs(options or {}) do all[name] = value end
    local session = zk.session(all)
    assert(session:connected(300))
    return session
  end

  -- What other sessions do too, and what only this user may do.
  local function use(session)
    session = assert(session)
    local path = env.namespace()
    assert(session:create(path, "mine", { acl = "creator" }))
    local entry = assert(session:get_acl(path))[1]
    assert.equal("sasl", entry.scheme)
    assert.equal("bob", entry.id)
    assert.equal("mine", (session:get(path)))
    local large = ("x"):rep(900000)
    assert(session:set(path, large))
    assert.equal(large, (session:get(path)))
    local hold = assert(session:lock(path .. "/lock"):acquire(300))
    assert.is_true(hold:valid())
    hold:release()
    return path
  end

  it("is the user, and other users are not", run(function()
    local session, other = open(), open { sasl = account("eve") }
    local path = use(session)
    fails("no_auth", other:get(path))
    session:close()
    other:close()
  end))

  it("is the user over TLS too, with and without a certificate", run(function()
    for _, options in ipairs { server.tls, { ca = server.tls.ca } } do
      local session = open { hosts = server.hosts, tls = options }
      local path = env.namespace()
      assert(session:create(path, "mine", { acl = { { scheme = "sasl", id = "bob", perms = "rwcda" } } }))
      assert.equal("mine", (session:get(path)))
      local other = open { sasl = account("eve") }
      fails("no_auth", other:get(path))
      other:close()
      session:close()
    end
  end))

  it("takes passwords of all lengths and characters, also from a function", run(function()
    local asked, count = 0, 0
    for _, users in ipairs { USERS, SPECIAL } do
      for user, password in pairs(users) do
        local session = open { sasl = { mechanism = "DIGEST-MD5", user = user, password = function()
          asked = asked + 1
          return password
        end } }
        session:close()
        count = count + 1
      end
    end
    assert.equal(count, asked)
    assert.is_true(count > 12)
  end))

  it("uses credentials of other schemes as well", run(function()
    local session = open { auth = { { scheme = "digest", credential = "ann:1" } } }
    local path = env.namespace()
    assert(session:create(path, "", { acl = "creator" }))
    assert.equal(2, #session:get_acl(path))
    session:close()
  end))

  it("ends its session on the server when it is closed", run(function()
    local session, other = open(), open()
    local path = env.namespace()
    assert(session:create(path, "", { ephemeral = true }))
    assert(session:close(300))
    env.eventually("its end", function() return other:exists(path) == false end, 60)
    other:close()
  end))

  -- ---- Later connections ----------------------------------------------------------------------------------------------------------------

  it("is authenticated again after the end of a connection, and after a restart of the server", run(function()
    local relay = tls.relay(plain())
    local session = open { hosts = relay.hosts }
    local id, path = session.id, env.namespace()
    assert(session:create(path, "mine", { acl = "creator" }))
    local hold = assert(session:lock(env.namespace()):acquire(300))
    for i = 1, 4 do
      if i == 2 then assert(server:restart()) else relay.cut() end
      env.eventually("the end of the link", function() return relay.connections > i end)
      assert(session:connected(300))
      assert.equal("mine", (session:get(path, { timeout = 300 })))
    end
    assert.equal(id, session.id)
    assert.is_true(hold:valid())
    session:close(300)
    relay.stop()
  end))

  it("continues its watches", run(function()
    local relay = tls.relay(plain())
    local session, other = open { hosts = relay.hosts }, open()
    local path = env.namespace()
    assert(other:create(path, "1"))
    local watch = assert(session:watch(path))
    assert(session:get(path))
    relay.cut()
    env.eventually("the end of the link", function() return relay.connections > 1 end)
    assert(session:connected(300))
    assert(other:set(path, "2"))
    assert(watch:wait(300))
    watch:close()
    session:close(300)
    other:close()
    relay.stop()
  end))

  it("is authenticated in a new session too, after the old one was lost", run(function()
    local relay, dark = tls.relay(plain()), false
    local session = open { hosts = relay.hosts, timeout = 20 }
    local id, path = session.id, env.namespace()
    assert(session:create(path, "mine", { acl = "creator" }))
    relay.fault = function(_, bytes) return not dark and bytes or nil end
    dark = true
    relay.cut()
    for state in session:states() do
      if state == "lost" then break end
    end
    dark = false
    env.eventually("a new session", function() return session:connected(1) end)
    assert.equal("mine", (session:get(path, { timeout = 300 })))
    assert.are_not.equal(id, session.id)
    session:close(300)
    relay.stop()
  end))

  it("moves to another member when a member of the ensemble dies", run(function()
    local ensemble = assert(testing.ensemble { sasl = USERS, config = { syncLimit = 120 } })
    local session = open { hosts = ensemble.hosts }
    local id, path = session.id, env.namespace()
    assert(session:create(path, "mine", { acl = "creator" }))
    ensemble:leader(300):kill()
    assert(ensemble:leader(300))
    assert.equal("mine", (session:get(path, { timeout = 300 })))
    assert.equal(id, session.id)
    session:close(1)
    ensemble:stop()
  end))

  -- ---- The wire -------------------------------------------------------------------------------------------------------------------------

  -- Nothing but the handshake and SASL before the second answer to SASL; and never the password.
  local function check_wire(sent)
    local complete = 0
    for i, bytes in ipairs(sent) do
      assert.is_nil(bytes:find(USERS.bob, 1, true))
      local operations = sasl.operations(bytes)
      for k = 1, #operations do
        local expected = k == 1 and "handshake" or k <= 3 and sasl.OP
        if expected then assert.equal(expected, operations[k], ("frame %d of connection %d"):format(k, i)) end
      end
      if #operations > 3 then complete = complete + 1 end
    end
    return complete
  end

  it("sends nothing else before it is authenticated, wherever the server's bytes end, change or stop", run(function()
    local relay = tls.relay(plain())
    local faults = tls.spoil(relay, 240, 7)
    local tasks = {}
    for i = 1, 12 do
      tasks[i] = function()
        local session = zk.session { hosts = relay.hosts, sasl = account("bob"), timeout = 120,
          auth = { { scheme = "digest", credential = "a:b" } } }
        local watch = session:watch(env.namespace())
        while relay.connections < faults + 12 and session.state ~= "closed" do
          session:create(env.namespace(), "x", { timeout = 2 })
          if session.state == "connected" and relay.connections < faults + 12 then
            relay.cut()
            zk.sleep(0.2)
          end
        end
        watch:close()
        session:close(1)
      end
    end
    zk.all(tasks)
    relay.stop()
    assert.is_true(check_wire(relay.sent) > 0)
  end))

  -- ---- The rest -------------------------------------------------------------------------------------------------------------------------

  it("connects, or says that it cannot, if memory is exhausted at any allocation", run(function()
    allocations.at_every_connect(function() return zk.session { hosts = plain(), sasl = account("bob"), timeout = 15 } end)
  end))

  it("leaves no memory and no descriptor", run(function()
    env.leaves_no_descriptor(function()
      local session = open()
      assert(session:exists("/"))
      assert(session:close(300))
    end)
  end))

  it("is refused if its options are incomplete or contradict each other", run(function()
    local function bad(pattern, options) raises(pattern, zk.session, options) end
    bad("option 'sasl': table of options expected, got boolean", { sasl = true })
    bad("option 'sasl': unknown option 'username'; there are: mechanism, user, password, keytab", { sasl = { username = "x" } })
    bad("option 'sasl': the mechanism must be \"DIGEST%-MD5\" or \"GSSAPI\"", { sasl = {} })
    bad("option 'sasl': the mechanism must be \"DIGEST%-MD5\" or \"GSSAPI\"", { sasl = { mechanism = "PLAIN" } })
    bad("option 'sasl': DIGEST%-MD5 needs user and password", { sasl = { mechanism = "DIGEST-MD5", user = "a" } })
    bad("option 'sasl': the user's name is empty", { sasl = { mechanism = "DIGEST-MD5", user = "", password = "b" } })
    bad("option 'sasl', option 'password': string expected, got number", { sasl = { mechanism = "DIGEST-MD5", user = "a", password = 1 } })
    bad("option 'sasl': the user's name is longer than 255 bytes",
      { sasl = { mechanism = "DIGEST-MD5", user = ("x"):rep(256), password = "" } })
    bad("option 'guardian': the guardian speaks no SASL; see docs/sasl%.md", { sasl = account("bob"), guardian = true })
    bad("option 'sasl', option 'password': the function returned no string but a nil",
      { sasl = { mechanism = "DIGEST-MD5", user = "a", password = function() end } })
  end))
end)
