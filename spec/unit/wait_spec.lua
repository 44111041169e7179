-- How coroutines wait: records, slots, foreign coroutines, closed ones. Needs no server.
-- Tags: sanitize

local collect = require "spec.support.collect"
local core = require "zkrecipes.core"
local deaf = require "spec.support.deaf"
local loops = require "zkrecipes.host.loop"
local poll = require "zkrecipes.adapters.poll"
local zk = require "zkrecipes"

local deaf_session = deaf.deaf_session

describe("a wait", function()
  it("that nothing can end raises an error", function()
    local a, b
    a = zk.spawn(function() return b:wait() end)
    b = zk.spawn(function() return a:wait() end)
    assert.error_matches(function() a:wait() end, "every coroutine waits for another one")
    a:cancel() b:cancel()
    zk.sleep(0)
  end)

  it("in a coroutine of the program inside a coroutine of the host is ended by the loop", function()
    zk.run(function()
      local ended
      coroutine.wrap(function()
        zk.sleep(0.001)
        zk.sleep(0.001)
        ended = true
      end)()
      assert.is_nil(ended)
      for _ = 1, 10000 do
        if ended then break end
        zk.sleep(0.001)
      end
      assert.is_true(ended)
    end)
  end)

  it("inside of a C function is misuse, and does not disturb the next wait", function()
    local tells = _VERSION ~= "Lua 5.1" or rawget(_G, "jit") -- PUC Lua 5.1 raises its own error instead
    zk.run(function()
      local function by_sleeping(a, b) zk.sleep(0.001) return a < b end
      local ok, problem = pcall(table.sort, { 3, 2, 1 }, by_sleeping)
      assert.is_false(ok)
      assert.matches(tells and "cannot wait inside of a C function" or "attempt to yield across", problem)
      zk.sleep(0.001)
      ok = pcall(table.sort, { 3, 2, 1 }, function(a, b) return zk.all { function() return a < b end } end)
      assert.is_false(ok)
      zk.sleep(0.001)
    end)
  end)

  it("in a generator gives its consumer a value that explains the mistake", function()
    zk.run(function()
      local over = false
      local task = zk.spawn(function()
        while not over do zk.sleep(0.001) end
      end)
      local generator = coroutine.wrap(function()
        task:wait()
        if not over then coroutine.yield("value") end
      end)
      local got = generator()
      assert.matches("do not wait in a generator", tostring(got))
      assert.has_error(function() return got.field end)
      over = true -- no wait is left behind for the next test
      task:wait()
    end)
  end)

  it("in a coroutine of the program outside of the loop blocks", function()
    local generator = coroutine.wrap(function()
      for i = 1, 3 do
        zk.sleep(0.001)
        coroutine.yield(i)
      end
    end)
    assert.are.same({ 1, 2, 3 }, { generator(), generator(), generator() })
  end)

  it("works inside of zk.pcall, nested", function()
    zk.run(function()
      local ok, a, b = zk.pcall(function(x)
        local inner_ok, problem = zk.pcall(function() zk.sleep(0.001) error({ code = x }) end)
        assert.is_false(inner_ok)
        zk.sleep(0.001)
        return problem.code, "done"
      end, 7)
      assert.are.same({ true, 7, "done" }, { ok, a, b })
    end)
  end)

  it("uses slots again", function()
    local session = deaf_session()
    zk.run(function()
      local host = core.host(session)
      for _ = 1, 3 do
        local fns = {}
        for i = 1, 50 do fns[i] = function() session:connected(0.001) end end
        zk.all(fns)
      end
      assert.are.equal(0, host.client.outstanding())
      assert.is_true(#host.waiters <= 64, #host.waiters)
    end)
    session:close(0)
  end)
end)

-- Raises after so many instructions, once.
local function interrupt_after(instructions)
  debug.sethook(function()
    debug.sethook()
    error("interrupted", 0)
  end, "", instructions)
end

local close = coroutine.close -- only Lua 5.4 has it -- luacheck: ignore 143

local _ = close and describe("an error that comes at any moment, by a debug hook", function()
  it("does not disturb the host's count of its waiters", function()
    local session = deaf_session()
    zk.run(function()
      local host, lock = core.host(session), session:lock("/l")
      local interrupted, instructions = 0, 1
      repeat
        zk.pcall(function() -- runs in a new coroutine if pcall cannot be yielded across
          local task = zk.spawn(function()
            interrupt_after(instructions)
            local ok, problem = pcall(lock.acquire, lock, 0.001)
            debug.sethook()
            if not ok and problem == "interrupted" then interrupted = interrupted + 1 end
          end)
          task:wait()
        end)
        debug.sethook()
        instructions = instructions + 1
      until instructions == 600
      assert.is_true(interrupted > 20, interrupted .. " were interrupted")
      lock:cancel()
      zk.sleep(0.02)
      assert.are.equal(0, lock:cancel())
      assert.are.equal(0, host.client.outstanding())
    end)
    session:close(0)
  end)
end)

local _ = close and describe("a coroutine that is closed", function()

  it("ends its wait for the core at once", function()
    local session = deaf_session()
    zk.run(function()
      local lock, co = session:lock("/l"), nil
      local task = zk.spawn(function()
        co = coroutine.running()
        lock:acquire()
      end)
      zk.sleep(0.005)
      local host = core.host(session)
      assert.are.equal(1, host.client.outstanding())
      assert.is_true(close(co))
      assert.are.equal(0, host.client.outstanding())
      assert.are.equal(0, lock:cancel())
      assert.are.equal("canceled", select(3, task:wait()))
    end)
    session:close(0)
  end)

  it("while it sleeps or waits for another task does not keep run from ending", function()
    zk.run(function()
      local cos = {}
      local function keep() cos[#cos + 1] = coroutine.running() end
      local sleeper = zk.spawn(function() keep() zk.sleep(100) end)
      zk.spawn(function() keep() sleeper:wait() end)
      zk.spawn(function() keep() zk.all{ function() zk.pcall(zk.sleep, 100) end } end)
      zk.sleep(0.005)
      for _, co in ipairs(cos) do assert.is_true(close(co)) end
    end)
  end)
end)

-- Asserts that the entries of the weak table are collected soon, except one or two that a stack may still hold.
local function assert_collected(weak)
  local left = 0
  collect(3)
  for _ in pairs(weak) do left = left + 1 end
  assert.is_true(left <= 2, left .. " are left")
end

describe("a task that has ended", function()
  it("is not kept by wait records that are used again", function()
    local session = deaf_session()
    local weak = setmetatable({}, { __mode = "k" })
    zk.run(function()
      for _ = 1, 20 do
        zk.spawn(function()
          local mine = {}
          weak[mine] = true
          session:connected(0.001)
          return mine
        end)
      end
    end)
    assert_collected(weak)
    session:close(0)
  end)

  it("is collected although its coroutine was known; so is a coroutine of the program", function()
    local weak = setmetatable({}, { __mode = "k" })
    zk.run(function()
      for _ = 1, 20 do
        zk.spawn(function()
          weak[coroutine.running()] = true
          local own = coroutine.create(function()
            zk.sleep(0.001)
            coroutine.yield()
          end)
          weak[own] = true
          coroutine.resume(own)
          zk.sleep(0.01)
          coroutine.resume(own)
        end)
      end
    end)
    zk.sleep(0)
    assert_collected(weak)
  end)
end)

describe("zk.using", function()
  it("gives one module per adapter", function()
    assert.are.equal(zk, zk.using "builtin")
    assert.error_matches(function() zk.using(5) end, "name of an adapter or adapter expected")
    assert.error_matches(function() zk.using "nobody" end,
      "bad argument #1 to 'using' %(adapter 'nobody' cannot be loaded: there is none of this name%)")
    assert.error_matches(function() zk.using {} end,
      "bad argument #1 to 'using' %(the adapter has no function 'attach'%)")
    local adapter = {}
    for key, value in pairs(require "zkrecipes.adapters.builtin") do adapter[key] = value end
    adapter.name = {}
    assert.error_matches(function() zk.using(adapter) end, "bad argument #1 to 'using' %(the adapter's name is not a string but a table%)")
  end)

  it("takes an adapter without a name", function()
    local adapter = poll.over(loops.new(), "poll")
    adapter.name = nil
    local nameless = zk.using(adapter)
    assert.error_matches(function() nameless.run(print) end, "zk.run belongs to the built%-in host; here the loop is 'custom'")
    assert.are.equal("custom", nameless.status().host)
    zk.run(function()
      local ok, problem = zk.pcall(nameless.sleep, 1)
      assert.is_false(ok)
      assert.matches("runs on the host 'builtin', and what it waits for belongs to the host 'custom'", problem)
    end)
  end)
end)
