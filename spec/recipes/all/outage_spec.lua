-- In virtual time: what recipes do and report while the connection or the session is gone for long; and time limits to the millisecond.

local sim = require "zkrecipes.sim"

-- Runs fn(world, zk, session) in a world of its own.
local function within(options, fn)
  return function()
    local world = sim.new { seed = 1 }
    world:run(function()
      local zk = world:process()
      fn(world, zk, zk.session(options))
    end)
  end
end

local function fails(code, ...)
  assert.is_nil((...))
  assert.are.equal(code, (select(3, ...)))
end

describe("a time limit", function()
  it("is for the whole wait for a lock, not per predecessor", within({}, function(world, zk, session)
    local lock = session:lock("/l")
    local hold = assert(lock:acquire())
    local gone = zk.spawn(function() return lock:acquire(0.15) end) -- the contender just ahead gives up half-way
    world:advance(0.01)
    local from = world:now()
    fails("timeout", lock:acquire(0.3))
    assert.is_true(math.abs(world:now() - from - 0.3) < 0.001, world:now() - from)
    fails("timeout", gone:wait())
    hold:release()
    world:advance(1)
    assert.are.same({}, world:children("/l"))
  end))

  it("holds for all locks of a multilock together", within({}, function(world, zk, session)
    local locks = {}
    for i, path in ipairs { "/a", "/b", "/c" } do
      locks[i] = session:lock(path)
      local hold = assert(locks[i]:acquire())
      zk.spawn(function()
        zk.sleep(0.12 * i)
        hold:release()
      end)
    end
    local from = world:now()
    fails("timeout", session:multilock(locks):acquire(0.2))
    assert.is_true(math.abs(world:now() - from - 0.2) < 0.001, world:now() - from)
    assert(session:multilock(locks):acquire(200)):release()
  end))
end)

describe("without any server", function()
  for _, case in ipairs {
    { "double barrier", function(session, limit) return session:double_barrier("/d", 2):enter(limit) end },
    { "cyclic barrier", function(session, limit) return session:cyclic_barrier("/c", 2):wait(limit) end },
  } do
    it("entering a " .. case[1] .. " ends when the session does", within({ timeout = 10 }, function(world, zk, session)
      local task = zk.spawn(case[2], session)
      world:advance(1)
      world:disconnect(zk)
      fails("lost", task:wait(60))
    end))

    it("entering a " .. case[1] .. " ends at its limit, and leaves nothing", within({ timeout = 10 },
      function(world, zk, session)
        local task = zk.spawn(case[2], session, 2)
        world:advance(1)
        world:disconnect(zk)
        local from = world:now()
        fails("connection_loss", task:wait(60))
        assert.is_true(math.abs(world:now() - from - 1) < 0.001, world:now() - from)
        world:heal(zk)
        world:advance(20)
        assert.are.same({}, world:children(case[1]:sub(1, 1) == "d" and "/d" or "/c"))
      end))
  end

  it("leaving a double barrier ends after its time limit, and can be done again", within({ timeout = 10 },
    function(world, zk, session)
      local barrier = session:double_barrier("/d", 1)
      assert(barrier:enter(200))
      world:disconnect(zk)
      local from = world:now()
      fails("connection_loss", barrier:leave(3))
      assert.is_true(math.abs(world:now() - from - 3) < 0.001, world:now() - from)
      world:heal(zk)
      assert(barrier:leave(600))
    end))

  it("a try at a barrier or a latch says so", within({ timeout = 10 }, function(world, zk, session)
    assert(session:connected(200))
    world:disconnect(zk)
    fails("connection_loss", session:barrier("/b"):wait(0))
    fails("connection_loss", session:latch("/l", 1):wait(0))
  end))
end)

describe("a cohort whose session is lost", function()
  local cohort = { cohort = true }

  it("gives a turn and a hold the same reason, whichever asks first", within({ timeout = 10 }, function(world, _, session)
    local turn, plain = assert(session:lock("/c", cohort):acquire()), assert(session:lock("/p"):acquire())
    world:expire(session)
    world:advance(1)
    assert.are.equal(plain:lost(0), turn:lost(0))
    fails("lost", plain:set("/p", "x"))
    fails("lost", turn:set("/p", "x"))
    turn:release()
  end))

  it("reports the loss to the waiters, also if they began at the same time as the holder", within({ timeout = 10 },
    function(world, zk, session)
      local lock = session:lock("/c", cohort)
      local function hold() return assert(lock:acquire()):lost() end
      local first, second = zk.spawn(hold), zk.spawn(function() return lock:acquire() end)
      world:advance(1)
      world:expire(session)
      assert.are.equal("lost", first:wait(200))
      local hold_of_second, _, code = second:wait(10)
      assert.is_true(hold_of_second ~= nil or code == "lost")
    end))
end)

describe("election:every", function()
  for _, seconds in ipairs { 0.1, 0.3, 0.7, 7.3 } do
    it(("fires once in each %.1f s"):format(seconds), within({ timeout = 30 }, function(world, zk, session)
      local fired = 0
      local election = session:election("/e")
      zk.spawn(function() election:every(seconds, function() fired = fired + 1 end) end)
      world:advance(1)
      local before = fired
      world:advance(200 * seconds)
      assert.is_true(math.abs(fired - before - 200) <= 1, ("%d times"):format(fired - before))
      election:stop()
    end))
  end

  it("does not make up for beats that it missed", within({ timeout = 30 }, function(world, zk, session)
    local at = {}
    local election = session:election("/e")
    zk.spawn(function()
      election:every(1, function()
        at[#at + 1] = zk.now()
        if #at == 2 then zk.sleep(2.5) end
      end)
    end)
    world:advance(8)
    election:stop()
    for i, beat in ipairs { 0, 1, 4, 5 } do assert.is_true(math.abs(at[i] - at[1] - beat) < 1e-6, tostring(at[i] - at[1])) end
  end))
end)
