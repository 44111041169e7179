-- The promises of semaphore:resize, and its messages when it fails, in simulated worlds. See also spec/histories/engine/resizes.c.

local env = require "spec.support.env"
local sim = require "zkrecipes.sim"
local fails = env.fails

local MAYBE = "may or may not have been made"

-- Makes a world with the semaphore /p, whose limit is 3, and a process with a session that is connected, if the case wants that.
local function begin(fn)
  local world = sim.new { seed = 1 }
  world:run(function()
    assert(world:session():semaphore("/p"):resize(3))
    local host = world:process()
    local session = host.session { timeout = 10 }
    fn(world, host, session, session:semaphore "/p")
  end)
end

-- Starts resize(5), whose write meets this fault. Returns a task with the results of resize.
local function meets(world, host, session, fault, options)
  assert(session:connected(5))
  options.kind = "set"
  world:plan(host, fault, options)
  local semaphore = session:semaphore "/p"
  local task = host.spawn(function() return semaphore:resize(5) end)
  world:advance(0.1)
  assert.are.equal(0, world:planned(host))
  return task
end

describe("a resize", function()
  it("writes the limit also if it is already stored, so that the server refuses an earlier write that is late", function()
    begin(function(world, host, session, semaphore)
      assert(session:connected(5))
      world:plan(host, "delay", { kind = "set", seconds = 2 })
      assert.matches(MAYBE, (fails("connection_loss", semaphore:resize(1, 0.5))))
      local other = world:session():semaphore "/p"
      assert(other:resize(3))
      world:advance(5)
      assert.are.equal("3", (world:get "/p"))
      assert.are.equal(3, other:available())
    end)
  end)

  it("says that nothing was sent, in a session that never connected", function()
    begin(function(world, host, session, semaphore)
      world:disconnect(host)
      local message = fails("connection_loss", semaphore:resize(5, 0.5))
      assert.matches("nothing was sent", message)
      assert.not_matches(MAYBE, message)
      local task = host.spawn(function() return fails("closed", semaphore:resize(5)) end)
      world:advance(0.1)
      session:close()
      assert.not_matches(MAYBE, (task:wait()))
    end)
  end)

  it("does not say that it may have been made if it has only read", function()
    begin(function(world, host, session, semaphore)
      assert(session:connected(5))
      world:plan(host, "delay", { kind = "get", seconds = 2 })
      assert.not_matches(MAYBE, (fails("connection_loss", semaphore:resize(5, 0.5))))
      world:advance(3)
      world:plan(host, "lose_reply", { kind = "get", down = 2 })
      assert.not_matches(MAYBE, (fails("connection_loss", semaphore:resize(5, 0.5))))
      world:advance(3)
      assert.are.equal("3", (world:get "/p"))
    end)
  end)

  it("says that it may have been made if the session is closed while the write is in flight", function()
    begin(function(world, host, session)
      local task = meets(world, host, session, "delay", { seconds = 2 })
      session:close()
      assert.matches(MAYBE, (fails("closed", task:wait())))
    end)
  end)

  it("says that it may have been made if the credentials are refused before the outcome is known", function()
    begin(function(world, host, session)
      local task = meets(world, host, session, "lose_reply", { down = 1 })
      fails("auth_failed", session:add_auth("no such scheme", "x"))
      assert.matches(MAYBE, (fails("auth_failed", task:wait())))
      assert.are.equal("5", (world:get "/p"))
    end)
  end)
end)
