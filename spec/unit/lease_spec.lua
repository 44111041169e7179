-- How long a hold stays valid after the servers' last answer, in simulated worlds. Needs no server.

local deaf = require "spec.support.deaf"
local sim = require "zkrecipes.sim"

local assert_misuse = deaf.assert_misuse

-- A test that runs inside of a world.
local function within(options, body)
  return function()
    local world = sim.new(options)
    world:run(function() body(world) end)
  end
end

-- How long a hold stays valid after its process is cut off. Checks that left() gives that time.
local function silence(seed, options)
  local world, left = sim.new { seed = seed }, nil
  world:run(function()
    local session = world:session(options)
    local hold = assert(session:lock("/l"):acquire())
    world:advance(30 + seed / 7)
    world:partition(session)
    left = hold:left()
    world:advance(left - 0.001)
    assert.is_true(hold:valid() and hold:left() < 0.0011)
    world:advance(0.001)
    assert.is_true(not hold:valid() and hold:left() == 0)
    world:heal()
  end)
  return left
end

-- The least and the most of many measurements, as parts of the timeout.
local function range(options)
  local least, most = math.huge, 0
  for seed = 1, 60 do
    local lasted = silence(seed, options) / options.timeout
    least, most = math.min(least, lasted), math.max(most, lasted)
  end
  return least, most
end

local function assert_range(from, to, options)
  local least, most = range(options)
  assert.is_true(least >= from - 0.001 and least < from + 0.02, "least " .. least)
  assert.is_true(most <= to + 0.001 and most > to - 0.02, "most " .. most)
end

describe("a lease", function()
  -- A heartbeat counts when a heartbeat sent 8/16 of the timeout later was answered. The next one comes 1/16 after that.
  it("lasts for 0.4275 to 0.49 of the timeout when servers fall silent", function()
    assert_range(0.4275, 0.49, { timeout = 10 })
  end)

  it("lasts for 0.5525 to 0.615 of the timeout if the tick is known to be a fifth of it", function()
    assert_range(0.5525, 0.615, { timeout = 10, tick = 2 })
  end)

  it("lasts for 0.615 to 0.6775 of the timeout if the tick is known to be a twentieth of it", function()
    assert_range(0.615, 0.6775, { timeout = 40, tick = 2 })
  end)

  it("of two ticks is the same with and without `tick`", function()
    assert_range(0.4275, 0.49, { timeout = 4 })
    assert_range(0.4275, 0.49, { timeout = 4, tick = 2 })
  end)

  -- Without faults each heartbeat extends the lease. Counts the heartbeats in some timeouts.
  local function renewals(timeouts, options)
    local world, count = sim.new { seed = 5, tick_time = 500 }, 0
    world:run(function()
      local session = world:session(options)
      local hold = assert(session:lock("/l"):acquire())
      world:advance(3 * options.timeout + options.timeout / 32)
      local ends = world:now() + hold:left()
      for _ = 1, 160 * timeouts do
        world:advance(options.timeout / 160)
        local now_ends = world:now() + hold:left()
        if now_ends > ends + 1e-6 then count = count + 1 end
        ends = now_ends
      end
    end)
    return count
  end

  for _, tick in ipairs { false, 0.5, 2, 5 } do
    for _, strict in ipairs { false, true } do
      it(("costs 16 heartbeats in a timeout, %s, %s"):format(tick and "tick = " .. tick or "tick not said",
        strict and "strict" or "not strict"), function()
        assert.are.equal(160, renewals(10, { timeout = 10, tick = tick or nil, strict = strict }))
        assert.are.equal(160, renewals(10, { timeout = 6, tick = tick and tick < 5 and tick or nil, strict = strict }))
      end)
    end
  end

  it("survives shorter pauses of the leader and the follower", within({}, function(world)
    local session = world:session { timeout = 10 }
    local hold = assert(session:lock("/l"):acquire())
    for server = 1, 3 do
      world:pause_server(server, 3)
      world:advance(20)
      assert.is_true(hold:valid())
    end
  end))

  it("ends during a longer pause of the leader, for good", within({}, function(world)
    local session = world:session { timeout = 10 }
    local hold = assert(session:lock("/l"):acquire())
    local id = session.id
    world:advance(20)
    world:pause_server(1, 9)
    world:advance(6)
    assert.is_false(hold:valid())
    world:advance(30)
    assert.is_false(hold:valid())
    assert.are.equal(0, hold:left())
    assert.are_not.equal(id, session.id)
  end))
end)

describe("left()", function()
  it("is 0 once the hold is released", within({}, function(world)
    local hold = assert(world:session():lock("/l"):acquire())
    assert.is_true(hold:left() > 4)
    hold:release()
    assert.are.equal(0, hold:left())
  end))

  it("exists for terms, permits, readers, cohorts, reentrant locks and multilocks", within({}, function(world)
    local session = world:session()
    local holds = {
      assert(session:election("/e"):campaign()),
      assert(session:semaphore("/s", 3):acquire(2)),
      assert(session:rwlock("/r"):read()),
      assert(session:lock("/c", { cohort = true }):acquire()),
      assert(session:lock("/n", { reentrant = true }):acquire()),
      assert(session:multilock({ session:lock "/a", session:lock "/b" }):acquire()),
    }
    local left = holds[1]:left()
    assert.is_true(left > 4 and left < 10)
    for i = 1, #holds do assert.are.equal(left, holds[i]:left()) end
    for i = 1, #holds do (holds[i].release or holds[i].resign)(holds[i]) end
    for i = 1, #holds do assert.are.equal(0, holds[i]:left(), i) end
  end))
end)

describe("the option `tick`", function()
  -- The first log lines of a session with this timeout and tick, without those of level info.
  local function said(options, tick_time)
    local world, lines = sim.new { tick_time = tick_time }, {}
    options.log = function(level, text) if level ~= "info" then lines[#lines + 1] = level .. ": " .. text end end
    world:run(function()
      assert(world:session(options):connected(10))
      world:advance(0.1)
    end)
    return lines
  end

  it("is asked for in one line if the timeout is short for the assumed tick", function()
    local lines = said({ timeout = 2 }, 500)
    assert.are.equal(1, #lines)
    assert.matches("^warning: session %x+: the timeout of 2.000 s is less than two ticks of " ..
      "2.000 s %(assumed%): .*`timeout`.*`tick`", lines[1])
  end)

  it("is asked for as an error if no heartbeat could prove in time that the session lives", function()
    local lines = said({ timeout = 1 }, 500)
    assert.are.equal(1, #lines)
    assert.matches("^error: session %x+: the timeout of 1.000 s .*given up again and again", lines[1])
  end)

  it("is not asked for if it is given, or if the timeout is long enough", function()
    assert.are.same({}, said({ timeout = 1, tick = 0.5 }, 500))
    assert.are.same({}, said({ timeout = 4 }, 500))
    assert.are.same({}, said({ timeout = 10 }, 2000))
  end)

  it("must be a tick that servers can have", within({}, function(world)
    assert_misuse(function() world.zk.session { tick = 0 } end, ".*" .. "tick")
    assert_misuse(function() world.zk.session { tick = -1 } end, ".*" .. "tick")
    assert_misuse(function() world.zk.session { tick = 2000 } end, ".*" .. "from 0.001 to 60 seconds")
    assert_misuse(function() world.zk.session { tick = "2" } end, ".*" .. "tick")
  end))

  it("is compared when a session is shared", within({}, function(world)
    local one = world.zk.shared { tick = 2 }
    assert.are.equal(one, world.zk.shared { tick = 2 })
    assert_misuse(function() world.zk.shared { tick = 1 } end, ".*" .. "tick")
  end))
end)
