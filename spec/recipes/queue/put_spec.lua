-- Puts in simulated worlds: while allocations fail and answers are lost; and what ends with the coroutine that puts.
-- Tags: sanitize, one thread

local core = require "zkrecipes.core"
local env = require "spec.support.env"
local arguments = require "zkrecipes.recipes.queue.arguments"
local sim = require "zkrecipes.sim"

local fails = env.fails

-- Calls fn(world, session) in a world with one process.
local function with_session(fn)
  local world = sim.new { limit = 1000 }
  world:run(function()
    local session = world.zk.session { timeout = 30 }
    assert(session:connected(5))
    fn(world, session)
  end)
end

local PUTS = {
  ["the first item"] = { expected = 1, put = function(queue) return queue:put "x" end },
  ["an item"] = { expected = 2, made = true, kind = "create", put = function(queue) return queue:put("x", { priority = 7 }) end },
  ["a delayed item"] = { expected = 2, made = true, put = function(queue) return queue:put("x", { delay = 0.5 }) end },
  ["an item with an id"] = { expected = 2, made = true, put = function(queue) return queue:put("x", { id = "a b" }) end },
  ["an old id"] = { expected = 2, made = true, old = "x", put = function(queue) return queue:put("x", { id = "x" }) end },
  ["a list"] = { expected = 6, made = true, put = function(queue) return queue:put_all { "1", "2", "3", "4", "5" } end },
  ["a list whose znodes are void"] = { expected = 8, made = true, others = 4,
    put = function(queue) return queue:put_all { "1", "2", "3" } end },
  ["an item into a queue with a capacity"] = { expected = 2, made = true, kind = "create", options = { capacity = 9 },
    put = function(queue) return queue:put "x" end },
  ["an item whose znode is void"] = { expected = 5, made = true, others = 3, kind = "create",
    put = function(queue) return queue:put "x" end },
}

local function prepare(world, session, case)
  local queue = session:queue("/jobs", case.options)
  if case.made then assert(queue:put "0") end
  if case.others then
    local other = world:process().session({ timeout = 30 }):queue("/jobs")
    for i = 1, case.others do assert(other:put(tostring(i))) end
  end
  if case.old then
    assert(queue:put("1", { id = case.old }))
    for _ = 1, 2 do assert(queue:take(5)) end
    assert(queue:put "0")
    world:advance(61)
  end
  return queue
end

-- Returns whether the put whose n-th allocation failed was done, its code, the number of items afterwards, and whether it failed.
local function starved(case, n, fault)
  local done, message, code, size, failed
  with_session(function(world, session)
    local queue = prepare(world, session, case)
    if fault then world:plan(session, fault, { kind = case.kind or "multi", down = 2 }) end
    core.alloc_fail(n)
    done, message, code = case.put(queue)
    failed = core.alloc_failed()
    core.alloc_fail(0)
    size = assert(queue:size())
  end)
  return done, code or message, size, failed
end

describe("while an allocation fails", function()
  for name, case in pairs(PUTS) do
    for _, fault in ipairs { "none", "lose_reply", "lose_request" } do
      it("a put either puts or says no_memory: " .. name .. ", fault: " .. fault, function()
        local before, rest = arguments.BUCKET, (case.made and 1 or 0) + (case.others or 0)
        finally(function()
          core.alloc_fail(0)
          arguments.BUCKET = before
        end)
        arguments.BUCKET = case.others or before
        local n, put = 0, 0
        repeat
          n = n + 1
          local done, code, size, failed = starved(case, n, fault ~= "none" and fault or nil)
          if done then
            put = put + 1
            assert.equal(case.expected, size, "allocation " .. n)
          else
            assert.equal("no_memory", code, "allocation " .. n)
            assert.equal(rest, size, "allocation " .. n)
          end
        until not failed
        assert.is_true(put > 0 and n > 3, n)
      end)
    end
  end

  it("a bucket that could not be sealed is sealed by a later put", function()
    local before = arguments.BUCKET
    finally(function() arguments.BUCKET = before end)
    arguments.BUCKET = 3
    local n, failed = 0, true
    while failed do
      n = n + 1
      with_session(function(world, session)
        local queue = session:queue("/jobs")
        assert(queue:put_all { "1", "2" })
        core.alloc_fail(n)
        queue:put "3"
        failed = core.alloc_failed()
        core.alloc_fail(0)
        for _ = 1, 4 do assert(queue:put "4") end
        world:advance(1)
        assert.is_true(tonumber((world:get("/jobs/lanes/00000"))) >= 1)
      end)
    end
  end)
end)

describe("a put", function()
  it("goes on without its coroutine, which was canceled, only as far as its request was sent", function()
    with_session(function(world, session)
      local queue = session:queue("/jobs")
      assert(queue:put "0")
      world:plan(session, "delay", { kind = "create", seconds = 1 })
      local task = world.zk.spawn(queue.put, queue, "1")
      world:advance(0.1)
      task:cancel()
      world:advance(3)
      assert.equal(0, world:planned(session))
      assert.equal(2, queue:size())
    end)
  end)

  it("makes another bucket while many are in flight, and none is refused", function()
    local before = arguments.BUCKET
    finally(function() arguments.BUCKET = before end)
    arguments.BUCKET = 20
    with_session(function(world, session)
      local queue = session:queue("/jobs")
      assert(queue:put "0")
      local requests, puts = world:requests(world.zk), {}
      for i = 1, 200 do puts[i] = function() return assert(queue:put(tostring(i))) end end
      world.zk.all(puts)
      world:advance(1)
      local buckets = tonumber((world:get("/jobs/lanes/00000")))
      assert.is_true(buckets >= 1)
      assert.equal(200 + buckets, world:requests(world.zk) - requests)
      for i = 0, 200 do assert.equal(tostring(i), (queue:take(5))) end
    end)
  end)

  it("that comes too late for its limit was not done, and says so", function()
    with_session(function(world, session)
      local queue = session:queue("/jobs", { capacity = 1 })
      assert(queue:put "0")
      local from = world:now()
      fails("full", queue:put("1", { timeout = 2 }))
      assert.is_true(world:now() - from < 2.1)
      assert.equal(1, queue:size())
    end)
  end)
end)

it("a delayed item costs one write, the first one of a minute three", function()
  with_session(function(world, session)
    local queue = session:queue "/jobs"
    assert(queue:put("x", { delay = 300 }))
    for minute = 6, 9 do
      for writes = 3, 1, -2 do
        local before = world:requests(session)
        assert(queue:put("x", { delay = 60 * minute }))
        assert.equal(before + writes, world:requests(session))
      end
    end
    assert.equal(9, queue:size())
  end)
end)
