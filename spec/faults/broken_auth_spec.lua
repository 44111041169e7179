-- The connection breaks in the call that gives a credential to the client library. The library says that it did not take it, but answers it
-- later, when it notices the loss.

local env = require "spec.support.env"
local process = require "spec.support.process"

describe("add_auth while the connection breaks", function()
  it("is answered once", function()
    local preloaded = os.getenv("LUA_CPATH"):match("^[^;]*"):gsub("%?", "spec_secrets")
    local command = "env LD_PRELOAD=%s BROKEN_AUTH=1 %s spec/support/auth_child.lua %s 2>&1"
    local said = process.output(command:format(preloaded, env.interpreter(), env.server().hosts))
    assert.equal("added: true\nclosed", said)
  end)
end)
