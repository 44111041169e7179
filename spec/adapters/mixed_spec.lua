-- A task that waits for an object of another host. That host would never resume it, so the call raises at once.

local zk = require "zkrecipes"
local sim = require "zkrecipes.sim"
local env = require "spec.support.env"
local raises = env.raises

local function belongs(to, runs)
  return ("mixed_spec.lua:%%d+: cannot wait here: this coroutine runs on the host '%s', and what it waits for belongs to the " ..
    "host '%s'; use both on the same one"):format(runs or "builtin", to)
end

-- Every wait for objects of one host, in a task of another one.
local function refused(pattern, theirs, session, task)
  raises(pattern, function() session:connected(5) end)
  raises(pattern, function() session:exists("/") end)
  raises(pattern, function() session:lock("/l"):acquire(5) end)
  raises(pattern, function() theirs.sleep(0.01) end)
  raises(pattern, function() theirs.sleep(0) end)
  raises(pattern, function() task:wait() end)
end

for _, kind in ipairs { "cqueues", "copas4", "luv", "poll" } do
  local loop = require("spec.support.loops." .. kind)
  local name = loop.adapter or kind
  local theirs = zk.using(name)

  describe("a session of the host " .. name, function()
    local session, task, over

    -- Objects of that host, to wait for.
    before_each(function()
      over = false
      loop.start(function()
        session = theirs.session { hosts = env.server().hosts, namespace = env.namespace() }
        assert(session:connected(200))
        task = theirs.spawn(function() theirs.sleep(0.05) end)
        over = true
      end)
      loop.run(200, function() return over end)
      assert.is_true(over)
    end)

    after_each(function()
      over = false
      loop.start(function()
        task:wait() -- its timer would fire in the loop of another spec file, for which busted has loaded the module again
        session:close()
        over = true
      end)
      loop.run(200, function() return over end)
      assert.is_true(over)
      session, task = nil, nil
    end)

    it("cannot be used in a task of the built-in host", function()
      zk.run(function() refused(belongs(name), theirs, session, task) end)
    end)

    it("cannot be used there when its own loop runs outside", function()
      local done = false
      loop.start(function()
        zk.run(function() refused(belongs(name), theirs, session, task) end)
        done = true
      end)
      loop.run(200, function() return done end)
      assert.is_true(done)
    end)

    it("may be used in its own tasks while the built-in loop runs outside", function()
      local done, problem = false, nil
      zk.run(function()
        local own = env.session()
        assert(own:connected(200))
        loop.start(function()
          local inner = theirs.spawn(function()
            local ok, message = pcall(own.exists, own, "/")
            problem = not ok and message
          end)
          inner:wait()
          done = true
        end)
        loop.run(200, function() return done end)
        own:close()
      end)
      assert.is_true(done)
      assert.matches("runs on the host '" .. name .. "', and what it waits for belongs to the host 'builtin'", problem)
    end)
  end)
end

describe("a simulated world", function()
  it("may be used in a task of the built-in host, whose sessions may not be used in the world", function()
    local world, ran = sim.new(), false
    zk.run(function()
      local own = env.session()
      assert(own:connected(200))
      world:run(function()
        local one, other = world:session(), world:session()
        assert(one:create("/a"))
        assert.is_truthy(other:exists("/a")) -- of another process, the same loop
        refused(belongs("builtin", "sim"), zk, own, zk.spawn(function() end))
        ran = true
      end)
      assert.is_truthy(world:session():exists("/a"))
      own:close()
    end)
    assert.is_true(ran)
  end)
end)
