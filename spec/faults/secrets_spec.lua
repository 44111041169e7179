-- What a core dump of a process with credentials contains: of ours nothing. Those of the user's program, which are Lua's strings, are
-- overwritten first.

local env = require "spec.support.env"
local process = require "spec.support.process"
local testing = require "zkrecipes.testing"
local tls = require "spec.support.tls"

local PASSWORD = "the password that nobody may see"
local CREDENTIAL = "ann:"
for i = 1, 300 do CREDENTIAL = CREDENTIAL .. ("%x "):format(i * 7919) end

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
    server = assert(testing.start { tls = true, config = { ["ssl.clientAuth"] = "need" } })
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

  local function seen(hosts, key)
    local function file(path) return key and path or "" end
    return process.output(("%s spec/support/secret_child.lua %s '%s' '%s' '%s' %s %s %s 2>&1"):format(env.interpreter(), hosts,
      file(server.tls.ca), file(server.tls.cert), file(key), masked(CREDENTIAL), masked(PASSWORD), masked(line)))
  end

  -- While a session is open, the client library has a copy of the credential, which it sends again when it connects again.
  it("contains a credential once while the session is open, and then never", function()
    assert.equal("open: credential 1, password 0, key 0\nclosed: credential 0, password 0, key 0", seen("127.0.0.1:" .. server.port))
  end)

  it("contains neither a password nor the text of a key", function()
    local expected = "open: credential 1, password 0, key 0\nclosed: credential 0, password 0, key 0"
    assert.equal(expected, seen(server.hosts, locked))
    assert.equal(expected, seen(server.hosts, server.tls.key))
  end)
end)
