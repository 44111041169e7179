-- Counters and ids in simulated worlds: what they report when answers are lost, allocations fail or tasks end.
-- Tags: sanitize, one thread

local core = require "zkrecipes.core"
local sim = require "zkrecipes.sim"
local wait = require "zkrecipes.host.wait"

-- Calls fn(world, session) in a world with one process.
local function with_session(fn)
  local world = sim.new { limit = 1000 }
  world:run(function()
    local session = world.zk.session { timeout = 30 }
    assert(session:connected(5))
    fn(world, session)
  end)
end

local function fails(code, result, message, got)
  assert.is_nil(result)
  assert.equal(code, got, message)
  return message
end

describe("ids", function()
  it("end at 2^53, which is given once", function()
    with_session(function(_, session)
      assert(session:counter("/ids"):set(2 ^ 53 - 1))
      local ids = session:ids("/ids", { block = 1 })
      assert.equal(2 ^ 53, ids:next())
      assert.matches("^ids:next /ids: ", fails("full", ids:next()))
    end)
  end)

  it("keep nothing for callers whose limit passes while no server answers", function()
    with_session(function(world, session)
      local ids = session:ids("/ids", { block = 1 })
      assert.equal(1, ids:next())
      world:disconnect(session)
      for _ = 1, 5 do fails("connection_loss", ids:next { timeout = 0.5 }) end
      assert.is_nil(next(ids.waiters.numbers))
      world:heal()
      assert.equal(2, ids:next())
    end)
  end)

  it("leave no znode of a name whose caller is canceled, at every moment", function()
    with_session(function(world, session)
      local ids = session:ids "/ids"
      assert(ids:next_name "n-")
      world:advance(1)
      local bytes = session:usage().ephemeral_bytes
      for i = 0, 30 do
        local task = world.zk.spawn(function() ids:next_name "n-" end)
        world:advance(i * 0.0001)
        task:cancel()
      end
      world:disconnect(session)
      local task = world.zk.spawn(function() ids:next_name "n-" end)
      world.zk.sleep(0)
      task:cancel()
      world:heal()
      world:advance(60)
      assert.equal(1, #world:children "/ids") -- the counter's mark
      assert.equal(bytes, session:usage().ephemeral_bytes)
      local requests = world:requests()
      world:advance(60)
      assert.equal(requests, world:requests())
    end)
  end)

  for code, reason in pairs { error = "some error", canceled = wait.canceled } do
    it("fail for all callers if the task that adds the block ends, and work again later: " .. code, function()
      with_session(function(world, session)
        local ids = session:ids("/ids")
        local counter, asked = ids.counter, {}
        ids.counter = { add = function()
          assert(session:exists("/") ~= nil)
          error(reason, 0)
        end }
        for i = 1, 3 do asked[i] = world.zk.spawn(function() return { ids:next() } end) end
        for i = 1, 3 do
          local results = assert(asked[i]:wait(10))
          assert.matches("^ids:next /ids: the block was not added: ", fails(code, results[1], results[2], results[3]))
        end
        ids.counter = { add = function() error(reason, 0) end } -- at once
        assert.matches("^ids:next /ids: the block was not added: ", fails(code, ids:next()))
        ids.counter = counter
        assert.equal(1, ids:next())
      end)
    end)
  end
end)

describe("a counter whose answer is lost", function()
  local MAYBE = "the change may or may not have been made: check before you repeat it"

  local function doubts(message)
    assert.equal(1, select(2, message:gsub(MAYBE, "")), message)
    return message
  end

  -- The message of an `add` whose answer is lost for two seconds, during which fn(other, mark) runs; mark: the path of its mark.
  local function meanwhile(fn)
    local message
    with_session(function(world, session)
      local other, counter = world:process().session { timeout = 30 }, session:counter("/c")
      assert(counter:add(1))
      world:plan(session, "lose_reply", { kind = "multi", down = 2 })
      local adding = world.zk.spawn(function() return { counter:add(1) } end)
      world:advance(1)
      fn(other, "/c/" .. assert(other:children("/c"))[1])
      local results = assert(adding:wait(100))
      message = fails("connection_loss", results[1], results[2], results[3])
    end)
    return doubts(message)
  end

  it("says that the add may have counted, if the mark's ACL forbids reading", function()
    assert.matches("the read that would show the outcome failed", meanwhile(function(other, mark)
      assert(other:set_acl(mark, { { scheme = "world", id = "anyone", perms = "wcd" } }))
    end))
  end)

  it("says that the add may have counted, if another client deletes the mark", function()
    assert.matches("so was the mark", meanwhile(function(other) assert(other:delete_tree("/c")) end))
  end)

  -- Returns the result of an `add` whose answer is lost while the n-th allocation fails, the counter's value afterwards, and whether an
  -- allocation failed.
  local function starved(n, fault)
    local results, held, failed
    with_session(function(world, session)
      local counter = session:counter("/c")
      assert(counter:add(1))
      world:plan(session, fault, { kind = "multi", down = 2 })
      core.alloc_fail(n)
      results = { counter:add(1) }
      failed = core.alloc_failed()
      core.alloc_fail(0)
      held = counter:get()
    end)
    return results, held, failed
  end

  for _, fault in ipairs { "lose_reply", "lose_request" } do
    it("finds out the outcome although an allocation fails: " .. fault, function()
      finally(function() core.alloc_fail(0) end)
      local n, counted = 0, 0
      repeat
        n = n + 1
        local results, held, failed = starved(n, fault)
        if results[1] then
          counted = counted + 1
          assert.same({ 2, 2 }, { results[1], held })
        else
          assert.equal(1, held, n .. ": " .. results[2])
          fails("no_memory", results[1], results[2], results[3])
        end
      until not failed
      assert.is_true(counted > 5, counted)
    end)
  end
end)
