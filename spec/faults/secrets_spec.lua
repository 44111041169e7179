-- What a core dump of a process with credentials contains: of ours nothing. Those of the user's program, which are Lua's strings, are
-- overwritten first. And our copies are not swapped out, and are overwritten at their end.

local env = require "spec.support.env"
local process = require "spec.support.process"
local testing = require "zkrecipes.testing"
local tls = require "spec.support.tls"

local PASSWORD = "the password that nobody may see"
local CREDENTIAL = "ann:"
for i = 1, 300 do CREDENTIAL = CREDENTIAL .. ("%x "):format(i * 7919) end
-- Only in a response of DIGEST-MD5 are these two beside one another.
local RESPONSE = [[zk-sasl-md5",nc=00000001]]

-- As spec/support/memory.c unmasks it.
local function masked(text)
  return (text:gsub(".", function(byte)
    local value, mask, result, bit = byte:byte(), 0x55, 0, 1
    while bit < 256 do
      if value % 2 ~= mask % 2 then result = result + bit end
      value, mask, bit = math.floor(value / 2), math.floor(mask / 2), bit * 2
    end
    return ("%02x"):format(result)
  end))
end

describe("a core dump", function()
  local server, folder, locked, line

  setup(function()
    server = assert(testing.start { tls = true, sasl = { bob = PASSWORD }, config = { ["ssl.clientAuth"] = "need" } })
    folder = tls.folder()
    locked = folder .. "/locked.key"
    process.output(("openssl ec -aes128 -passout 'pass:%s' -in '%s' -out '%s' 2>&1"):format(PASSWORD, server.tls.key, locked))
    line = process.output(("sed -n 2p '%s'"):format(server.tls.key))
    assert.equal(64, #line)
  end)

  teardown(function()
    server:stop()
    tls.remove(folder)
  end)

  local function plain() return "127.0.0.1:" .. server.port end

  -- options: key (of TLS), user (of SASL), how, and variables of the environment for spec/support/secrets.c.
  local function seen(hosts, options)
    options = options or {}
    local function file(path) return options.key and path or "" end
    local preloaded = os.getenv("LUA_CPATH"):match("^[^;]*"):gsub("%?", "spec_secrets")
    local secrets = ("credential=%s password=%s key=%s response=%s"):format(masked(CREDENTIAL), masked(PASSWORD), masked(line),
      masked(RESPONSE))
    return process.output(("env LD_PRELOAD=%s %s %s spec/support/secret_child.lua %s '%s' '%s' '%s' '%s' '%s' %s 2>&1"):format(preloaded,
      options.variables or "", env.interpreter(), hosts, file(server.tls.ca), file(server.tls.cert), file(options.key), options.user or "",
      options.how or "", secrets))
  end

  local CLOSED = "closed: credential 0, password 0, key 0, response 0"
  local WITH_PASSWORD = "open: credential 1 locked, password 0 locked, key 0, response 0\n" .. CLOSED

  -- While a session is open, the client library has a copy of the credential, which it sends again when it connects again.
  it("contains a credential once while the session is open, and then never", function()
    assert.equal("open: credential 1 locked, password 0, key 0, response 0\n" .. CLOSED, seen(plain()))
  end)

  it("contains neither a password nor the text of a key", function()
    assert.equal(WITH_PASSWORD, seen(server.hosts, { key = locked }))
    assert.equal(WITH_PASSWORD, seen(server.hosts, { key = server.tls.key }))
  end)

  it("contains neither a password of SASL nor the response that is made of it", function()
    assert.equal(WITH_PASSWORD, seen(plain(), { user = "bob" }))
    assert.equal(WITH_PASSWORD, seen(server.hosts, { user = "bob", key = server.tls.key }))
  end)

  it("contains nothing of what the network takes in pieces", function()
    for _, size in ipairs { 64, 200 } do
      assert.equal(WITH_PASSWORD, seen(plain(), { user = "bob", variables = "SHORT_SENDS=" .. size }))
    end
  end)

  it("contains nothing of what the network did not take before the end", function()
    assert.equal("stuck\n" .. CLOSED, seen(plain(), { how = "stuck", variables = "SHORT_SENDS=64 SHORT_STOPS=1" }))
  end)
end)
