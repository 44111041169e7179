-- A server that takes less than we do drops the connection instead of saying so: data that are too large for it are told
-- apart from a bad link.

local testing = require "zkrecipes.testing"
local env = require "spec.support.env"
local run, fails = env.run, env.fails

describe("a server with a small jute.maxbuffer", function()
  local server
  setup(function() server = assert(testing.start { jvm = { "-Djute.maxbuffer=200000" } }) end)
  teardown(function() server:stop() end)

  for _, fair in ipairs { true, false } do
    it("refuses a lock with larger data, fair = " .. tostring(fair), run(function()
      local session = env.session { hosts = server.hosts }
      local cuts = 0
      env.start(function()
        for state in session:states() do cuts = cuts + (state == "suspended" and 1 or 0) end
      end)
      assert(session:connected(200))
      fails("too_large", session:lock("/l", { fair = fair, data = ("x"):rep(300000) }):acquire())
      assert.is_true(cuts <= 3)
      assert(session:lock("/l", { fair = fair, data = ("x"):rep(100000) }):acquire()):release()
      session:close()
    end))
  end

  it("tells a leader whose value is larger, and leaves it its term", run(function()
    local session = env.session { hosts = server.hosts }
    local term = assert(session:election("/e", { value = "small" }):campaign(200))
    assert.matches("jute.maxbuffer", fails("too_large", term:proclaim(("x"):rep(300000))))
    assert.is_true(term:valid())
    assert.is_true(term:proclaim("small again"))
    term:resign()
    session:close()
  end))
end)
