-- The built-in host: run, spawn, sleep, now. Needs no server.
-- Tags: sanitize

local builtin = require "zkrecipes.adapters.builtin"
local collect = require "spec.support.collect"
local coroutines = require "zkrecipes.host.coroutines"
local deaf = require "spec.support.deaf"
local loops = require "zkrecipes.host.loop"
local wait = require "zkrecipes.host.wait"
local zk = require "zkrecipes"

local deaf_session, reported, assert_misuse = deaf.deaf_session, deaf.reported, deaf.assert_misuse

describe("a coroutine that has ended", function()
  it("is collected", function()
    local alive = setmetatable({}, { __mode = "k" })
    zk.run(function()
      for _ = 1, 100 do
        zk.spawn(function()
          alive[coroutine.running()] = true
          zk.sleep(0)
        end)
      end
    end)
    collect(2)
    local count = 0
    for _ in pairs(alive) do count = count + 1 end
    assert.is_true(count < 10, count .. " of 100 are still there")
  end)
end)

describe("zk.run", function()
  it("returns the function's results, also nils", function()
    local results = coroutines.pack(zk.run(function() return 1, nil, 3, nil end))
    assert.are.same({ n = 4, 1, nil, 3, nil }, results)
  end)

  it("runs until all spawned coroutines have ended", function()
    local ended = {}
    zk.run(function()
      zk.spawn(function()
        zk.sleep(0.02)
        zk.spawn(function() zk.sleep(0.02) ended[#ended + 1] = "grandchild" end)
        ended[#ended + 1] = "child"
      end)
    end)
    assert.are.same({ "child", "grandchild" }, ended)
  end)

  it("raises an error of its function, with the traceback, after the other coroutines have ended", function()
    local ended
    local function failing()
      zk.spawn(function() zk.sleep(0.02) ended = true end)
      error("it broke")
    end
    local ok, message = pcall(zk.run, failing)
    assert.is_false(ok)
    assert.is_true(ended)
    assert.matches("host_spec.lua:%d+: it broke\nstack traceback:\n", message)
  end)

  it("raises errors that are tables unchanged", function()
    local problem = {}
    local ok, raised = pcall(zk.run, function() error(problem) end)
    assert.is_false(ok)
    assert.are.equal(problem, raised)
  end)

  it("reports an error of a coroutine with its traceback, and lets the other coroutines continue", function()
    local other
    local lines = reported(function()
      zk.spawn(function() local none = zk.none; return none.field end)
      zk.sleep(0.01)
      other = true
    end)
    assert.is_true(other)
    assert.are.equal(1, #lines)
    assert.matches("host_spec.lua:%d+: attempt to index", lines[1])
    assert.matches("stack traceback:", lines[1])
  end)

  it("cancels everything and raises the first error with fail_fast", function()
    local cleaned = 0
    local function main()
      for _ = 1, 3 do
        zk.spawn(function()
          zk.pcall(zk.sleep, 100)
          cleaned = cleaned + 1
        end)
      end
      zk.spawn(function() zk.sleep(0.01) error("first") end)
      zk.sleep(100)
    end
    local before = zk.now()
    local ok, message = pcall(zk.run, main, { fail_fast = true })
    assert.is_false(ok)
    assert.matches("first", message)
    assert.are.equal(3, cleaned)
    assert.is_true(zk.now() - before < 50) -- not the 100 s that the other coroutines sleep
  end)

  it("does not nest", function()
    zk.run(function()
      local ok, message = zk.pcall(function() zk.run(print) end)
      assert.is_false(ok)
      assert.matches("host_spec.lua:%d+: zk.run is running already", message)
    end)
  end)

  it("closes the sessions that were opened meanwhile, also after an error, and no other sessions", function()
    local before, inside = deaf_session(), nil
    pcall(zk.run, function()
      inside = deaf_session()
      error("oops")
    end)
    assert.are.equal("closed", inside.state)
    assert.are_not.equal("closed", before.state)
    before:close(0)
  end)

  it("runs again after an error", function()
    pcall(zk.run, function() error("x") end)
    assert.are.equal(5, zk.run(function() zk.sleep(0) return 5 end))
  end)

  it("refuses wrong arguments", function()
    assert_misuse(function() zk.run(5) end, "bad argument #1 to 'run' %(function expected, got number%)")
    assert.error_matches(function() zk.run(print, { fast = true }) end, "unknown option 'fast'")
    assert.error_matches(function() zk.run(print, { on_error = 1 }) end, "function expected, got number")
  end)

  it("runs again after options that raise when they are read", function()
    zk.pcall(zk.run, function() end, setmetatable({}, { __index = function() error("not here") end }))
    assert.are.equal(5, zk.run(function() return 5 end))
  end)

  it("survives an error in the error handler", function()
    local stderr, written = io.stderr, {}
    io.stderr = { write = function(_, ...) written[#written + 1] = table.concat({ ... }) end } -- luacheck: ignore 122
    zk.run(function() zk.spawn(error, "a") end, { on_error = function() error("b") end })
    io.stderr = stderr -- luacheck: ignore 122
    assert.matches("a.*on_error failed.*b", table.concat(written))
  end)
end)

describe("zk.spawn", function()
  it("passes arguments to the function and its results to wait", function()
    zk.run(function()
      local task = zk.spawn(function(...) zk.sleep(0.001) return select("#", ...), ... end, 1, nil, 3, nil)
      assert.are.same({ n = 5, 4, 1, nil, 3, nil }, coroutines.pack(task:wait()))
      assert.are.same({ n = 5, 4, 1, nil, 3, nil }, coroutines.pack(task:wait()))
    end)
  end)

  it("raises the function's error in task:wait, and then does not report it", function()
    local lines = reported(function()
      local ok, message, code = zk.spawn(function() error("broken") end):wait()
      assert.is_nil(ok)
      assert.matches("broken", message)
      assert.are.equal("error", code)
    end)
    assert.are.same({}, lines)
  end)

  it("stops waiting when the limit passes", function()
    zk.run(function()
      local task = zk.spawn(zk.sleep, 0.05)
      local ok, message, code = task:wait(0.005)
      assert.is_nil(ok)
      assert.matches("time limit", message)
      assert.are.equal("timeout", code)
      assert.are.equal("timeout", select(3, task:wait(0)))
    end)
  end)

  it("outside of run is queued until a call drives the loop", function()
    local ran
    zk.spawn(function() ran = true end)
    assert.is_nil(ran)
    zk.sleep(0)
    assert.is_true(ran)
  end)

  it("is collected when it has ended", function()
    zk.run(function()
      local alive = setmetatable({}, { __mode = "k" })
      for i = 1, 20 do
        local task = zk.spawn(function() zk.sleep(i % 2 * 0.001) return {} end)
        alive[task] = true
        task:wait()
      end
      collect(2)
      local left = 0
      for _ in pairs(alive) do left = left + 1 end
      assert.is_true(left <= 2, left .. " of 20 are left")
    end)
  end)

  it("cannot wait for itself", function()
    zk.run(function()
      local task
      task = zk.spawn(function() return task:wait() end)
      assert.matches("cannot wait for itself", select(2, task:wait()))
    end)
  end)
end)

describe("an error whose __tostring raises, or gives no string,", function()
  local mute = setmetatable({}, { __tostring = function() error "no text" end })
  local odd = setmetatable({}, { __tostring = function() return {} end })
  local TEXT = "a table without a text"

  it("is reported, and the other coroutines continue", function()
    local ended
    local lines = reported(function()
      zk.spawn(error, mute)
      zk.spawn(error, odd)
      local told
      coroutine.wrap(function() zk.sleep(0.001) told = true error(mute) end)() -- no task, so the loop itself reports it
      repeat zk.sleep(0.001) until told
      ended = true
    end)
    assert.is_true(ended)
    assert.are.same({ TEXT, TEXT }, { lines[1], lines[2] })
    assert.matches("^" .. TEXT .. "\nstack traceback", lines[3])
    assert.are.equal(3, #lines)
  end)

  it("is told by task:wait", function()
    zk.run(function()
      assert.are.equal("task:wait: the task failed: " .. TEXT, (select(2, zk.spawn(error, mute):wait())))
      assert.are.equal("task:wait: the task failed: " .. TEXT, (select(2, zk.spawn(error, odd):wait())))
    end)
  end)

  it("may come from on_error", function()
    local stderr, written = io.stderr, {}
    io.stderr = { write = function(_, ...) written[#written + 1] = table.concat({ ... }) end } -- luacheck: ignore 122
    local ok, problem = pcall(zk.run, function() zk.spawn(error, odd) end, { on_error = function() error(mute) end })
    io.stderr = stderr -- luacheck: ignore 122
    assert.is_true(ok, problem)
    assert.matches(TEXT .. "\nand on_error failed: " .. TEXT, table.concat(written))
  end)

  it("may come from a session's log function", function()
    local lines = reported(function()
      local logged = 0
      local session = deaf_session { log = function() logged = logged + 1 error(mute) end }
      repeat zk.sleep(0.001) until logged > 0
      session:close(0)
    end)
    assert.are.equal("in a session's log function: " .. TEXT, lines[1])
  end)
end)

-- The built-in host's loop in virtual time. Each step of a coroutine takes this many seconds, so a busy machine makes no difference.
local function in_virtual_time(step)
  local loop, time = loops.new(), 0
  local adapter = builtin.over(loop)
  local function nothing() end
  adapter.attach { now = function() return time end, wait = function(left) time = time + left end, dispatch = nothing,
    pending = nothing, report = error }
  local function sleep(seconds)
    time = time + step
    adapter.park(adapter.token(), seconds)
  end
  return { sleep = sleep, spawn = adapter.spawn, now = function() return time end }
end

describe("zk.sleep and zk.now", function()
  it("sleeps as long as asked", function()
    local before = zk.now()
    zk.sleep(0.05)
    assert.is_true(zk.now() - before >= 0.05)
  end)

  it("wakes the sleepers in order of time", function()
    local virtual, order = in_virtual_time(0), {}
    for i = 1, 5 do
      virtual.spawn(function()
        virtual.sleep((6 - i) * 0.01)
        order[#order + 1] = i
      end)
    end
    virtual.sleep(1)
    assert.are.same({ 5, 4, 3, 2, 1 }, order)
  end)

  it("wakes coroutines that are due at the same moment in the order of their calls", function()
    local virtual, order = in_virtual_time(0), {}
    for i = 1, 100 do
      virtual.spawn(function()
        virtual.sleep(0.002)
        order[#order + 1] = i
      end)
    end
    virtual.sleep(1)
    assert.are.equal(100, #order)
    for i = 1, 100 do assert.are.equal(i, order[i]) end
  end)

  it("lets other coroutines run during sleep(0)", function()
    zk.run(function()
      local order = {}
      local function talk(name)
        return function() for i = 1, 3 do order[#order + 1] = name .. i zk.sleep(0) end end
      end
      zk.all{ talk "a", talk "b" }
      assert.are.equal("a1 b1 a2 b2 a3 b3", table.concat(order, " "))
    end)
  end)

  it("works on the main thread, also while coroutines wait", function()
    local session = deaf_session()
    local task = zk.spawn(function() return session:connected(600) end)
    local before = zk.now()
    zk.sleep(0.01)
    assert.is_true(zk.now() - before < 30)
    session:close(0)
    assert.are.equal("closed", select(3, task:wait()))
  end)

  it("parks, also if a slow machine lets the time pass before", function()
    local time, parked = 0, 0
    local adapter = { token = function() return {} end, park = function() parked = parked + 1 end }
    function adapter.now() time = time + 1 return time end
    assert.is_false(wait.pause({ adapter = adapter }, wait.record(), 0.001))
    assert.are.equal(1, parked)
  end)

  it("refuses values that are no duration", function()
    for _, wrong in ipairs{ -1, 0 / 0, 1 / 0, 1e10, "1", {} } do
      assert_misuse(function() zk.sleep(wrong) end, "bad argument #1 to 'sleep'")
    end
    assert.error_matches(function() zk.sleep() end, "seconds expected, got nil")
  end)

  it("keeps a ticker on time among 10,000 sleepers", function()
    local virtual = in_virtual_time(20e-6)
    local ticks, late, left = 0, 0, 10000
    virtual.spawn(function()
      while left > 0 do
        local before = virtual.now()
        virtual.sleep(0.001)
        ticks, late = ticks + 1, math.max(late, virtual.now() - before)
      end
    end)
    for i = 1, left do
      virtual.spawn(function()
        virtual.sleep(0.3 + i % 100 * 0.002)
        left = left - 1
      end)
    end
    virtual.sleep(2)
    assert.are.equal(0, left)
    assert.is_true(ticks > 100, ticks)
    assert.is_true(late < 0.01, late)
  end)
end)

describe("tasks that have ended", function()
  it("leave no memory behind", function()
    local function grown()
      zk.run(function() for _ = 1, 2000 do zk.spawn(zk.sleep, 0) end end)
      collect(2)
      return collectgarbage("count")
    end
    grown()
    local before = grown()
    assert.is_true(grown() - before < 200, "kilobytes are left")
  end)

  it("wake their waiters in the order of their calls", function()
    local order = {}
    zk.run(function()
      local task = zk.spawn(zk.sleep, 0.01)
      for i = 1, 20 do
        zk.spawn(function()
          task:wait()
          order[#order + 1] = i
        end)
      end
    end)
    for i = 1, 20 do assert.are.equal(i, order[i]) end
  end)
end)
