-- Members of a round leave nothing behind when the program drops them, or when an allocation fails. In simulated worlds.
-- Tags: sanitize, one thread

local collect = require "spec.support.collect"
local core = require "zkrecipes.core"
local sim = require "zkrecipes.sim"
local wait = require "zkrecipes.host.wait"

-- Calls fn(world, one, other) with two sessions of two processes.
local function with_two(fn)
  local world = sim.new()
  world:run(function()
    local one, other = world.zk.session { timeout = 30 }, world:process().session { timeout = 30 }
    assert(one:connected(5) and other:connected(5))
    fn(world, one, other)
  end)
end

local function pass(world)
  for _ = 1, 4 do
    collect()
    world:advance(1)
  end
end

describe("a double barrier that the program drops", function()
  local function enter_both(world, one, other)
    local mine, theirs = one:double_barrier("/d", 2), other:double_barrier("/d", 2)
    local task = world.zk.spawn(mine.enter, mine, 10)
    assert(theirs:enter(10))
    assert(task:wait())
    return mine, theirs
  end

  -- fn(mine, world, session): what the program does with its barrier before it drops it. Returns the results of the other member's leave.
  local function drop_after(fn)
    local results, names, usage
    with_two(function(world, one, other)
      local function enter_and_drop()
        local mine, theirs = enter_both(world, one, other)
        fn(mine, world, one)
        return theirs
      end
      local theirs = world.test.spawn(enter_and_drop):wait()
      pass(world)
      results = { theirs:leave(20) }
      world:advance(1)
      names, usage = world:children("/d"), one:usage().ephemeral_bytes
    end)
    assert.are.same({}, names)
    assert.are.equal(0, usage)
    return results
  end

  it("is left in the background, and its member counts as dead", function()
    assert.are.same({ true, 1 }, drop_after(function() end))
  end)

  it("is left in the background if its own leave was never sent", function()
    assert.are.same({ true, 1 }, drop_after(function(mine, world, session)
      world:partition(session)
      assert.are.equal("connection_loss", (select(3, mine:leave(1))))
      world:heal(session)
      assert(session:connected(20))
    end))
  end)

  it("is left only once if the answer to its own leave was lost", function()
    assert.are.same({ true, 0 }, drop_after(function(mine, world, session)
      world:plan(session, "lose_reply", { kind = "multi", down = 2 })
      assert.are.equal("connection_loss", (select(3, mine:leave(1))))
      assert(session:connected(20))
    end))
  end)

  it("is left if the caller is gone when `enter` has succeeded, but has not taken its result", function()
    with_two(function(world, one, other)
      local mine, theirs = one:double_barrier("/d", 2), other:double_barrier("/d", 2)
      local slot, host = core.classes.double_barrier.start.enter(mine)
      local wanted = wait.expect(host, slot)
      assert(theirs:enter(10))
      world:advance(1)
      assert.is_true(wanted.done)
      wanted:give_up()
      assert.are.same({ true, 1 }, { theirs:leave(20) })
      world:advance(1)
      assert.are.same({}, world:children("/d"))
      assert.is_nil(mine.member)
      local task = world.zk.spawn(mine.enter, mine, 10)
      assert(theirs:enter(10))
      assert(task:wait())
    end)
  end)

  it("is left when both members are dropped", function()
    with_two(function(world, one, other)
      local function enter_and_drop() enter_both(world, one, other) end
      world.test.spawn(enter_and_drop):wait()
      pass(world)
      assert.are.same({}, world:children("/d"))
    end)
  end)
end)

describe("a member of a round, when an allocation fails", function()
  -- Calls fn(world, one, other, starve) with n = 1, 2 ... until no allocation fails. starve() makes the n-th allocation from then on fail.
  -- Returns how often an allocation failed.
  local function sweep(fn)
    local failures = 0
    for n = 1, 60 do
      local failed
      with_two(function(world, one, other)
        fn(world, one, other, function() core.alloc_fail(n) end)
        world:advance(20)
        failed = core.alloc_failed()
        core.alloc_fail(0)
        for _, name in ipairs(world:children("/b") or {}) do
          error(("%s is left after the failure of allocation %d"):format(name, n))
        end
      end)
      if not failed then break end
      failures = failures + 1
    end
    core.alloc_fail(0)
    return failures
  end

  local function join_cyclic(session, timeout)
    local barrier, message, code = session:cyclic_barrier("/b", 2)
    if not barrier then return nil, message, code end
    return barrier:wait(timeout)
  end

  local function leave(barrier)
    local ok, _, code
    repeat ok, _, code = barrier:leave(20) until code ~= "no_memory"
    return assert(ok)
  end

  for _, kind in ipairs { "cyclic_barrier", "double_barrier" } do
    local function join(session, timeout)
      if kind == "cyclic_barrier" then return join_cyclic(session, timeout) end
      local barrier, message, code = session:double_barrier("/b", 2)
      if not barrier then return nil, message, code end
      local ok
      ok, message, code = barrier:enter(timeout)
      if ok then leave(barrier) end
      return ok, message, code
    end

    it("leaves nothing when it is canceled: " .. kind, function()
      assert.is_true(sweep(function(world, one, _, starve)
        local task = world.zk.spawn(join, one)
        world:advance(5)
        task:cancel()
        starve()
      end) > 2)
    end)

    it("leaves nothing when its limit passes: " .. kind, function()
      assert.is_true(sweep(function(world, one, _, starve)
        local task = world.zk.spawn(join, one, 5)
        world:advance(4.9999)
        starve()
        local passed = task:wait()
        assert.is_nil(passed)
      end) > 2)
    end)

    it("leaves nothing when it fails without a limit: " .. kind, function()
      local failed = 0
      assert.is_true(sweep(function(world, one, other, starve)
        starve()
        local tasks = { world.zk.spawn(join, one), world.zk.spawn(join, other) }
        world:advance(5)
        for i = 1, 2 do tasks[i]:cancel() end
        world:advance(5)
        for i = 1, 2 do
          if select(3, tasks[i]:wait()) == "no_memory" then failed = failed + 1 end
        end
      end) > 10)
      assert.is_true(failed > 0)
    end)
  end

  it("leaves nothing when it fails without a limit because other members wait for another n", function()
    assert.is_true(sweep(function(world, one, other, starve)
      local first = world.zk.spawn(function() return other:cyclic_barrier("/b", 3):wait() end)
      world:advance(1)
      starve()
      local second = world.zk.spawn(join_cyclic, one)
      world:advance(5)
      assert.is_true(second.done)
      assert.is_nil((second:wait()))
      first:cancel()
    end) > 10)
  end)

  it("leaves nothing when it leaves the round of a double barrier", function()
    assert.is_true(sweep(function(world, one, other, starve)
      local barriers, tasks = { one:double_barrier("/b", 2), other:double_barrier("/b", 2) }, {}
      for i = 1, 2 do tasks[i] = world.zk.spawn(barriers[i].enter, barriers[i], 20) end
      for i = 1, 2 do assert(tasks[i]:wait()) end
      starve()
      for i = 1, 2 do tasks[i] = world.zk.spawn(leave, barriers[i]) end
      for i = 1, 2 do assert(tasks[i]:wait()) end
    end) > 10)
  end)
end)
