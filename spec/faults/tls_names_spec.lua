-- Which names of a certificate are accepted for which name in hosts, or in tls.name; all others are refused.
-- Tags: sanitize

local zk = require "zkrecipes"
local env = require "spec.support.env"
local tls = require "spec.support.tls"
local certificates = require "zkrecipes.testing.certificates"
local run = env.run

describe("the name of a server", function()
  local folder, count = nil, 0

  setup(function() folder = tls.folder() end)
  teardown(function() tls.remove(folder) end)

  -- A server of TLS with a certificate for these names, which accepts the client and then says nothing.
  local function with(names, test, common_name)
    count = count + 1
    local behind = tls.talker(nil)
    local server = tls.openssl_server(certificates.issue(folder, common_name or "server" .. count, { names = names }), nil, behind.hosts)
    local ok, problem = zk.pcall(test, server)
    server.stop()
    behind.stop()
    if not ok then error(problem, 0) end
  end

  local ACCEPTED, REFUSED = "did not answer the handshake of ZooKeeper", "its certificate is not for "

  local function expect(wanted, other, server, name, hosts)
    local lines = {}
    local session = zk.session { hosts = hosts or server.hosts, timeout = 2, tls = { ca = folder .. "/ca.pem", name = name },
      log = function(_, line) lines[#lines + 1] = line end }
    env.eventually(wanted .. " of " .. (name or hosts), function() return session.trouble and session.trouble:find(wanted, 1, true) end)
    session:close(0)
    assert.is_nil(table.concat(lines, "\n"):find(other, 1, true))
    return table.concat(lines, "\n")
  end

  local function accepts(...) expect(ACCEPTED, REFUSED, ...) end
  local function refuses(...) return expect(REFUSED, ACCEPTED, ...) end

  it("is one of the certificate's, in whatever letters, and with a dot at its end", run(function()
    with("DNS:zk1.test,DNS:zk2.test", function(server)
      for _, name in ipairs { "zk1.test", "zk2.test", "ZK1.Test", "zk1.test." } do accepts(server, name) end
      for name in ("zk3.test test a.zk1.test zk1.tes zk1.test.evil zk1 xzk1.test zk1.test.. 127.0.0.1"):gmatch("%S+") do
        refuses(server, name)
      end
    end)
  end))

  it("is covered by a wildcard for one whole label", run(function()
    with("DNS:*.zk.test", function(server)
      accepts(server, "a.zk.test")
      accepts(server, "B.ZK.test.")
      for _, name in ipairs { "zk.test", "a.b.zk.test", "azk.test", "a.zk.test.evil" } do refuses(server, name) end
    end)
    for _, wildcard in ipairs { "*", "*.test", "a*.zk.test", "a.*.test", "*.*.test" } do
      with("DNS:" .. wildcard, function(server)
        refuses(server, "a.zk.test")
        refuses(server, "ab.zk.test")
        refuses(server, "zk.test")
      end)
    end
  end))

  it("is an address only if the certificate has it as an address", run(function()
    with("IP:127.0.0.1,IP:::1,DNS:127.0.0.2,DNS:*.0.0.3", function(server)
      for _, name in ipairs { "127.0.0.1", "::1", "0:0:0:0:0:0:0:1" } do accepts(server, name) end
      for _, name in ipairs { "127.0.0.2", "127.0.0.3", "127.1", "::2", "::ffff:127.0.0.1", "localhost" } do refuses(server, name) end
    end)
  end))

  it("is the first one that hosts has for an address", run(function()
    with("DNS:localhost", function(server)
      local port = server.hosts:match("%d+$")
      refuses(server, nil, ("127.0.0.1:%s,localhost:%s"):format(port, port))
      accepts(server, nil, ("localhost:%s,127.0.0.1:%s"):format(port, port))
    end)
  end))

  it("is the subject's CN only if the certificate has no names of servers", run(function()
    with("email:somebody@zk.test", function(server)
      accepts(server, "cn.test")
      assert.matches("is not for zk1%.test, and has no names of servers %(subjectAltName%)", refuses(server, "zk1.test"))
      refuses(server, "127.0.0.1")
    end, "cn.test")
    with("DNS:zk1.test", function(server) refuses(server, "cn2.test") end, "cn2.test")
  end))

  it("is shown without characters that a terminal obeys, and with addresses of both kinds", run(function()
    with("DNS:a\27[31mb\200.test,IP:10.1.2.3,IP:2001:db8::1", function(server)
      assert.matches("is not for zk1%.test but for a%?%[31mb%?%.test, 10%.1%.2%.3, 2001:db8::1;", refuses(server, "zk1.test"))
    end)
  end))

  it("is of no use if the certificate is for clients only", run(function()
    with("DNS:zk1.test\nextendedKeyUsage=clientAuth", function(server)
      expect("TLS: its certificate, or that of its CA, is not for servers; check its extendedKeyUsage", ACCEPTED, server, "zk1.test")
    end)
    with("DNS:zk1.test\nextendedKeyUsage=serverAuth", function(server) accepts(server, "zk1.test") end)
  end))

  it("is announced to the server, but no address is, and no dot at its end", run(function()
    local function hello(name)
      local server = tls.talker(nil)
      local session = zk.session { hosts = server.hosts, timeout = 60, tls = { ca = folder .. "/ca.pem", name = name } }
      local sent
      env.eventually("the first record", function()
        sent = server.sent[1] or ""
        return #sent > 5 and #sent >= 5 + sent:byte(4) * 256 + sent:byte(5)
      end)
      session:close(0)
      server.stop()
      return sent
    end
    for _, name in ipairs { "zk1.test", "zk1.test." } do
      assert.is_truthy(hello(name):find("\0\0\0\13\0\11\0\0\8zk1.test", 1, true)) -- the extension, its list, and the name
    end
    for _, address in ipairs { "127.0.0.1", "::1" } do assert.is_nil(hello(address):find(address, 1, true)) end
  end))

  it("is never empty, and never stands for all names that end with it", run(function()
    local function bad(name)
      env.raises("option 'tls': a name is not empty, and does not begin with a dot", zk.session, { tls = { name = name } })
    end
    bad ""
    bad ".test"
    bad "."
    env.raises("option 'tls': the name is longer than 255 bytes", zk.session, { tls = { name = ("x"):rep(256) } })
  end))
end)
