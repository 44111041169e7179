-- A server that accepts shorter requests than we send closes the connection without an error. The module distinguishes data
-- that are too large for the server from a bad connection.

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

  it("fails a proclaim of a larger value, and the leader keeps its term", run(function()
    local session = env.session { hosts = server.hosts }
    local term = assert(session:election("/e", { value = "small" }):campaign(200))
    assert.matches("jute.maxbuffer", fails("too_large", term:proclaim(("x"):rep(300000))))
    assert.is_true(term:valid())
    assert.is_true(term:proclaim("small again"))
    term:resign()
    session:close()
  end))

  it("fails a presence's create and update, and accepts data that fit", run(function()
    local session = env.session { hosts = server.hosts, timeout = 60 }
    local presence = session:presence("/presence", ("x"):rep(300000))
    fails("too_large", presence:ready(200))
    fails("too_large", presence:ready(200))
    assert.equal("too_large", presence.problem)
    assert(presence:update("small", 200))
    fails("too_large", presence:update(("x"):rep(300000), 200))
    assert.equal("present", presence:state())
    assert.equal("small", (session:get("/presence")))
    assert(session:set("/presence", "another's"))
    fails("too_large", presence:ready(200))
    assert.equal("too_large", presence.problem)
    assert(presence:update("fits", 200))
    assert.equal("fits", (session:get("/presence")))
    assert(presence:leave(200))
    session:close()
  end))
end)
