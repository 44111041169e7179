-- session:delete_tree() while other clients write there, and over lost answers, in simulated worlds; with exhausted memory on a real
-- server.
-- Tags: sanitize

local allocations = require "spec.support.allocations"
local env = require "spec.support.env"
local sim = require "zkrecipes.sim"

local function with_world(body)
  return function()
    local world = sim.new { latency = 0.01, jitter = 0 }
    world:run(function()
      local session, other = world:session(), world:session()
      for i = 1, 3 do assert(session:create("/t/" .. i .. "/x", "", { parents = true })) end
      body(world, session, other)
    end)
  end
end

local function counts(world, session)
  return world:requests(session, "children") .. " " .. world:requests(session, "multi") .. " " .. world:requests(session, "delete")
end

describe("session:delete_tree()", function()
  it("sends a listing for each znode and one multi", with_world(function(world, session)
    assert.is_true(session:delete_tree("/t"))
    assert.are.equal("7 1 0", counts(world, session))
    assert.is_false(session:exists("/t"))
  end))

  it("deletes what another client creates and deletes meanwhile", function()
    for ms = 0, 200, 2 do
      with_world(function(world, session, other)
        local writer = world.test.spawn(function()
          world:advance(ms / 1000)
          other:delete("/t/3/x")
          other:create("/t/2/x/y", "")
        end)
        assert.is_true(session:delete_tree("/t"))
        writer:wait()
        assert.is_false(session:exists("/t"), "after " .. ms .. " ms")
      end)()
    end
  end)

  it("goes on after a lost request or answer", function()
    for _, lose in ipairs { "lose_request", "lose_reply" } do
      for _, op in ipairs { "children", "multi" } do
        with_world(function(world, session)
          world[lose](world, session, op)
          assert.is_true(session:delete_tree("/t"))
          assert.is_false(session:exists("/t"))
        end)()
      end
    end
  end)

  it("gives up if another client creates faster", with_world(function(world, session, other)
    local over = false
    local writer = world.test.spawn(function()
      while not over do other:create("/t/1/y-", "", { sequential = true }) end
    end)
    local ok, message, code = session:delete_tree("/t")
    over = true
    writer:wait()
    assert.are.same({ nil, "not_empty" }, { ok, code })
    assert.matches("^session:delete_tree /t: ", message)
    assert.is_true(session:delete_tree("/t"))
  end))

  it("succeeds if another client deletes the rest", function()
    for ms = 0, 200, 2 do
      with_world(function(world, session, other)
        local writer = world.test.spawn(function()
          world:advance(ms / 1000)
          other:create("/t/2/x/y", "")
          for _, path in ipairs { "/2/x/y", "/1/x", "/2/x", "/3/x", "/1", "/2", "/3", "" } do
            world.test.spawn(function() other:delete("/t" .. path) end)
          end
        end)
        assert.is_true(session:delete_tree("/t"), "after " .. ms .. " ms")
        writer:wait()
      end)()
    end
  end)

  it("succeeds if another client deletes all before the next round", with_world(function(world, session, other)
    local function after(op, count)
      while world:requests(session, op) < count do world:advance(0.001) end
      world:advance(0.01) -- the server has got it, and its answer is under way
    end
    local function each(word, paths)
      local parts = {}
      for i, path in ipairs(paths) do parts[i] = { word, "/t" .. path } end
      assert(other:multi(parts))
    end
    local writer = world.test.spawn(function()
      after("children", 7)
      each("create", { "/1/x/y", "/2/x/y", "/3/x/y" })
      after("delete", 1) -- what it deletes is not empty
      each("delete", { "/1/x/y", "/2/x/y", "/3/x/y", "/1/x", "/2/x", "/3/x", "/1", "/2", "/3", "" })
    end)
    assert.is_true(session:delete_tree("/t"))
    writer:wait()
    assert.are.equal("8 1 1", counts(world, session)) -- the root was listed again
  end))

  it("fails, and can be repeated, when memory is exhausted", env.run(function()
    local session = env.session()
    local count = allocations.at_every(function()
      local done, message, code
      repeat
        done, message, code = session:create("/t/a/b", nil, { parents = true })
      until done or code == "node_exists" or allocations.check(done, message, code)
      repeat
        done, message, code = session:delete_tree("/t")
      until done or code == "no_node" or allocations.check(done, message, code)
    end)
    assert.is_true(count > 10)
    assert.is_false(session:exists("/t"))
  end))
end)
