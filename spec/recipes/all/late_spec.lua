-- What is granted to a coroutine that runs too late for it: the process was paused after the answer had come. In simulated worlds.
-- Tags: sanitize, one thread

local env = require "spec.support.env"
local sim = require "zkrecipes.sim"

local fails = env.fails
local PAUSE = 30 -- seconds; the sessions time out before

local function in_world(body)
  return function()
    local world = sim.new { seed = 1, limit = 5000 }
    world:run(function() body(world) end)
  end
end

local function start(world)
  local zk = world:process()
  local session = zk.session { timeout = 10 }
  assert(session:connected(5))
  return session, zk
end

-- Calls fn in two coroutines of a process. The one that comes back first pauses the process. Returns a function that waits for the results
-- of the other one, and returns them in a table.
local function two(world, zk, fn)
  local first = true
  local function run()
    local results = { fn() }
    if not first then return results end
    first = false
    world:pause(zk, PAUSE)
  end
  local tasks = { zk.spawn(run), zk.spawn(run) }
  return function()
    local results = { tasks[1]:wait(200), tasks[2]:wait(200) }
    return results[1] or results[2]
  end
end

-- What is granted as soon as the one ahead is gone, without another request.
local KINDS = {
  lock = function(session, path) return session:lock(path) end,
  ["reentrant lock"] = function(session, path) return session:lock(path, { reentrant = true }) end,
  writer = function(session, path) return session:rwlock(path):writer() end,
  election = function(session, path) return session:election(path) end,
}

local function acquire(object, timeout)
  return (object.campaign or object.acquire)(object, timeout)
end

describe("what a paused process was granted is not given to a caller that runs afterwards:", function()
  for kind, make in pairs(KINDS) do
    it(kind, in_world(function(world)
      local session, zk = start(world)
      local other, third = start(world), start(world)
      local object, theirs = make(session, "/a"), make(third, "/a")
      local before = assert(acquire(make(other, "/a"), 5))
      zk.spawn(function()
        assert(session:await_gone(before.path, 100))
        world:pause(zk, PAUSE)
      end)
      world:advance(0.1)
      local waiting = zk.spawn(function() return acquire(object, 100) end)
      world:advance(1)
      other:close()
      local hold = assert(acquire(theirs, PAUSE - 5))
      assert.matches("could not run in time", fails("lost", waiting:wait(100)))
      assert.is_true(hold:valid());
      (hold.release or hold.resign)(hold)
      assert.is_true(assert(acquire(object, 5)):valid())
    end))
  end

  -- A member of a cohort holds, another one waits for its turn.
  local function cohort(world)
    local session, zk = start(world)
    local lock = session:lock("/a", { cohort = true })
    local hold = assert(lock:acquire(5))
    local waiting = zk.spawn(function() return lock:acquire(100) end)
    world:advance(1)
    return zk, lock, hold, waiting
  end

  it("a turn of a cohort", in_world(function(world)
    local zk, lock, hold, waiting = cohort(world)
    zk.spawn(function()
      hold:release()
      world:pause(zk, PAUSE)
    end)
    assert(assert(start(world):lock("/a"):acquire(100))):release()
    assert.matches("could not run in time", fails("lost", waiting:wait(100)))
    assert.is_true(assert(lock:acquire(5)):valid())
  end))

  it("a turn of a cohort, whose session is closed instead", in_world(function(world)
    local zk, lock, hold, waiting = cohort(world)
    zk.spawn(function()
      hold:release()
      lock.session:close()
    end)
    assert.matches("the session is closed", fails("closed", waiting:wait(100)))
  end))

  it("a term, to the function of election:lead, which has not begun", in_world(function(world)
    local session, zk = start(world)
    local other, third = start(world), start(world)
    local election, seen = session:election "/a", {}
    local before = assert(other:election("/a"):campaign(5))
    zk.spawn(function()
      return election:lead(function(term)
        seen[#seen + 1] = term:valid()
        term:sleep(1000)
      end)
    end)
    world:advance(1)
    zk.spawn(function() -- comes behind the campaign, and before the function
      assert(session:await_gone(before.path, 100))
      world:pause(zk, PAUSE)
    end)
    world:advance(1)
    other:close()
    local term = assert(third:election("/a"):campaign(PAUSE - 5))
    world:advance(PAUSE)
    assert.same({}, seen)
    term:resign()
    world:advance(5)
    assert.same({ true }, seen)
    election:stop()
  end))

  for _, prefetch in ipairs { 0, 5 } do
    it("an item of a queue, which gets another one; prefetch " .. prefetch, in_world(function(world)
      local session, zk = start(world)
      local queue, other = session:queue("/jobs", { prefetch = prefetch }), start(world):queue("/jobs")
      assert(other:put "0")
      assert(assert(queue:claim(5)):ack())
      local results = two(world, zk, function() return queue:claim(100) end)
      world:advance(1)
      assert(other:put_all { "1", "2" })
      local theirs = {}
      for i = 1, 2 do theirs[i] = assert(other:claim(PAUSE - 5)) end
      world:advance(PAUSE)
      assert(theirs[2]:ack())
      assert(theirs[1]:nack())
      local item = assert(results()[1])
      assert.same({ "1", 3 }, { item.data, item.attempts })
      assert(item:ack())
    end))
  end

  it("an item of a queue; its caller's limit passes", in_world(function(world)
    local session, zk = start(world)
    local queue, other = session:queue "/jobs", start(world):queue("/jobs")
    assert(other:put "0")
    assert(assert(queue:claim(5)):ack())
    local results = two(world, zk, function() return queue:claim(PAUSE + 10) end)
    world:advance(1)
    local from = world:now()
    assert(other:put_all { "1", "2" })
    local theirs = {}
    for i = 1, 2 do theirs[i] = assert(other:claim(PAUSE - 5)) end
    local found = results()
    fails("timeout", found[1], found[2], found[3])
    assert.is_true(world:now() - from < PAUSE + 11)
    for i = 1, 2 do assert(theirs[i]:ack()) end
  end))
end)
