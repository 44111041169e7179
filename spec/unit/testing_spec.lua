-- zkrecipes.testing without a server: the session password, misuse, missing Java.

local process = require "spec.support.process"
local testing = require "zkrecipes.testing"
local wire = require "zkrecipes.testing.wire"

-- By java.util.Random(id ^ 0xB3415C00L).nextBytes(16)
local PASSWORDS = {
  ["0123456789abcdef"] = "f7cd1b8b3f946c477425d41be3f667c6",
  ["ffffffffffffffff"] = "20f62cb5648dc2d771471c8a2486a9ee",
  ["0000000000000001"] = "054cc74a37327db215e702e20c73f005",
}

-- Checks the message with its position, which luassert's own check removes.
local function error_of(misuse)
  return select(2, pcall(misuse))
end

local function run(environment, code)
  return process.output(("%s %s -e 'package.path = %q %s' 2>&1"):format(environment, process.interpreter, package.path,
    code))
end

describe("zkrecipes.testing", function()
  it("computes a session's password as the server does", function()
    for id, password in pairs(PASSWORDS) do assert.equal(password, wire.password(id)) end
  end)

  it("raises misuse at the caller's line", function()
    local here = "testing_spec.lua:%d+: "
    assert.matches(here .. "unknown option 'ports'", error_of(function() testing.start{ ports = 2181 } end))
    assert.matches(here .. "option 'jvm' must be a table", error_of(function() testing.start{ jvm = "-Xmx1g" } end))
    for _, users in ipairs { { 1 }, { bob = 1 }, { ["b b"] = "x" }, { bob = "two\nlines" } } do
      assert.matches(here .. "option 'sasl' must have names", error_of(function() testing.start{ sasl = users } end))
    end
    assert.matches(here .. "options must be a table", error_of(function() testing.ensemble(7) end))
    for _, port in ipairs { 0, 1.5, 65536 } do
      assert.matches(here .. "option 'port' must be a whole number", error_of(function() testing.start{ port = port } end))
    end
    assert.matches(here .. "option 'port' is for one server", error_of(function() testing.ensemble{ port = 2181 } end))
    assert.matches(here .. "an ensemble has 2 to 9", error_of(function() testing.ensemble{ members = 1 } end))
    assert.matches(here .. "expire needs a test server", error_of(function() testing.expire({}, "0") end))
    assert.matches(here .. "a session id is", error_of(function() testing.expire({ port = "1" }, "0") end))
  end)

  it("says what to install when Java is missing", function()
    local text = run("JAVA_HOME=/nonexistent", [[print(require "zkrecipes.testing".start())]])
    assert.matches('^nil%s+no Java found: install .*"default%-jre%-headless".*%s+unsupported$', text)
  end)

  it("shows the end of the log when the server does not start, and leaves nothing", function()
    local server, message, code = testing.start{ jvm = { "-Xnonsense" } }
    assert.is_nil(server)
    assert.matches("ended while it started; the end of its log:.*Unrecognized option: %-Xnonsense", message)
    assert.equal("start_failed", code)
  end)
end)
