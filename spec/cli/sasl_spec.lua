-- zkr on a server with SASL: where the settings come from.

local testing = require "zkrecipes.testing"
local zkr = require "spec.support.zkr"

local _ = zkr.supported and describe("zkr with SASL", function()
  local server, folder

  setup(function()
    server = assert(testing.start { sasl = { ann = "sesame" } })
    folder = zkr.folder()
  end)

  teardown(function()
    server:stop()
    folder.remove()
  end)

  local function with(variables) return { hosts = server.hosts, env = variables } end

  local function fails(status, text, words, options)
    local out, got, err = zkr.run(words, options)
    assert.are.same({ "", status }, { out, got })
    assert.is_truthy(err:find(text, 1, true), err)
    assert.is_nil(err:find("sesame", 1, true))
  end

  it("proves who it is, so that only this user may read", function()
    local file = folder.write("password", "sesame\n")
    local ann = with { ZKR_SASL = "DIGEST-MD5", ZKR_SASL_USER = "ann", ZKR_SASL_PASSWORD_FILE = file }
    local _, status, err = zkr.run({ "create", "--acl", "sasl:ann:cdrwa", "/private", "mine" }, ann)
    assert.are.same({ 0, "" }, { status, err })
    assert.are.equal("mine", (zkr.run({ "get", "/private" }, ann)))
    assert.are.equal("mine", (zkr.run({ "get", "/private" },
      with { ZKR_SASL = "DIGEST-MD5", ZKR_SASL_USER = "ann", ZKR_SASL_PASSWORD = "sesame" })))
    folder.write("zkr", ("hosts = %s\nsasl = DIGEST-MD5\nsasl_user = ann\nsasl_password_file = %s\n"):format(server.hosts, file))
    local config = { XDG_CONFIG_HOME = folder.path, ZKR_HOSTS = "" }
    assert.are.equal("mine", (zkr.run({ "get", "/private" }, { env = config })))
    config.ZKR_SASL = "no"
    fails(125, "ACL", { "get", "/private" }, { env = config })
    local out = zkr.run({ "doctor" }, ann)
    assert.matches("Nothing is wrong", out)
  end)

  it("fails with the reason", function()
    fails(125, "check ZKR_AUTH_FILE, or sasl_user and its password", { "ls" },
      with { ZKR_SASL = "DIGEST-MD5", ZKR_SASL_USER = "ann", ZKR_SASL_PASSWORD = "wrong" })
    fails(2, "sasl is missing; say sasl = DIGEST-MD5, or GSSAPI", { "ls" }, with { ZKR_SASL_USER = "ann" })
    fails(2, "sasl", { "ls" }, with { ZKR_SASL = "PLAIN", ZKR_SASL_USER = "ann", ZKR_SASL_PASSWORD = "sesame" })
    fails(2, "sasl", { "ls" }, with { ZKR_SASL = "DIGEST-MD5", ZKR_SASL_USER = "ann" })
  end)
end)
