-- A create that arrives late: its caller has given up, or its session is over for the client. No znode is left, and no lock has
-- two holders.
-- Tags: sanitize

local env = require "spec.support.env"
local testing = require "zkrecipes.testing"
local run, fails = env.run, env.fails

local RECIPES = {
  { name = "lock", path = "/l", make = function(session) return session:lock("/l") end },
  { name = "semaphore", path = "/s", make = function(session) return session:semaphore("/s", 1) end },
}

for _, recipe in ipairs(RECIPES) do
  describe("a " .. recipe.name .. "'s create that arrives late", function()
    local proxy, session, direct, ours, theirs

    local function begin(timeout)
      local namespace = env.namespace()
      proxy = env.proxy()
      session = env.session { hosts = proxy.hosts, namespace = namespace, timeout = timeout, request_timeout = 100 }
      direct = env.session { namespace = namespace }
      ours, theirs = recipe.make(session), recipe.make(direct)
      assert(theirs:acquire()):release() -- creates the directory
      assert(session:connected(200))
    end

    local function contenders(number)
      env.eventually(number .. " contenders", function() return #theirs:contenders() == number end)
    end

    local function held(acquire)
      proxy:hold("create2", 1)
      local wait = env.start(acquire)
      env.eventually("it is held", function() return proxy:fired() == 1 end)
      return wait
    end

    -- The server keeps its side of the connection, and gets later what the proxy holds.
    local function lose_link()
      proxy:refuse()
      proxy:cut { side = "client" }
      env.eventually("the link is seen to be lost", function() return session.state ~= "connected" end)
    end

    it("after its caller has given up: it is removed, and there is one holder", run(function()
      begin(100)
      local wait = held(function() return fails("canceled", ours:acquire(200)) end)
      assert.are.equal(1, ours:cancel())
      wait()
      local hold = assert(theirs:acquire())
      proxy:release()
      assert(session:sync("/"))
      contenders(1)
      assert.is_true(hold:valid())
      fails("timeout", ours:acquire(0))
      hold:release()
      assert(ours:acquire(200)):release()
      contenders(0)
    end))

    it("on a lost connection of a session that lives: it is found and used", run(function()
      begin(100)
      local wait = held(function() return ours:acquire(200) end)
      lose_link()
      proxy:release()
      contenders(1)
      fails("timeout", theirs:acquire(0))
      proxy:heal()
      local hold = assert(wait())
      contenders(1)
      assert.are.equal(direct:exists(hold.path).czxid, hold.token)
      assert.are.equal(session.id, direct:exists(hold.path).ephemeral_owner)
      hold:release()
      contenders(0)
    end))

    it("of a session that its client has closed: it ends with the session", run(function()
      begin(100)
      local wait, id = held(function() return fails("closed", ours:acquire(200)) end), session.id
      lose_link()
      session:close(0.01)
      wait()
      proxy:release()
      contenders(1)
      assert.are.equal(id, theirs:contenders()[1].session)
      proxy:heal()
      testing.expire(env.server(), id) -- unless its client has ended it, now that it can
      local hold = assert(theirs:acquire(200))
      contenders(1)
      hold:release()
    end))

    it("of a session that is lost is not taken for the next session's", run(function()
      begin(4)
      local wait, id = held(function() return fails("lost", ours:acquire(200)) end), session.id
      lose_link()
      wait()
      proxy:release()
      proxy:heal()
      local hold = assert(ours:acquire(200))
      assert.are_not.equal(id, direct:exists(hold.path).ephemeral_owner)
      contenders(1)
      hold:release()
      contenders(0)
    end))

    after_each(run(function()
      session:close()
      direct:close()
    end))
  end)
end
