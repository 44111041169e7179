-- The built-in host: cancellation, all, any. Needs no server.
-- Tags: sanitize

local coroutines = require "zkrecipes.host.coroutines"
local deaf = require "spec.support.deaf"
local zk = require "zkrecipes"

local deaf_session, reported, assert_misuse = deaf.deaf_session, deaf.reported, deaf.assert_misuse

describe("cancel", function()
  it("raises zk.canceled in the present wait and in all later ones", function()
    zk.run(function()
      local seen = {}
      local task = zk.spawn(function()
        seen[1] = select(2, zk.pcall(zk.sleep, 100))
        seen[2] = select(2, zk.pcall(zk.sleep, 100))
        seen[3] = select(2, zk.pcall(zk.sleep, 0))
        return "cleaned up"
      end)
      zk.sleep(0)
      task:cancel()
      task:cancel()
      assert.are.equal("cleaned up", task:wait())
      assert.are.same({ zk.canceled, zk.canceled, zk.canceled }, seen)
      task:cancel()
    end)
  end)

  it("wakes its waiters", function()
    zk.run(function()
      local task = zk.spawn(zk.sleep, 100)
      zk.sleep(0)
      task:cancel()
      local ok, _, code = task:wait()
      assert.is_nil(ok)
      assert.are.equal("canceled", code)
    end)
  end)

  it("before the start prevents the function from running", function()
    local ran
    zk.run(function()
      local task = zk.spawn(function() ran = true end)
      task:cancel()
      assert.are.equal("canceled", select(3, task:wait()))
    end)
    assert.is_nil(ran)
  end)

  it("is not reported as an error", function()
    local lines = reported(function()
      local task = zk.spawn(zk.sleep, 100)
      zk.sleep(0)
      task:cancel()
    end)
    assert.are.same({}, lines)
  end)

  it("is not done by <close>, which a task does not have", function()
    if not coroutines.closes then return end
    zk.run(function()
      local task = zk.spawn(function() return zk.sleep(0) or "ended" end)
      local close = assert(load "local task = ... local closed <close> = task")
      assert.matches("non%-closable", (select(2, pcall(close, task))))
      assert.are.equal("ended", task:wait())
    end)
  end)

  it("ends a wait for the core, and frees its memory", function()
    local session = deaf_session()
    zk.run(function()
      local lock = session:lock("/l")
      local task = zk.spawn(function() return lock:acquire() end)
      zk.sleep(0.005)
      task:cancel()
      assert.are.equal("canceled", select(3, task:wait()))
      assert.are.equal(0, lock:cancel())
    end)
    session:close(0)
  end)
end)

describe("zk.all", function()
  it("returns the first result of each, in order", function()
    local results = coroutines.pack(zk.run(function()
      return zk.all{
        function() zk.sleep(0.01) return "a", "ignored" end,
        function() return nil end,
        function() return "c" end,
      }
    end))
    assert.are.same({ n = 3, "a", nil, "c" }, results)
  end)

  it("cancels the rest when one fails, waits for it, and raises the error", function()
    local cleaned
    zk.run(function()
      local ok, message = zk.pcall(zk.all, {
        function() zk.pcall(zk.sleep, 100) cleaned = true end,
        function() zk.sleep(0.005) error("one failed") end,
      })
      assert.is_false(ok)
      assert.is_true(cleaned)
      assert.matches("together_spec.lua:%d+: one failed", message)
    end)
  end)

  it("works on the main thread and without functions", function()
    assert.are.same({ 1, 2 }, { zk.all{ function() return 1 end, function() zk.sleep(0.001) return 2 end } })
    assert.are.equal(0, select("#", zk.all{}))
  end)

  it("refuses wrong arguments", function()
    assert.error_matches(function() zk.all(5) end, "list of functions expected, got number")
    assert.error_matches(function() zk.all{ print, 5 } end, "function expected at 2, got number")
  end)

  it("refuses functions that it would not run", function()
    local ran = false
    local function fn() ran = true end
    for name, several in pairs { all = zk.all, any = zk.any } do
      local start = ("bad argument #1 to '%s' %%("):format(name)
      local function refused(pattern, list) assert_misuse(function() several(list) end, start .. pattern) end
      refused("list of functions expected, got a table with 'a'", { a = fn })
      refused("list of functions expected, got a table with 'a'", { fn, a = fn })
      refused("list of functions expected, got a table without entry 2; leave no hole", { fn, nil, fn })
      refused("list of functions expected, got a table without entry 1; leave no hole", { [0] = fn })
      refused("function expected at 2, got boolean", { fn, false })
    end
    assert.is_false(ran)
  end)
end)

describe("zk.any", function()
  it("returns the results of the first; the other tasks are canceled and have ended", function()
    zk.run(function()
      local cleaned = 0
      local function slow() zk.pcall(zk.sleep, 100) cleaned = cleaned + 1 end
      local a, b = zk.any{ slow, function() zk.sleep(0.005) return "x", "y" end, slow }
      assert.are.same({ "x", "y" }, { a, b })
      assert.are.equal(2, cleaned)
    end)
  end)

  it("raises the error of the first", function()
    zk.run(function()
      local ok, message = zk.pcall(zk.any, { function() error("quick") end, function() zk.sleep(100) end })
      assert.is_false(ok)
      assert.matches("quick", message)
    end)
  end)

  it("needs at least one function", function()
    assert.error_matches(function() zk.any{} end, "at least one function expected")
  end)

  it("cancels its children when it is canceled", function()
    zk.run(function()
      local canceled = 0
      local function child()
        local _, problem = zk.pcall(zk.sleep, 100)
        if problem == zk.canceled then canceled = canceled + 1 end
      end
      local task = zk.spawn(function() zk.any{ child, child } end)
      zk.sleep(0.005)
      task:cancel()
      task:wait()
      zk.sleep(0.005)
      assert.are.equal(2, canceled)
    end)
  end)
end)

describe("zk.run whose function fails", function()
  local function run(others)
    local reports = {}
    local ok, problem = pcall(zk.run, function()
      if others then zk.spawn(function() repeat zk.sleep(0.001) until #reports > 0 end) end
      error("main failed", 0)
    end, { on_error = function(text) reports[#reports + 1] = text end })
    assert.is_false(ok)
    assert.matches("main failed", problem)
    return reports
  end

  it("raises its error, and reports it at once if other coroutines run", function()
    assert.same({}, run(false))
    local reports = run(true) -- the other coroutine never ends
    assert.are.equal(1, #reports)
    assert.matches("main failed", reports[1])
  end)
end)
