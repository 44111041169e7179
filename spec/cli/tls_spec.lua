-- zkr on a server with TLS that demands a certificate: where the settings come from, and what zkr does without words and guardian.

local env = require "spec.support.env"
local process = require "spec.support.process"
local testing = require "zkrecipes.testing"
local zkr = require "spec.support.zkr"

local _ = zkr.supported and describe("zkr with TLS", function()
  local server, folder, locked

  setup(function()
    server = assert(testing.start { tls = true, config = { ["ssl.clientAuth"] = "need" } })
    folder = zkr.folder()
    locked = folder.path .. "/locked.key"
    process.output(("openssl ec -aes128 -passout pass:sesame -in '%s' -out '%s' 2>&1"):format(server.tls.key, locked))
  end)

  teardown(function()
    server:stop()
    folder.remove()
  end)

  local function with(variables)
    local all = { ZKR_TLS_CA = server.tls.ca, ZKR_TLS_CERT = server.tls.cert, ZKR_TLS_KEY = server.tls.key }
    for name, value in pairs(variables or {}) do all[name] = value end
    return { hosts = server.hosts, env = all }
  end

  local function well(words, options)
    local out, status, err = zkr.run(words, options)
    assert.are.same({ "", 0 }, { err, status })
    return out
  end

  -- A short --timeout may pass for another reason on a busy machine. Then it is called again.
  local function fails(status, text, words, options)
    local out, got, err
    zkr.eventually(function()
      out, got, err = zkr.run(words, options)
      return err:find(text, 1, true)
    end)
    assert.are.same({ "", status }, { out, got })
    assert.is_truthy(err:find(text, 1, true), err)
    assert.is_nil(err:find("sesame", 1, true))
  end

  it("takes its settings from the environment", function()
    assert.are.equal("config\nquota\n", well({ "ls", "/zookeeper" }, with()))
    assert.are.equal("config\nquota\n", well({ "ls", "/zookeeper" }, with { ZKR_TLS = "yes" }))
    fails(125, "not for zk1.example but for localhost", { "--timeout", "2", "ls" }, with { ZKR_TLS_NAME = "zk1.example" })
    fails(125, "not from a CA that the session trusts", { "--timeout", "2", "ls" },
      { hosts = server.hosts, env = { ZKR_TLS = "yes" } })
    fails(2, "tls is 'please'; say yes or no", { "ls" }, with { ZKR_TLS = "please" })
    fails(2, "option 'tls': key and password need cert", { "ls" }, with { ZKR_TLS_CERT = "" })
  end)

  it("takes its settings from the file", function()
    local plain = "127.0.0.1:" .. server.port
    folder.write("zkr", ("hosts = %s\ntls_ca = %s\ntls_cert = %s\ntls_key = %s\n"):format(server.hosts, server.tls.ca, server.tls.cert,
      server.tls.key))
    local file = { XDG_CONFIG_HOME = folder.path, ZKR_HOSTS = "" }
    assert.are.equal("config\nquota\n", well({ "ls", "/zookeeper" }, { env = file }))
    fails(125, "no server answered", { "-s", plain, "--timeout", "2", "ls" }, { env = file })
    file.ZKR_TLS = "no"
    assert.are.equal("config\nquota\n", well({ "-s", plain, "ls", "/zookeeper" }, { env = file }))
  end)

  it("takes the key's password from a file that only the user may read, or from the environment", function()
    local password = folder.write("password", "sesame\n")
    assert.are.equal("config\nquota\n", well({ "ls", "/zookeeper" }, with { ZKR_TLS_KEY = locked, ZKR_TLS_PASSWORD_FILE = password }))
    assert.are.equal("config\nquota\n", well({ "ls", "/zookeeper" }, with { ZKR_TLS_KEY = locked, ZKR_TLS_PASSWORD = "sesame" }))
    fails(125, "is encrypted, and tls.password is not given", { "--timeout", "2", "ls" }, with { ZKR_TLS_KEY = locked })
    os.execute("chmod 640 " .. password)
    fails(2, "password: other users may read the password; chmod 600 /", { "ls" }, with { ZKR_TLS_PASSWORD_FILE = password })
    fails(2, "/none: the password cannot be read", { "ls" }, with { ZKR_TLS_PASSWORD_FILE = "/none" })
    fails(2, "empty: the password cannot be read", { "ls" }, with { ZKR_TLS_PASSWORD_FILE = folder.write("empty", "") })
  end)

  it("runs commands, works on queues, and shows who holds", function()
    local options = with()
    options.namespace = env.namespace()
    assert.are.equal("inside\n", well({ "lock", "/l", "--", "echo", "inside" }, options))
    well({ "queue", "put", "/jobs", "one" }, options)
    assert.are.equal("one", well({ "queue", "work", "--drain", "/jobs", "--", "cat" }, options))
    local started = zkr.start({ "lock", "/l", "--", "sh", "-c", "echo in; exec sleep 1000" }, options)
    assert.are.equal("in", started:line())
    local out, status, err = zkr.run({ "holders", "/l" }, options)
    assert.are.equal(0, status)
    assert.matches("\nholds  ", out)
    assert.are.equal("zkr: the hosts are unknown, because four-letter words are not asked by TLS\n", err)
    started:signal "TERM"
    started:finish()
  end)

  it("finds nothing wrong with a server that it cannot ask for words", function()
    local out = well({ "doctor" }, with())
    assert.matches("\n127%.0%.0%.1:%d+  unknown  %d+%.%d ms +unknown  unknown\n\nNothing is wrong%.\n$", out)
    assert(zkr.eventually(function() -- a busy machine may have another reason within these two seconds
      out = zkr.run({ "--timeout", "2", "doctor" }, with { ZKR_TLS_NAME = "zk1.example" })
      return out:find("lets no session in: [^\n]*not for zk1%.example")
    end), out)
  end)
end)
