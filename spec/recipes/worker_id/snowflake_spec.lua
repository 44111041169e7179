-- The snowflake, on a real server; in simulated worlds where clocks matter.
-- Tags: sanitize

local collect = require "spec.support.collect"
local env = require "spec.support.env"
local sim = require "zkrecipes.sim"
local run, fails = env.run, env.fails

local EPOCH = 1577836800

-- Returns the parts of a decimal id, exact in every Lua: time in ms since the epoch, worker, sequence.
local function parts(id)
  local function split(digits, by) -- digits of a number to the base 10 > quotient, remainder
    local quotient, rest = {}, 0
    for digit in digits:gmatch "%d" do
      rest = rest * 10 + tonumber(digit)
      quotient[#quotient + 1] = ("%.0f"):format(math.floor(rest / by))
      rest = rest % by
    end
    return (table.concat(quotient):gsub("^0+(%d)", "%1")), rest
  end
  local rest, sequence = split(id, 4096)
  local time, worker = split(rest, 1024)
  return tonumber(time), worker, sequence
end

local function less(a, b) return #a < #b or #a == #b and a < b end

local function world_of(body, options)
  return function()
    local world = sim.new(options or { seed = 1 })
    world:run(function() body(world) end)
  end
end

describe("the snowflake", function()
  it("gives ids that grow, with time, worker and sequence", run(function()
    local session = env.session()
    local before = os.time()
    local ids, more = assert(session:snowflake("/w"):acquire(200)), assert(session:snowflake("/w"):acquire(200))
    assert.are.same({ 0, 1, true }, { ids.number, more.number, ids:valid() })
    local last, seen = "0", {}
    for i = 1, 20000 do
      local id = assert(ids:next())
      assert.is_true(less(last, id) and not seen[id] and not id:find "%D")
      seen[id], last = i, id
    end
    local other = assert(more:next())
    assert.is_nil(seen[other])
    local time, worker = parts(other)
    assert.are.equal(1, worker)
    time = time / 1000 + EPOCH
    assert.is_true(time >= before and time <= os.time() + 60)
    ids:release()
    assert.has_error(function() ids:next() end)
    more:release()
  end))

  it("ends a wait for a later time when another coroutine releases the number, at every moment", world_of(function(world)
    local process, ended = world:process(), {}
    local session = process.session()
    for i = 0, 60 do
      local path = ("/w-%d"):format(i)
      local ids = assert(session:snowflake(path):acquire(20))
      assert(session:create(path .. "/used-0", "1577836800000 1")) -- the first write fails, so `next` reads the bound
      local tasks = {}
      for k = 1, 2 do tasks[k] = process.spawn(function() return ids:next(5) end) end
      process.sleep(i * 0.0002)
      ids:release()
      for k = 1, 2 do
        local id, _, code = tasks[k]:wait()
        assert.is_true(id and not code or code == "lost", tostring(code))
        ended[code or "id"] = true
      end
    end
    assert.are.same({ id = true, lost = true }, ended)
  end))

  it("writes the last time that ids:next has used; the next holder begins after it", run(function()
    local session = env.session()
    local ids = assert(session:snowflake("/w"):acquire(200))
    assert.is_nil((session:get("/w/used-0")))
    local id = assert(ids:next())
    local epoch, bound = assert(session:get("/w/used-0")):match "^(%d+) (%d+)$"
    assert.are.equal(EPOCH * 1000, tonumber(epoch))
    assert.is_true((parts(id)) + EPOCH * 1000 <= tonumber(bound))
    ids:release()
    env.eventually("the number is free", function() return session:exists("/w/0") == false end)
    local again = assert(session:snowflake("/w"):acquire(200))
    assert.is_true((parts(assert(again:next()))) + EPOCH * 1000 > tonumber(bound))
    again:release()
  end))

  it("reports foreign data, and another epoch", run(function()
    local session = env.session()
    for _, data in ipairs { false, "", "nonsense\0", "1577836800000", "1 2 3", ("9"):rep(40) .. " 1" } do
      assert(session:create("/w/used-0", data or nil, { parents = true }))
      assert.matches("^snowflake:acquire /w: the znode /w/used%-0 does not hold", fails("conflict", session:snowflake("/w"):acquire(200)))
      env.eventually("the number is free", function() return session:exists("/w/0") == false end)
      assert(session:delete("/w/used-0"))
    end
    local ids = assert(session:snowflake("/w", { epoch = 0 }):acquire(200))
    local before, time = os.time(), math.floor(parts(assert(ids:next())) / 1000)
    assert.is_true(before <= time and time <= os.time() + 1) -- os.time reads a clock that may be some ms behind
    ids:release()
    env.eventually("the number is free", function() return session:exists("/w/0") == false end)
    assert.matches("the epoch 0 ms", fails("conflict", session:snowflake("/w"):acquire(200)))
  end))

  it("refuses wrong arguments at the caller's line", run(function()
    local session = env.session()
    for _, epoch in ipairs { -1, 2 ^ 40, 0 / 0, "x" } do
      assert.has_error(function() session:snowflake("/w", { epoch = epoch }) end)
    end
    assert.has_error(function() session:snowflake("w") end)
    assert.has_error(function() session:snowflake("/w"):acquire(-1) end)
  end))
end)

describe("the snowflake in a world", function()
  it("keeps the order if the clock is set back, and stops if the clock is far behind", world_of(function(world)
    local session = world:session()
    local ids = assert(session:snowflake("/w"):acquire())
    local first = assert(ids:next())
    world:step_clock(session, -50)
    local second = assert(ids:next())
    assert.is_true(less(first, second))
    world:step_clock(session, -20)
    assert.matches("^snowflake_ids:next /w: the clock of this machine is .* behind .*/w/used%-0", fails("conflict", ids:next()))
    world:advance(15)
    assert.is_true(less(second, assert(ids:next())))
    assert.has_error(function() world:step_clock(session, 0 / 0) end)
    world:step_clock(session, -1e9)
    fails("conflict", ids:next())
    world:step_clock(session, 4e9)
    assert.matches("69 years", fails("conflict", ids:next()))
  end))

  it("gives no id twice if a process with a slow clock gets the number", world_of(function(world)
    local one, other = world:session(), world:process().session()
    local ids = assert(one:snowflake("/w"):acquire())
    local last
    for _ = 1, 10000 do last = assert(ids:next()) end
    world:expire(one)
    world:advance(1)
    world:step_clock(other, -30)
    local later = assert(other:snowflake("/w"):acquire())
    assert.are.equal(0, later.number)
    assert.is_true(less(last, assert(later:next())))
  end))

  it("uses the clock of its process", world_of(function(world)
    local one, other = world:session(), world:process().session()
    world:step_clock(one, 100)
    local ids, later = assert(one:snowflake("/w"):acquire()), assert(other:snowflake("/w"):acquire())
    assert.are.equal(100000, ids.clock() - later.clock())
  end))

  it("does not drive a number ahead of the clock if it is acquired for single ids", world_of(function(world)
    local session = world:session()
    local snowflake = session:snowflake("/w")
    for _ = 1, 500 do
      local ids = assert(snowflake:acquire())
      assert(ids:next())
      ids:release()
    end
    local ids = assert(snowflake:acquire())
    assert.is_true(ids.last - ids.clock() < 5000)
  end))

  it("gives no id twice if two processes have one number, because another client has deleted its znode", world_of(function(world)
    local one, other = world:session(), world:process().session()
    local all, seen = { assert(one:snowflake("/w"):acquire()) }, {}
    assert(all[1]:next())
    assert(other:delete("/w/0"))
    all[2] = assert(other:snowflake("/w"):acquire())
    assert.are.equal(0, all[2].number)
    local last = {}
    for _ = 1, 2000 do
      for i = 1, 2 do
        local id = assert(all[i]:next())
        assert.is_nil(seen[id])
        assert.is_true(not last[i] or less(last[i], id))
        seen[id], last[i] = true, id
      end
      world:advance(0.007)
    end
  end))

  it("does not use numbers whose ids are far ahead of the clock", world_of(function(world)
    local wrong, right = world:process().session(), world:session()
    world:step_clock(wrong, 86400)
    local snowflake = right:snowflake("/w")
    for i = 0, 8 do
      if i < 8 then
        local ids = assert(snowflake:acquire())
        assert.are.equal(i, ids.number)
        assert(ids:next())
        ids:release()
      else
        assert.matches("^snowflake:acquire /w: the clock of this machine is .* behind .* 8 free numbers.*/w/used%-7.*correct the clock",
          fails("conflict", snowflake:acquire()))
      end
      world:advance(1)
      assert.is_nil(select(2, world:get("/w/0")))
      local ids = {}
      for k = 0, i do ids[k] = assert(wrong:snowflake("/w"):acquire()) end
      if i < 8 then assert(ids[i]:next()) end
      for k = 0, i do ids[k]:release() end
      world:advance(1)
    end
    world:step_clock(right, 86400)
    assert.are.equal(0, assert(snowflake:acquire()).number)
  end))

  if coroutine.close then
    it("releases its number if the acquiring coroutine is closed at any moment", world_of(function(world)
      local snowflake = world:session():snowflake("/w")
      local first = assert(snowflake:acquire())
      assert(first:next())
      collectgarbage "stop"
      local held = 0
      for i = 1, 60 do
        local ids
        local parked = coroutine.create(function() ids = snowflake:acquire() end)
        coroutine.resume(parked)
        world:advance(i * 0.00025)
        if not ids then
          held = held + (select(2, world:get("/w/1")) and 1 or 0)
          assert(coroutine.close(parked))
        else
          ids:release()
        end
        world:advance(1)
        assert.is_nil(select(2, world:get("/w/1")))
      end
      collectgarbage "restart"
      assert.is_true(held > 2)
      first:release()
    end))
  end

  it("gives no id if its hold may be lost", world_of(function(world)
    local session = world:session()
    local ids = assert(session:snowflake("/w"):acquire())
    assert(ids:next())
    world:partition(session)
    world:advance(30)
    fails("lost", ids:next())
    assert.is_false(ids:valid())
    assert.are.equal("lost", ids:lost(0))
    world:heal(session)
    local again = assert(session:snowflake("/w"):acquire())
    session:close()
    fails("closed", again:next())
  end))

  it("raises the bound once for all callers of next, also if the caller that does it is canceled", world_of(function(world)
    local process = world:process()
    local session = process.session()
    local ids = assert(session:snowflake("/w"):acquire())
    local before, tasks, seen, count = world:requests(session), {}, {}, 0
    for i = 1, 50 do
      tasks[i] = process.spawn(function() return ids:next() end)
    end
    process.sleep(0)
    tasks[1]:cancel()
    for i = 2, 50 do
      local id = assert(tasks[i]:wait())
      assert.is_nil(seen[id])
      seen[id], count = true, count + 1
    end
    assert.is_true(world:requests(session) - before <= 4) -- two writes, of which one finds that the other was done, and a read
    assert.are.equal(49, count)
  end))

  it("releases its number when it is collected or closed", world_of(function(world)
    local session = world:session()
    local snowflake = session:snowflake("/w")
    local function acquire() assert.are.equal(0, assert(snowflake:acquire()).number) end
    acquire()
    collect(3)
    world:advance(1)
    local ids = assert(snowflake:acquire())
    assert.are.equal(0, ids.number)
    getmetatable(ids).__close(ids)
    world:advance(1)
    assert.is_nil(select(2, world:get("/w/0")))
  end))

  it("never writes an earlier time over a later one", world_of(function(world)
    local session, other = world:session(), world:session()
    local ids = assert(session:snowflake("/w"):acquire())
    assert(ids:next())
    local later = ids.bound.last + 5000
    assert(other:set("/w/used-0", ("1577836800000 %.0f"):format(later))) -- like a late write
    world:advance(0.1)
    assert(ids:next())
    assert.is_true(ids.last > later and ids.last <= tonumber(world:get("/w/used-0"):match " (%d+)$"))
    assert(other:delete("/w/used-0"))
    world:advance(6)
    assert(ids:next())
    assert.is_truthy(world:get("/w/used-0"))
  end))

  it("survives a lost answer, and reports that no server answered", world_of(function(world)
    local session = world:session()
    local ids = assert(session:snowflake("/w"):acquire())
    world:lose_reply(session, "multi")
    assert.matches("^snowflake_ids:next /w: ", fails("connection_loss", ids:next()))
    assert(session:connected())
    local id = assert(ids:next())
    world:disconnect(session)
    world:advance(0.001)
    assert.is_true(less(id, assert(ids:next()))) -- below the bound it needs no server
    world:advance(1)
    fails("connection_loss", ids:next(1))
  end))
end)
