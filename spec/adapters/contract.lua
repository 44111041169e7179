-- The contract of all adapters. Each adapter's spec registers these tests.
--
-- The loop under test is a table (spec/support/loops/*.lua):
--
--   start(fn)         begins a coroutine by the host's own means
--   sleep(seconds)    the host's own sleep, in such a coroutine
--   run(limit, over)  runs the host's loop until over() is true, it ends by itself, or so many seconds have passed; gives
--                     true when it ended by itself
--   ends              whether it ends by itself when no session is open
--   adapter           its name, where that of the loop is another one

local assert = require "luassert"
local busted = require "busted"
local child = require "spec.support.process"
local core = require "zkrecipes.core"
local env = require "spec.support.env"

local describe, it = busted.describe, busted.it -- a module does not see the globals of a spec

local function never() return false end

-- What is written to standard error while fn(said) runs; said(): what was written so far.
local function complaints(fn)
  local stderr, lines = io.stderr, {}
  io.stderr = { write = function(_, ...) lines[#lines + 1] = table.concat({ ... }) end } -- luacheck: ignore 122
  local ok, problem = pcall(fn, function() return table.concat(lines) end)
  io.stderr = stderr -- luacheck: ignore 122
  if not ok then error(problem, 0) end
  return table.concat(lines)
end

return function(name, loop)
  local adapter_name = loop.adapter or name
  local zk = require "zkrecipes".using(adapter_name)
  local sessions = {}

  local function open(options)
    local all = { hosts = env.server().hosts, timeout = 20, namespace = env.namespace() }
    for key, value in pairs(options or {}) do all[key] = value end
    sessions[#sessions + 1] = assert(zk.session(all))
    return sessions[#sessions]
  end

  local function close_all()
    for _, session in ipairs(sessions) do session:close() end
    sessions = {}
  end

  -- Runs the body in a coroutine of the host, and the loop until it is over.
  local function run(body)
    local ok, problem, done = false, "the test took longer than " .. env.limit .. " s", false
    loop.start(function()
      ok, problem = zk.pcall(body)
      zk.pcall(close_all)
      done = true
    end)
    loop.run(env.limit, function() return done end)
    if not ok then error(problem, 0) end
  end

  local function within(body) return function() run(body) end end

  local function eventually(what, condition)
    local deadline = zk.now() + 300
    while not condition() do
      if zk.now() > deadline then error("never happened: " .. what, 2) end
      zk.sleep(0.005)
    end
  end

  local function took(fn)
    local before = zk.now()
    fn()
    return zk.now() - before
  end

  -- Fails unless fn takes less than this (seconds) now and then: on a busy machine most runs may take longer.
  local function is_quick(what, seconds, fn)
    eventually(what .. " is quick", function() return took(fn) < seconds end)
  end

  local function adapter_of(session) return core.host(session).adapter end

  describe("the adapter of " .. name .. ":", function()
    it("requests are answered in the host's own coroutines and in spawned ones", within(function()
      local session = open()
      assert.are.equal("/a", session:create("/a", "data"))
      local task = zk.spawn(function() return session:get("/a") end)
      assert.are.equal("data", (task:wait(200)))
      assert.are.equal("data", (session:get("/a")))
    end))

    it("spawn begins later, and its coroutines can wait for the host's own things", within(function()
      local order = {}
      local task = zk.spawn(function()
        order[#order + 1] = "spawned"
        loop.sleep(0.02)
        zk.sleep(0.01)
        loop.sleep(0.02)
        return "over"
      end)
      order[#order + 1] = "spawner"
      assert.are.equal("over", (task:wait(200)))
      assert.are.same({ "spawner", "spawned" }, order)
    end))

    it("the host continues while a coroutine waits", within(function()
      local session, ticks = open(), 0
      local lock = session:lock("/l")
      local hold = assert(lock:acquire())
      local waiter = zk.spawn(function() return lock:acquire() end)
      for _ = 1, 10 do
        loop.sleep(0.005)
        ticks = ticks + 1
      end
      hold:release()
      local second = assert(waiter:wait(200))
      second:release()
      assert.are.equal(10, ticks)
    end))

    it("hundreds of requests at once do not starve the host", within(function()
      local session, tasks, ticks, over = open(), {}, 0, false
      session:exists("/")
      loop.start(function()
        while not over do
          loop.sleep(0.001)
          ticks = ticks + 1
        end
      end)
      for i = 1, 500 do
        tasks[i] = zk.spawn(function()
          for _ = 1, 4 do assert(not session:exists("/none")) end
          return true
        end)
      end
      for i = 1, 500 do assert.is_true((tasks[i]:wait(200))) end
      over = true
      assert.is_true(ticks >= 5, ticks .. " ticks")
      loop.sleep(0.01)
    end))

    it("an idle loop sleeps", within(function()
      local session = open()
      session:exists("/")
      local before = os.clock()
      zk.sleep(0.3)
      assert.is_true(os.clock() - before < 0.1, os.clock() - before .. " s of CPU in 0.3 s")
    end))

    it("sleeps as long as asked, also after work that blocked the loop", within(function()
      is_quick("sleep", 0.3, function()
        local till = zk.now() + 0.03
        while zk.now() < till do end -- luacheck: ignore 542
        assert.is_true(took(function() zk.sleep(0.05) end) >= 0.05)
      end)
      is_quick("sleep(0)", 0.05, function() zk.sleep(0) end)
    end))

    it("a time limit passes although no other event comes", within(function()
      local namespace = env.namespace()
      local session, other = open { namespace = namespace }, open { namespace = namespace }
      local hold = assert(session:lock("/l"):acquire())
      assert(other:connected(200))
      loop.sleep(0.1) -- until nothing is in flight
      -- On a busy machine the limit may pass before the first answer. Then the code is another one, and we try again.
      local seconds, code
      env.eventually("a limit passes in time, after an answer", function()
        local hold_of_other, message
        seconds = took(function() hold_of_other, message, code = other:lock("/l"):acquire(0.1) end)
        env.late(hold_of_other, message, code)
        assert.is_true(seconds >= 0.1, seconds)
        return code == "timeout" and seconds < 0.5
      end)
      hold:release()
    end))

    it("a wake-up that comes before the wait is not lost, and a second one does no harm", within(function()
      local session = open()
      local adapter = adapter_of(session)
      local token = adapter.token()
      adapter.unpark(token)
      assert.is_true(took(function() adapter.park(token) end) < 60)
      adapter.unpark(token)
      adapter.unpark(token)
      adapter.park(token)
      assert.is_true(took(function() zk.sleep(0.03) end) >= 0.03)
    end))

    it("does not wake a coroutine that waits for the host's own events", within(function()
      local session, token = open(), nil
      local adapter, seconds = adapter_of(session), nil
      local task = zk.spawn(function()
        token = adapter.token()
        local before = zk.now()
        loop.sleep(0.1)
        seconds = zk.now() - before
      end)
      eventually("it sleeps", function() return token end)
      adapter.unpark(token)
      task:cancel()
      task:wait(200)
      assert.is_true(seconds >= 0.09, seconds)
    end))

    it("a thousand coroutines that wake each other do not nest", within(function()
      local tasks = {}
      tasks[1] = zk.spawn(function() zk.sleep(0.01) return 1 end)
      for i = 2, 1000 do
        tasks[i] = zk.spawn(function() return assert(tasks[i - 1]:wait()) + 1 end)
      end
      assert.are.equal(1000, (tasks[1000]:wait(200)))
      local begun = 0
      for i = 1, 1000 do
        tasks[i] = zk.spawn(function()
          begun = begun + 1
          local ok, problem = zk.pcall(zk.sleep, 100)
          if tasks[i - 1] then tasks[i - 1]:cancel() end
          if not ok then error(problem, 0) end
        end)
      end
      eventually("all sleep", function() return begun == 1000 end)
      tasks[1000]:cancel()
      for i = 1, 1000 do assert.are.equal("canceled", select(3, tasks[i]:wait(200))) end
    end))

    it("all and any work, and a wait for the server can be canceled", within(function()
      local session = open()
      local lock = session:lock("/l")
      local hold = assert(lock:acquire())
      local a, b = zk.all { function() return session:create("/a") end, function() zk.sleep(0.01) return 2 end }
      assert.are.same({ "/a", 2 }, { a, b })
      assert.are.equal("fast", zk.any { function() return lock:acquire() end, function() zk.sleep(0.02) return "fast" end })
      hold:release()
      eventually("the place of the canceled one is given up", function() return #(session:children("/l") or {}) == 0 end)
    end))

    it("an error goes to the waiting task or is reported; other tasks continue", function()
      local text = complaints(function(said) run(function()
        local mute, logged = setmetatable({}, { __tostring = function() error "no text" end }), nil
        local session = open { log = function() logged = not logged error(logged and mute or "in the log") end }
        local task = zk.spawn(function() error("for the waiter") end)
        local _, message, code = task:wait(200)
        assert.are.equal("error", code)
        assert.matches("for the waiter", message)
        zk.spawn(function() zk.spawn(error, mute) session:exists("/") error("for nobody") end)
        local hold = assert(session:lock("/l"):acquire())
        hold:on_lost(function() error("in on_lost") end)
        session:close()
        eventually("all is reported", function()
          return said():find("for nobody", 1, true) and said():find("in on_lost", 1, true) and said():find("in the log", 1, true)
        end)
      end) end)
      assert.matches("contract.lua:%d+: for nobody\nstack traceback", text)
      assert.matches("in on_lost", text)
      assert.matches("in the log", text)
      for _, where in ipairs { "function", "coroutine" } do assert.matches(where .. ": a table without a text", text) end
    end)

    it("a session that is closed ends every wait", within(function()
      local session, tasks = open(), {}
      local lock = session:lock("/l")
      local hold = assert(lock:acquire()) -- kept, because a collected hold is released
      assert(session:create("/w"))
      for i = 1, 20 do
        tasks[i] = zk.spawn(function()
          if i % 2 == 0 then return session:watch("/w"):wait() end
          return lock:acquire()
        end)
      end
      eventually("they wait", function() return #session:children("/l") == 11 end)
      session:close()
      for i = 1, 20 do assert.are.equal("closed", select(3, tasks[i]:wait(200))) end
      assert.is_false(hold:valid())
    end))

    it("two sessions hand a lock back and forth", within(function()
      local namespace, count = env.namespace(), 0
      local one, other = open { namespace = namespace }, open { namespace = namespace }
      local function work(session)
        local lock = session:lock("/l")
        for _ = 1, 20 do
          local hold = assert(lock:acquire(200))
          local seen = count
          zk.sleep(0)
          count = seen + 1
          hold:release()
        end
      end
      zk.all { function() work(one) end, function() work(other) end }
      assert.are.equal(40, count)
    end))

    it("sessions can be opened and closed", within(function()
      for _ = 1, 5 do
        local session = open()
        assert.are.equal("/a", session:create("/a"))
        session:close()
        loop.sleep(0.01)
      end
    end))

    it("the garbage collector collects no waiting coroutine", within(function()
      local session, woken = open(), 0
      local lock = session:lock("/l")
      local hold = assert(lock:acquire())
      for _ = 1, 10 do
        loop.start(function()
          assert(lock:acquire()):release()
          woken = woken + 1
        end)
      end
      eventually("they wait", function() return #session:children("/l") == 11 end)
      for _ = 1, 3 do collectgarbage() end
      hold:release()
      eventually("all had it", function() return woken == 10 end)
    end))

    it("the main thread cannot wait, and gets a clear error", function()
      assert.error_matches(function() zk.sleep(0.01) end, "cannot wait outside of a")
      assert.error_matches(function() zk.run(print) end, "the loop is '" .. adapter_name .. "'")
    end)

    it("a loop that was ended early continues when it runs again", function()
      local session, got, ready
      local over = false
      loop.start(function()
        session = open()
        local hold = assert(session:lock("/l"):acquire())
        zk.spawn(function()
          zk.sleep(0.1)
          hold:release()
        end)
        ready = true
        got = session:lock("/l"):acquire()
        session:close()
        over = true
      end)
      loop.run(200, function() return ready end)
      assert.is_false(over)
      os.execute("sleep 0.2")
      loop.run(env.limit, function() return over end)
      assert.is_true(over and got ~= nil)
    end)

    it("a process whose loop was ended early exits cleanly and ends its session", function()
      local namespace = env.namespace()
      local output = child.output(("%s spec/support/leave.lua %s %s %s 2>&1; echo status $?"):format(env.interpreter(), name,
        env.server().hosts, namespace))
      assert.are.equal("left\nstatus 0", output)
      run(function()
        local session = open { namespace = namespace }
        assert.is_false((session:exists("/left")))
        assert.is_truthy((session:exists("/l")))
      end)
    end)

    it("a call that cannot wait leaves nothing running and hides no error", function()
      local session = open()
      local function refused(fn) assert.error_matches(fn, "cannot ") end
      local led, went_on = false, false
      refused(function() session:election("/e"):lead(function() led = true end) end)
      refused(function() session:barrier("/b"):wait() end)
      refused(function() zk.all { function() went_on = true end } end)
      run(function()
        assert(session:connected(200))
        assert.same({}, session:election("/e"):candidates())
        assert.is_false(led or went_on)
      end)
    end)

    it("a task:wait that cannot wait hides no error of the task", function()
      local go, task = false, nil
      local said = complaints(function()
        run(function() task = zk.spawn(function() repeat zk.sleep(0.01) until go error("seen after all") end) end)
        assert.error_matches(function() task:wait() end, "cannot wait")
        go = true
        loop.run(200, function() return task.done end)
      end)
      assert.matches("seen after all", said)
    end)

    local _ = loop.ends and it("the loop ends by itself when no session is open", function()
      local results
      loop.start(function()
        local session = open()
        results = session:create("/a")
        session:close()
      end)
      assert.is_true(loop.run(200, never))
      assert.are.equal("/a", results)
      loop.start(function() zk.sleep(0.01) results = "slept" end)
      assert.is_true(loop.run(200, never))
      assert.are.equal("slept", results)
    end)
  end)
end
