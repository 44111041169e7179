-- Memory that is exhausted while a session with TLS is opened and used: in the module at every allocation, in OpenSSL at many of them. The
-- connection is lost then, and the session connects again.
-- Tags: sanitize

local core = require "zkrecipes.core"
local zk = require "zkrecipes"
local allocations = require "spec.support.allocations"
local env = require "spec.support.env"
local process = require "spec.support.process"
local testing = require "zkrecipes.testing"

describe("exhausted memory with TLS", function()
  local server

  setup(function() server = assert(testing.start { tls = true }) end)
  teardown(function() server:stop() end)

  it("in opening, using and closing a session", env.run(function()
    local count = allocations.at_every(function()
      local session = allocations.check(zk.session { hosts = server.hosts, timeout = 30,
        auth = { { scheme = "digest", credential = "a:b" } },
        tls = { ca = server.tls.ca, cert = server.tls.cert, key = server.tls.key, password = "not needed", name = "localhost" } })
      if session then
        assert(session:connected(300))
        allocations.check(session:exists("/", { timeout = 300 }))
        core.alloc_fail(0)
        session:close(300)
      end
    end)
    assert.is_true(count > 10, count)
  end))

  it("in OpenSSL", function()
    local said = process.output(("timeout 1500 %s spec/support/starved_child.lua %s %s %s %s 2>&1"):format(env.interpreter(),
      server.hosts, server.tls.ca, server.tls.cert, server.tls.key))
    local all, without = said:match("^all of (%d+) and (%d+)$")
    assert.is_true((tonumber(all) or 0) > 1000 and tonumber(without) > 100, said)
  end)
end)
