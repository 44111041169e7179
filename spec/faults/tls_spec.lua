-- Sessions with TLS on real servers: all that sessions do works; what goes over the wire is never plain text; new certificates need no
-- restart.
-- Tags: sanitize

local zk = require "zkrecipes"
local env = require "spec.support.env"
local process = require "spec.support.process"
local tls = require "spec.support.tls"
local certificates = require "zkrecipes.testing.certificates"
local testing = require "zkrecipes.testing"
local run, raises = env.run, env.raises

local SECRET = "what nobody may read"
local MEGABYTE = ("x"):rep(900000)

describe("a session with TLS", function()
  local server, strict, folder

  setup(function()
    folder = tls.folder()
    -- This server changes its keys after each 256 kB, also while we are sending.
    local file = assert(io.open(folder .. "/security", "w"))
    file:write("jdk.tls.keyLimits=AES/GCM/NoPadding KeyUpdate 2^18\n")
    file:close()
    server = assert(testing.start { tls = true, config = { maxSessionTimeout = "3600000" },
      jvm = { "-Xmx512m", "-Djava.security.properties=" .. folder .. "/security" } })
    strict = assert(testing.start { tls = true, config = { ["ssl.clientAuth"] = "need", ["ssl.protocol"] = "TLSv1.2",
      ["ssl.enabledProtocols"] = "TLSv1.2", ["ssl.ciphersuites"] = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256" } })
  end)

  teardown(function()
    server:stop()
    strict:stop()
    tls.remove(folder)
  end)

  local function open(options)
    local all = { hosts = server.hosts, tls = server.tls, tick = 0.5, timeout = 120, namespace = env.namespace() }
    for name, value in pairs(options or {}) do all[name] = value end
    local session = zk.session(all)
    assert(session:connected(300))
    return session
  end

  -- What plain sessions do too.
  local function use(session)
    assert(session:create("/a", SECRET))
    assert.equal(SECRET, (session:get("/a")))
    assert(session:create("/large", MEGABYTE))
    assert.equal(MEGABYTE, (session:get("/large")))
    local tasks, right = {}, 0
    for i = 1, 3000 do
      tasks[i] = function() if session:get("/a") == SECRET then right = right + 1 end end
    end
    for _ = 1, 3 do
      tasks[#tasks + 1] = function() assert(session:set("/large", MEGABYTE)) end
      tasks[#tasks + 1] = function() if session:get("/large") == MEGABYTE then right = right + 1 end end
    end
    zk.all(tasks)
    assert.equal(3003, right)
    local hold = assert(session:lock("/lock"):acquire(300))
    assert.is_true(hold:valid())
    hold:release()
  end

  local CASES = {
    { "by TLS 1.3, without a certificate", function() return { tls = { ca = server.tls.ca } } end },
    { "by TLS 1.3, with a certificate", function() return {} end },
    { "by TLS 1.2, with a certificate, which is demanded", function() return { hosts = strict.hosts, tls = strict.tls } end },
    { "with a name of its own", function() return { tls = { ca = server.tls.ca, name = "localhost" } } end },
    { "with the name in hosts", function() return { hosts = "localhost:" .. server.hosts:match("%d+$") } end },
    { "with an unverified server", function() return { tls = { verify = false } } end },
  }
  for _, case in ipairs(CASES) do
    it("works " .. case[1], run(function()
      local session = open(case[2]())
      use(session)
      session:close()
    end))
  end

  -- As from a server behind a proxy. A turn of the session takes less answers than one record can hold.
  it("takes all answers of one record, though nothing else arrives", run(function()
    -- This program of OpenSSL's serves one connection. If a busy machine cuts it, another one must be started.
    local relay, proxy, session
    local function stop()
      proxy.stop()
      relay.stop()
    end
    repeat
      relay = tls.relay("127.0.0.1:" .. server.port)
      proxy = tls.openssl_server(server.tls, "", relay.hosts)
      -- With this timeout the session sends nothing of its own accord meanwhile.
      session = zk.session { hosts = proxy.hosts, tls = server.tls, tick = 0.5, timeout = 3600, namespace = env.namespace() }
      local connected = session:connected(20)
      if not connected then
        session:close(0)
        stop()
      end
    until connected
    local answers, waiting, done = 700, "", 0
    relay.fault = function(_, bytes)
      local before = #waiting
      waiting = waiting .. bytes
      local all = before < answers * 20 and #waiting >= answers * 20
      return all and waiting or ""
    end
    for _ = 1, answers do
      zk.spawn(function()
        session:exists("/none")
        done = done + 1
      end)
    end
    env.eventually("all answers", function() return done == answers end)
    relay.fault = nil
    session:close(300)
    stop()
  end))

  it("ends its session on the server when it is closed", run(function()
    local session = open()
    assert(session:create("/mine", "", { ephemeral = true }))
    local id = session.id
    assert(session:close(300))
    local other = zk.session { hosts = "127.0.0.1:" .. server.port }
    assert(other:connected(300))
    env.eventually("its end", function() return not server:dump():find(id:gsub("^0+", ""), 1, true) end, 60)
    other:close()
  end))

  it("does not stop a process whose exit handlers close it", run(function()
    for _ = 1, 4 do
      local pipe = io.popen(("timeout 250 %s spec/support/exit_child.lua %s '%s' %s 2>&1; echo $?"):format(env.interpreter(), server.hosts,
        server.tls.ca, env.server().hosts))
      assert.equal("ends", pipe:read "*l")
      local began = zk.now()
      assert.equal("0", pipe:read "*l")
      pipe:close()
      assert.is_true(zk.now() - began < 9) -- 10 if it waits for the I/O thread, 0.25 if not
    end
  end))

  it("uses a certificate whose key has a password", run(function()
    local locked, asked = folder .. "/locked.key", 0
    process.output(("openssl ec -aes128 -passout pass:secret -in '%s' -out '%s' 2>&1"):format(strict.tls.key, locked))
    for _, password in ipairs { "secret", function()
      asked = asked + 1
      return "secret"
    end } do
      local session = open { hosts = strict.hosts, tls = { ca = strict.tls.ca, cert = strict.tls.cert, key = locked, password = password } }
      session:close()
    end
    assert.equal(1, asked)
  end))

  it("continues after restarts of the server, and after the end of connections", run(function()
    local relay = tls.relay(server.hosts)
    local session = open { hosts = relay.hosts, timeout = 120 }
    local id = session.id
    local hold = assert(session:lock("/lock"):acquire(300))
    for i = 1, 3 do
      if i == 2 then assert(server:restart()) else relay.cut() end
      env.eventually("the end of the link", function() return relay.connections > i end)
      assert(session:connected(300))
      assert(session:exists("/"))
    end
    assert.equal(id, session.id)
    assert.is_true(hold:valid())
    assert(session:close(300))
    relay.stop()
  end))

  it("moves to another member when a member of the ensemble dies", run(function()
    local ensemble = assert(testing.ensemble { tls = true, config = { syncLimit = 120 } })
    local session = open { hosts = ensemble.hosts, tls = ensemble.tls }
    local id = session.id
    assert(session:create("/a", SECRET))
    ensemble:leader(300):kill()
    assert(ensemble:leader(300))
    assert.equal(SECRET, (session:get("/a", { timeout = 300 })))
    assert.equal(id, session.id)
    session:close(1)
    ensemble:stop()
  end))

  it("verifies the name of each of several servers", run(function()
    local session = open { hosts = "127.0.0.2:1,localhost:" .. server.hosts:match("%d+$") .. ",127.0.0.1:1" }
    assert(session:create("/a"))
    session:close()
    -- 127.0.0.2 leads to the same server, which has no such name.
    local relay = tls.relay(server.hosts, "127.0.0.2")
    local other = zk.session { hosts = relay.hosts, tls = server.tls }
    env.eventually("a wrong name", function() return other.trouble and other.trouble:find("not for 127%.0%.0%.2 but for localhost") end)
    other:close(0)
    relay.stop()
  end))

  it("takes new certificates when it connects again", run(function()
    local function file(name) return folder .. "/" .. name end
    local function put(from, to) process.output(("cp '%s' '%s'"):format(from, to)) end
    local strange = tls.folder()
    put(strange .. "/ca.pem", file("now-ca.pem"))
    put(strict.tls.cert, file("now.pem"))
    put(strict.tls.key, file("now.key"))
    local relay = tls.relay(strict.hosts)
    local session = zk.session { hosts = relay.hosts, timeout = 120,
      tls = { ca = file("now-ca.pem"), cert = file("now.pem"), key = file("now.key") } }
    env.eventually("the wrong CA", function() return session.trouble and session.trouble:find("not from a CA", 1, true) end)
    put(strict.tls.ca, file("now-ca.pem"))
    assert(session:connected(300))
    local id = session.id
    local bad = certificates.issue(strange, "bad")
    put(bad.cert, file("now.pem"))
    put(bad.key, file("now.key"))
    relay.cut()
    env.eventually("the refused certificate", function()
      return session.trouble and session.trouble:find("refused our certificate", 1, true)
    end)
    put(strict.tls.cert, file("now.pem"))
    put(strict.tls.key, file("now.key"))
    assert(session:connected(300))
    assert.equal(id, session.id)
    session:close()
    relay.stop()
    tls.remove(strange)
  end))

  -- ---- The wire -------------------------------------------------------------------------------------------------------------------------

  local function check_wire(sent)
    for i, bytes in ipairs(sent) do
      assert.is_nil(tls.problem(bytes), "connection " .. i)
      assert.is_nil(bytes:find(SECRET, 1, true))
      if bytes ~= "" then assert.equal(22, bytes:byte(1)) end
    end
  end

  it("sends nothing in plain text, wherever the server's bytes end or change", run(function()
    local relay = tls.relay(server.hosts)
    local faults = tls.spoil(relay, 3000, 97)
    local tasks = {}
    -- Several sessions at once, so that the pauses after failures cost less time.
    for i = 1, 12 do
      tasks[i] = function()
        local session = zk.session { hosts = relay.hosts, tls = server.tls, timeout = 120, namespace = env.namespace() }
        while relay.connections < faults + 12 do
          session:create("/a-", SECRET, { sequential = true, timeout = 2 })
          if session.state == "connected" and relay.connections < faults + 12 then
            relay.cut()
            zk.sleep(0.2)
          end
        end
        session:close(1)
      end
    end
    zk.all(tasks)
    relay.stop()
    check_wire(relay.sent)
  end))

  it("sends nothing in plain text to a server that speaks none or another TLS", run(function()
    local servers = { tls.talker(nil), tls.talker("nonsense", true), tls.talker("", true), tls.talker(("\22\3\3\0\4abcd"):rep(100)) }
    for _, each in ipairs(servers) do
      local session = zk.session { hosts = each.hosts, tls = server.tls, timeout = 1,
        auth = { { scheme = "digest", credential = SECRET } } }
      env.eventually("three attempts", function() return each.connections >= 3 end)
      session:close(0)
      each.stop()
      check_wire(each.sent)
    end
  end))

  -- ---- The rest -------------------------------------------------------------------------------------------------------------------------

  it("leaves no memory and no descriptor", run(function()
    env.leaves_no_descriptor(function()
      local session = open { namespace = "/" }
      assert(session:exists("/"))
      assert(session:close(300))
    end)
  end))

  it("is refused if its options contradict each other", run(function()
    local function bad(pattern, options) raises(pattern, zk.session, options) end
    bad("option 'tls': boolean or table of options expected, got string", { tls = "yes" })
    bad("option 'tls': unknown option 'cafile'; there are: ca, cert, key, password, name, verify", { tls = { cafile = "x" } })
    bad("option 'tls': key and password need cert", { tls = { key = "x" } })
    bad("option 'tls': with verify = false, ca and name say nothing", { tls = { verify = false, ca = "x" } })
    bad("option 'guardian': the guardian speaks no TLS; see docs/tls%.md", { tls = true, guardian = true })
    bad("option 'tls', option 'password': the function returned no string but a nil", { tls = { cert = "x", password = function() end } })
    local session = zk.session { tls = false, guardian = false }
    session:close(0)
  end))
end)
