-- Every method that takes seconds, with strange values. A value that is no duration raises misuse at the caller's line. A duration may be
-- too short to be measured. In a simulated world: needs no server.
-- Tags: sanitize, one thread

local sim = require "zkrecipes.sim"

local HERE = "seconds_spec.lua:%d+: bad "

local nan, huge = 0 / 0, math.huge
local WRONG = { nan = nan, ["inf"] = huge, ["-inf"] = -huge, ["-1"] = -1, ["-5e-324"] = -5e-324, ["1e300"] = 1e300,
  ["1000000001"] = 1000000001, string = "1" }
local SHORT = { ["0"] = 0, ["-0"] = -0.0, ["5e-324"] = 5e-324, ["2.2e-308"] = 2.2e-308, ["1e-300"] = 1e-300, ["1e-9"] = 1e-9,
  ["1e-6"] = 1e-6 }

-- Name > fn(session, seconds, world). least: a shorter duration is misuse too.
local METHODS = {
  ["session:connected"] = function(session, seconds) return session:connected(seconds) end,
  ["session:get"] = function(session, seconds) return session:get("/a", { timeout = seconds }) end,
  ["session:create"] = function(session, seconds) return session:create("/c", "", { timeout = seconds }) end,
  ["session:set"] = function(session, seconds) return session:set("/a", "", nil, { timeout = seconds }) end,
  ["session:multi"] = function(session, seconds) return session:multi({ { "check", "/a" } }, { timeout = seconds }) end,
  ["session:delete_tree"] = function(session, seconds) return session:delete_tree("/t", { timeout = seconds }) end,
  ["session:await_gone"] = function(session, seconds) return session:await_gone("/e", seconds) end,
  ["watch:wait"] = function(session, seconds) return session:watch("/a"):wait(seconds) end,
  ["lock:acquire"] = function(session, seconds) return session:lock("/taken"):acquire(seconds) end,
  ["lock:with"] = function(session, seconds) return session:lock("/taken"):with(seconds, function() end) end,
  ["lock:contenders"] = function(session, seconds) return session:lock("/taken"):contenders(seconds) end,
  ["lock:request"] = function(session, seconds) return session:lock("/taken"):request(seconds) end,
  ["unfair lock:acquire"] = function(session, seconds) return session:lock("/u", { fair = false }):acquire(seconds) end,
  ["cohort lock:acquire"] = function(session, seconds) return session:lock("/taken", { cohort = true }):acquire(seconds) end,
  ["rwlock:read"] = function(session, seconds) return session:rwlock("/taken"):read(seconds) end,
  ["semaphore:acquire"] = function(session, seconds) return session:semaphore("/s", 1):acquire(seconds) end,
  ["semaphore:available"] = function(session, seconds) return session:semaphore("/s", 1):available(seconds) end,
  ["semaphore:resize"] = function(session, seconds) return session:semaphore("/s", 1):resize(2, seconds) end,
  ["multilock:acquire"] = function(session, seconds)
    return session:multilock { session:lock("/taken"), session:lock("/m") }:acquire(seconds)
  end,
  ["barrier:wait"] = function(session, seconds) return session:barrier("/b"):wait(seconds) end,
  ["latch:wait"] = function(session, seconds) return session:latch("/latch", 2):wait(seconds) end,
  ["cyclic_barrier:wait"] = function(session, seconds) return session:cyclic_barrier("/cb", 2):wait(seconds) end,
  ["double_barrier:enter"] = function(session, seconds) return session:double_barrier("/db", 2):enter(seconds) end,
  ["election:campaign"] = function(session, seconds) return session:election("/el"):campaign(seconds) end,
  ["election:leader"] = function(session, seconds) return session:election("/el"):leader(seconds) end,
  ["election:candidates"] = function(session, seconds) return session:election("/el"):candidates(seconds) end,
  ["election:campaign by rank"] = function(session, seconds) return session:election("/rank", { rank = 1 }):campaign(seconds) end,
  ["queue:claim"] = function(session, seconds) return session:queue("/q"):claim(seconds) end,
  ["queue:take"] = function(session, seconds) return session:queue("/q"):take(seconds) end,
  ["queue:size"] = function(session, seconds) return session:queue("/q"):size(seconds) end,
  ["queue:put"] = function(session, seconds) return session:queue("/q2"):put("x", { timeout = seconds }) end,
  ["queue:put, delay"] = function(session, seconds) return session:queue("/q2"):put("x", { delay = seconds }) end,
  ["queue:put_all"] = function(session, seconds) return session:queue("/q2"):put_all({ "x" }, seconds) end,
  ["simple queue:take"] = function(session, seconds) return session:queue("/sq", { format = "simple" }):take(seconds) end,
  ["zk.sleep"] = function(_, seconds, world) return world.zk.sleep(seconds) end,
  ["task:wait"] = function(_, seconds, world)
    local task = world.zk.spawn(function() world.zk.sleep(5) end)
    return task:wait(seconds)
  end,
  ["session:close"] = function(_, seconds, world) return world:session():close(seconds) end,
}

-- Name > fn(hold, seconds).
local OF_HOLDS = {
  ["hold:lost"] = function(hold, seconds) return hold:lost(seconds) end,
  ["hold:set"] = function(hold, seconds) return hold:set("/a", "", nil, { timeout = seconds }) end,
}

-- Runs in a world where another session has created /a and the ephemeral /e, and holds the lock /taken.
local function in_world(fn)
  local world = sim.new()
  world:run(function()
    local other, session = world:session(), world:session()
    assert(other:create("/a", ""))
    assert(other:create("/e", "", { ephemeral = true }))
    local hold = assert(other:lock("/taken"):acquire())
    fn(session, world)
    hold:release()
  end)
end

local function check_wrong(name, fn, ...)
  for word, value in pairs(WRONG) do
    local ok, message = pcall(fn, (...), value, select(2, ...))
    assert.is_false(ok, name .. " takes " .. word)
    assert.matches(HERE, tostring(message), nil, nil, name .. " with " .. word)
  end
end

local function check_short(name, fn, ...)
  for word, value in pairs(SHORT) do
    local ok, result, message, code = pcall(fn, (...), value, select(2, ...))
    assert.is_true(ok, ("%s raises with %s: %s"):format(name, word, tostring(result)))
    if code ~= nil then assert.are.equal("string", type(code), name .. ": " .. tostring(message)) end
  end
end

describe("seconds", function()
  for name, fn in pairs(METHODS) do
    it("that are no duration are misuse: " .. name, function()
      in_world(function(session, world) check_wrong(name, fn, session, world) end)
    end)
    it("may be too short to be measured: " .. name, function()
      in_world(function(session, world) check_short(name, fn, session, world) end)
    end)
  end

  for name, fn in pairs(OF_HOLDS) do
    it("of a hold: " .. name, function()
      in_world(function(session)
        local hold = assert(session:lock("/own"):acquire())
        check_wrong(name, fn, hold)
        check_short(name, fn, hold)
      end)
    end)
  end

  it("of election:every are a millisecond or more", function()
    in_world(function(session, world)
      local election, calls = session:election("/every"), 0
      local function every(_, seconds) return election:every(seconds, function() calls = calls + 1 end) end
      check_wrong("every", every, nil)
      for word, value in pairs(SHORT) do
        local ok, message = pcall(every, nil, value)
        assert.is_false(ok, "every takes " .. word)
        assert.matches(HERE .. "argument #1 to 'every' %(seconds must be at least 0.001, got ", message)
      end
      assert.are.equal(0, calls)
      local task = world.zk.spawn(every, nil, 0.001)
      world.zk.sleep(1)
      election:stop()
      task:wait()
      assert.is_true(calls > 500 and calls < 1002, calls)
    end)
  end)

  it("of a term: sleep", function()
    in_world(function(session)
      local term = assert(session:election("/every"):campaign())
      local function sleep(_, seconds) return term:sleep(seconds) end
      check_wrong("sleep", sleep, nil)
      check_short("sleep", sleep, nil)
    end)
  end)

  it("between the terms of a failing function never become zero, however often it fails", function()
    in_world(function(session, world)
      local election, times = session:election("/fails"), {}
      local task = world.zk.spawn(function()
        return election:lead(function() times[#times + 1] = world:now() error "it fails" end,
          { backoff = 0, cooldown = 1, on_error = function() end })
      end)
      world.zk.sleep(1200)
      election:stop()
      task:wait()
      assert.is_true(#times <= 1200, #times)
    end)
  end)
end)
