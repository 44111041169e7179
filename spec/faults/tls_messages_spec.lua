-- What the log says when a TLS connection fails: with which server, why, and what to do.
-- Tags: sanitize

local zk = require "zkrecipes"
local env = require "spec.support.env"
local process = require "spec.support.process"
local silent = require "spec.support.silent"
local tls = require "spec.support.tls"
local told_once = require "spec.support.told_once"
local certificates = require "zkrecipes.testing.certificates"
local run = env.run

describe("a TLS connection that fails", function()
  local folder, other, good

  setup(function()
    folder, other = tls.folder(), tls.folder()
    good = certificates.issue(folder, "good")
  end)

  teardown(function()
    tls.remove(folder)
    tls.remove(other)
  end)

  -- Fails unless a session with these options never connects and its log has this pattern; no line of it twice.
  local function says(pattern, hosts, options)
    local lines = {}
    local session = zk.session { hosts = hosts, tls = options, timeout = 30, log = function(_, line) lines[#lines + 1] = line end }
    env.eventually(pattern .. " in:\n" .. hosts, function() return session.trouble and session.trouble:find(pattern) end)
    env.eventually("the message has it", function() -- a busy machine may give another reason, and then this one again
      return env.fails("connection_loss", session:connected(0.3)):find(pattern)
    end)
    local text = table.concat(lines, "\n")
    assert.matches(pattern, text)
    assert.is_nil(text:find("zk retcode", 1, true))
    told_once(lines)
    session:close(0)
    return text
  end

  local function with(server, test)
    test(server.hosts)
    server.stop()
  end

  it("names the CA that is not trusted", run(function()
    with(tls.openssl_server(good), function(hosts)
      local pattern = "127%.0%.0%.1:%d+: TLS: its certificate is not from a CA that the session trusts; set tls%.ca"
      says(pattern, hosts, { ca = other .. "/ca.pem" })
      says(pattern, hosts, true)
    end)
  end))

  it("names the names of the certificate", run(function()
    local elsewhere = certificates.issue(folder, "elsewhere", { names = "DNS:zk1.test,DNS:zk2.test,IP:10.1.2.3" })
    with(tls.openssl_server(elsewhere), function(hosts)
      local ca, port = folder .. "/ca.pem", hosts:match("%d+$")
      says("not for 127%.0%.0%.1 but for zk1%.test, zk2%.test, 10%.1%.2%.3; use one of these names in hosts, or set tls%.name",
        hosts, { ca = ca })
      says("localhost %(127%.0%.0%.1:%d+%): TLS: its certificate is not for localhost but", "localhost:" .. port, { ca = ca })
      says("certificate is not for zk3%.test but", hosts, { ca = ca, name = "zk3.test" })
    end)
  end))

  it("says that a certificate has expired, or is not valid yet", run(function()
    local old = certificates.issue(folder, "old", { from = "20200101000000Z", to = "20210101000000Z" })
    local new = certificates.issue(folder, "new", { from = "20900101000000Z", to = "20910101000000Z" })
    with(tls.openssl_server(old), function(hosts)
      says("TLS: its certificate, or that of its CA, has expired; renew it, or correct the clock", hosts, { ca = folder .. "/ca.pem" })
    end)
    with(tls.openssl_server(new), function(hosts)
      says("TLS: its certificate, or that of its CA, is not valid yet; correct the clock", hosts, { ca = folder .. "/ca.pem" })
    end)
  end))

  for _, version in ipairs { "-tls1_2", "-tls1_3" } do
    it("says that our certificate is demanded, or refused, with " .. version, run(function()
      local strange = certificates.issue(other, "strange")
      with(tls.openssl_server(good, ("%s -Verify 1 -verify_return_error -CAfile %s/ca.pem"):format(version, folder)), function(hosts)
        local ca = folder .. "/ca.pem"
        says("TLS: the server demands a certificate of the client; set tls%.cert and tls%.key", hosts, { ca = ca })
        says("TLS: the server refused our certificate; check tls%.cert, and the server's ssl%.trustStore", hosts,
          { ca = ca, cert = strange.cert, key = strange.key })
      end)
    end))
  end

  it("says that no version of TLS fits", run(function()
    with(tls.openssl_server(good, "-tls1_1 -cipher DEFAULT@SECLEVEL=0"), function(hosts)
      says("TLS: the server accepts neither our versions of TLS %(1%.2 and newer%) nor our ciphers; check its ssl%.enabledProtocols", hosts,
        { ca = good.ca })
    end)
  end))

  it("says so too if the system's configuration allows old versions", run(function()
    local configuration = folder .. "/openssl.cnf"
    local file = assert(io.open(configuration, "w"))
    file:write("openssl_conf = main\n[main]\nssl_conf = ssl\n[ssl]\nsystem_default = all\n",
      "[all]\nMinProtocol = TLSv1\nCipherString = DEFAULT@SECLEVEL=0\n")
    file:close()
    with(tls.openssl_server(good, "-tls1_1 -cipher DEFAULT@SECLEVEL=0"), function(hosts)
      local function output(command) return process.output(("OPENSSL_CONF='%s' %s 2>&1"):format(configuration, command)) end
      assert.matches("Protocol *: TLSv1%.1", output("openssl s_client -connect " .. hosts .. " </dev/null"))
      assert.matches("the server accepts neither our versions of TLS %(1%.2 and newer%)",
        output(("%s spec/support/tls_child.lua %s %s trouble"):format(env.interpreter(), hosts, good.ca)))
    end)
  end))

  it("names the file that cannot be read, and the key that does not fit", run(function()
    local locked = folder .. "/locked.key"
    process.output(("openssl ec -aes128 -passout pass:secret -in '%s' -out '%s' 2>&1"):format(good.key, locked))
    local another = certificates.issue(folder, "another")
    with(tls.talker(nil), function(hosts)
      local function cannot(what, options) says("127%.0%.0%.1:%d+: " .. what, hosts, options) end
      cannot("cannot read the file of tls%.ca, /none/ca%.pem: No such file or directory", { ca = "/none/ca.pem" })
      cannot("cannot read the file of tls%.ca, .*good%.key: it is not what it should be, in PEM form", { ca = good.key })
      cannot("cannot read the file of tls%.cert, /none/cert%.pem: No such file", { ca = good.ca, cert = "/none/cert.pem", key = good.key })
      cannot("cannot read the file of tls%.key, /none/key%.pem: No such file", { ca = good.ca, cert = good.cert, key = "/none/key.pem" })
      cannot("cannot read the file of tls%.key, .*good%.pem", { ca = good.ca, cert = good.cert })
      cannot("the key in .*another%.key does not belong to the certificate in .*good%.pem; check tls%.key and tls%.cert",
        { ca = good.ca, cert = good.cert, key = another.key })
      cannot("the key in .*locked%.key is encrypted, and tls%.password is not given", { ca = good.ca, cert = good.cert, key = locked })
      cannot("the key in .*locked%.key is encrypted, and tls%.password is wrong",
        { ca = good.ca, cert = good.cert, key = locked, password = function() return "wrong" end })
    end)
  end))

  it("says that the port is not one for TLS", run(function()
    says("127%.0%.0%.1:%d+: TLS: it broke the connection off during the handshake.*; is this its port for TLS %(secureClientPort%)%?",
      env.server().hosts, { ca = good.ca })
    with(tls.talker("SSH-2.0-OpenSSH_9.2\r\n", true), function(hosts)
      says("TLS: it does not speak TLS on this port; use its port for TLS %(secureClientPort%)", hosts, { ca = good.ca })
    end)
    with(tls.talker("HTTP/1.1 400 Bad Request\r\n\r\n"), function(hosts)
      says("TLS: it does not speak TLS on this port; use its port for TLS %(secureClientPort%)", hosts, { ca = good.ca })
    end)
    with(tls.talker("\22\3\3\0\4abcd"), function(hosts)
      says("127%.0%.0%.1:%d+: TLS: it sent invalid data: ", hosts, { ca = good.ca })
    end)
  end))

  it("says which step is not answered", run(function()
    local server = tls.talker(nil)
    silent("127%.0%.0%.1:%d+ did not answer the handshake of TLS within %d+%.%d s; is this its port for TLS %(secureClientPort%)%?", server,
      { tls = { ca = good.ca } })
    server.stop()
    local behind = tls.talker(nil)
    with(tls.openssl_server(good, nil, behind.hosts), function(hosts)
      silent("127%.0%.0%.1:%d+ did not answer the handshake of ZooKeeper within %d+%.%d s; is it starting, or overloaded%?",
        { hosts = hosts }, { tls = { ca = good.ca } })
    end)
    behind.stop()
  end))

  it("says that not even the attempt to connect is answered", run(function()
    local full = tls.full()
    for _, options in ipairs { { tls = { ca = good.ca } }, { tls = false } } do
      silent("127%.0%.0%.1:%d+ did not answer our attempt to connect within %d+%.%d s; is it down, or is a firewall in between%?",
        full, options)
    end
    full.stop()
  end))

  it("says that no server listens", run(function()
    says("127%.0%.0%.1:1: cannot connect: Connection refused", "127.0.0.1:1", { ca = good.ca })
  end))

  it("is not repeated many times per second", run(function()
    local server = tls.talker("nonsense, again and again")
    local session = zk.session { hosts = server.hosts, tls = { ca = good.ca }, timeout = 30 }
    zk.sleep(5) -- pauses of 0.1, 0.2, 0.4, 0.8, 1.6 ... s: a busy machine makes less of them
    assert.is_true(server.connections >= 1 and server.connections <= 8, server.connections .. " connections")
    session:close(0)
    server.stop()
  end))
end)
