-- The fair lock on a real server without faults. spec/faults has the faults.
-- Tags: sanitize

local collect = require "spec.support.collect"
local zk = require "zkrecipes"
local env = require "spec.support.env"
local run, fails = env.run, env.fails

describe("a fair lock", function()
  it("is acquired, valid, and released", run(function()
    local session = env.session()
    local before = zk.now()
    local hold = assert(session:lock("/l"):acquire(200))
    assert.is_true(hold:valid())
    assert.matches("^%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x$", hold.token)
    assert.matches("^/l/%x+%-%d+%-lock%-%d%d%d%d%d%d%d%d%d%d$", hold.path)
    assert.is_true(hold.since >= before and hold.since <= zk.now())
    assert.are.equal(session.id, assert(session:exists(hold.path)).ephemeral_owner)
    assert.is_true(hold:release())
    assert.is_false(hold:valid())
    assert.are.same({}, assert(session:children("/l")))
    assert.is_true(hold:release()) -- idempotent
  end))

  it("excludes contenders of all sessions, and is granted in the order of the requests", run(function()
    local namespace = env.namespace()
    local order, inside, waits = {}, 0, {}
    local watcher = env.session { namespace = namespace }
    for i = 1, 6 do
      local session = env.session { namespace = namespace }
      waits[i] = env.start(function()
        local hold = assert(session:lock("/l"):acquire())
        inside = inside + 1
        assert.are.equal(1, inside)
        order[#order + 1] = i
        zk.sleep(0.005)
        inside = inside - 1
        hold:release()
        session:close()
      end)
      env.eventually("contender " .. i, function()
        return #(watcher:children("/l") or {}) == i or #order >= i
      end)
    end
    for i = 1, 6 do
      waits[i]()
    end
    assert.are.same({ 1, 2, 3, 4, 5, 6 }, order)
  end))

  it("has tokens that only grow, also if its directory is removed in between", run(function()
    local session = env.session()
    local lock, last = session:lock("/l"), ""
    for _ = 1, 3 do
      local hold = assert(lock:acquire(200))
      assert.is_true(hold.token > last)
      last = hold.token
      hold:release()
      assert(session:delete("/l"))
    end
  end))

  it("excludes contenders of two handles of one session", run(function()
    local session = env.session()
    local one, other = session:lock("/l"), session:lock("/l")
    local hold = assert(one:acquire(200))
    fails("timeout", other:acquire(0))
    env.late(other:acquire(0.05))
    hold:release()
    assert(other:acquire(200)):release()
  end))

  it("is taken by a try if it is free; a try writes nothing if it is held", run(function()
    local session = env.session()
    local lock = session:lock("/l")
    local hold = assert(lock:acquire(0))
    local _, before = assert(session:children("/l"))
    local message = fails("timeout", lock:acquire(0))
    assert.matches("^lock:acquire /l: this coroutine itself holds the lock$", message)
    local _, after = assert(session:children("/l"))
    assert.are.equal(before.cversion, after.cversion)
    hold:release()
    assert(lock:acquire(0)):release()
  end))

  it("leaves no node if the wait times out or is canceled, or its coroutine ends", run(function()
    local session = env.session()
    local lock, other = session:lock("/l"), session:lock("/l")
    local hold = assert(other:acquire())
    env.late(lock:acquire(0.02))
    env.queue_of(session, "/l", 1)

    local canceled = env.start(function() return fails("canceled", lock:acquire()) end)
    env.queue_of(session, "/l", 2)
    assert.are.equal(1, lock:cancel())
    assert.matches("canceled", canceled())
    env.queue_of(session, "/l", 1)

    local _, task = env.start(function() lock:acquire() end)
    env.queue_of(session, "/l", 2)
    task:cancel()
    env.queue_of(session, "/l", 1)
    hold:release()
    env.queue_of(session, "/l", 0)
  end))

  it("cancels only the attempts that wait now", run(function()
    local lock = env.session():lock("/l")
    assert.are.equal(0, lock:cancel())
    assert(lock:acquire(200)):release()
  end))

  it("is not granted to a waiter when the waiter ahead gives up behind a holder", run(function()
    local session = env.session()
    local other = env.session { namespace = env.namespace() }
    local lock = session:lock("/l")
    local hold, order = assert(lock:acquire()), {}
    local impatient = session:lock("/l")
    local quits = env.start(function() env.fails("canceled", impatient:acquire(200)) end)
    env.queue_of(session, "/l", 2)
    local last = env.start(function()
      local mine = assert(lock:acquire(200))
      order[#order + 1] = "last"
      mine:release()
    end)
    env.queue_of(session, "/l", 3)
    assert.are.equal(1, impatient:cancel())
    quits()
    env.queue_of(session, "/l", 2)
    assert.are.same({}, order)
    order[#order + 1] = "holder"
    hold:release()
    last()
    assert.are.same({ "holder", "last" }, order)
    other:close()
  end))

  it("has one outcome if grant and cancellation cross, 1000 times", run(function()
    local session = env.session()
    local lock, contender = session:lock("/l"), session:lock("/l")
    local granted = 0
    for i = 1, 1000 do
      local hold = assert(lock:acquire(200))
      local wait = env.start(function()
        local mine = contender:acquire(i % 2 == 0 and 0.0006 or nil)
        if mine then
          granted = granted + 1
          assert.is_true(mine:valid())
          mine:release()
        end
      end)
      if i % 3 == 0 then
        zk.sleep(0.0004)
      end
      hold:release()
      if i % 2 == 1 then
        zk.sleep(i % 5 * 0.0001)
        contender:cancel()
      end
      wait()
    end
    assert.is_true(granted > 0)
    env.queue_of(session, "/l", 0)
  end))

  it("ignores znodes that are not contenders", run(function()
    local session = env.session()
    for _, name in ipairs { "junk", "x-lock-abc", "_c_1-lock-00000000001", "x-lock--000000001" } do
      assert(session:create("/l/" .. name, nil, { parents = true }))
    end
    local lock = session:lock("/l")
    assert.are.same({}, assert(lock:contenders()))
    local hold = assert(lock:acquire(0))
    fails("timeout", lock:acquire(0))
    hold:release()
  end))

  it("shares its queue with Curator's contenders", run(function()
    local session = env.session()
    local lock = session:lock("/l")
    assert(session:create("/l/_c_5a9a1a7c-lock-", "java", { parents = true, ephemeral = true, sequential = true }))
    fails("timeout", lock:acquire(0))
    local wait = env.start(function() return lock:acquire(200) end)
    env.queue_of(session, "/l", 2)
    local all = assert(lock:contenders())
    assert.are.same({ "java", true, false }, { all[1].data, all[1].holding, all[2].holding })
    for _, name in ipairs(session:children("/l")) do
      if name:find("^_c_") then
        assert(session:delete("/l/" .. name))
      end
    end
    assert(wait()):release()
  end))

  it("waits outside of any coroutine by blocking", function()
    local session = env.session()
    local lock = session:lock("/l")
    local hold = assert(lock:acquire(200))
    env.late(lock:acquire(0.01))
    hold:release()
    session:close()
  end)
end)

describe("lock:with", function()
  it("returns what the function returns and releases", run(function()
    local session = env.session()
    local lock = session:lock("/l")
    local a, b, c = lock:with(200, function(hold) return hold:valid(), nil, "x" end)
    assert.are.same({ true, nil, "x" }, { a, b, c })
    assert.are.equal("y", (lock:with(function() return "y" end)))
    assert.are.same({ true }, { lock:with(function() end) })
    assert.are.equal(1, select("#", lock:with(function() return nil end)))
    assert.are.same({}, session:children("/l"))
  end))

  it("releases when the function raises, and raises the error again", run(function()
    local session = env.session()
    local lock = session:lock("/l")
    local ok, problem = zk.pcall(lock.with, lock, 200, function() error("boom") end)
    assert.is_false(ok)
    assert.matches("boom", problem)
    local thrown = {}
    local _, same = zk.pcall(lock.with, lock, 200, function() error(thrown) end)
    assert.are.equal(thrown, same)
    assert(lock:acquire(0)):release()
  end))

  it("says why it did not acquire", run(function()
    local session = env.session()
    local hold = assert(session:lock("/l"):acquire())
    fails("timeout", session:lock("/l"):with(0, function() error("must not run") end))
    hold:release()
  end))
end)

describe("a hold", function()
  it("guards its writes", run(function()
    local session = env.session()
    assert(session:create("/register", "0"))
    local hold = assert(session:lock("/l"):acquire())
    local stat = assert(hold:set("/register", "1"))
    assert.are.equal(1, stat.version)
    assert.are.equal("/a", (assert(hold:create("/a", "x"))))
    assert.matches("^/s%d+$", (assert(hold:create("/s", "x", { sequential = true }))))
    assert(hold:delete("/a", 0))
    local results = assert(hold:multi { { "create", "/b", "1" }, { "set", "/register", "2", 1 }, { "check", "/b" } })
    assert.are.same({ "/b", 2, true }, { results[1], results[2].version, results[3] })
    fails("bad_version", hold:set("/register", "3", 7))
    fails("no_node", hold:set("/nowhere", "3"))
    assert.is_true(hold:valid())
    hold:release()
    assert.has_error(function() hold:set("/register", "4") end)
    assert.are.equal("2", (session:get("/register")))
  end))

  it("that is lost writes nothing", run(function()
    local session = env.session()
    assert(session:create("/register", "0"))
    local hold = assert(session:lock("/l"):acquire())
    assert(session:delete(hold.path)) -- like an operator
    fails("lost", hold:set("/register", "1"))
    assert.is_false(hold:valid())
    assert.are.equal("0", (session:get("/register")))
  end))

  it("calls on_lost also if the hold is over before the coroutine of on_lost runs", run(function()
    local session = env.session()
    local hold = assert(session:lock("/l"):acquire(200))
    session:close()
    for _ = 1, 200 do zk.spawn(function() end) end -- more than one turn of the loop runs
    local told
    assert(hold:on_lost(function(_, why) told = why end))
    env.eventually("on_lost", function() return told end)
    assert.are.equal("closed", told)
  end))

  it("reports its loss and its release", run(function()
    local session = env.session()
    local lock = session:lock("/l")
    local hold = assert(lock:acquire())
    fails("timeout", hold:lost(0.01))
    local wait = env.start(function() return hold:lost() end)
    hold:release()
    assert.are.equal("released", (wait()))
    assert.are.equal("released", (hold:lost()))

    hold = assert(lock:acquire())
    local told
    hold:on_lost(function(which, why) told = { which, why } end)
    assert(session:delete(hold.path))
    env.eventually("on_lost", function() return told end)
    assert.are.equal(hold, told[1])
    assert.are.equal("lost", told[2])
    assert.is_false(hold:valid())

    hold = assert(lock:acquire())
    told = nil
    hold:on_lost(function() told = true end)
    hold:release()
    zk.sleep(0.05)
    assert.is_nil(told)
  end))

  it("is released when it is collected", run(function()
    local session = env.session()
    local lock = session:lock("/l")
    do
      assert(lock:acquire())
    end
    collect(2)
    assert(lock:acquire(200)):release()
  end))

  it("of a dropped coroutine is released", run(function()
    if not coroutine.close then
      return assert.is_truthy(_VERSION ~= "Lua 5.4")
    end
    local session = env.session()
    local lock = session:lock("/l")
    local hold = assert(lock:acquire())
    local parked = coroutine.create(function() lock:acquire() end)
    coroutine.resume(parked)
    env.queue_of(session, "/l", 2)
    assert(coroutine.close(parked))
    env.queue_of(session, "/l", 1)
    hold:release()
    assert(lock:acquire(200)):release()
  end))

  it("ends with its session", run(function()
    local session = env.session()
    local hold = assert(session:lock("/l"):acquire())
    session:close()
    assert.is_false(hold:valid())
    fails("closed", session:lock("/l"):acquire())
    assert.is_true(hold:release())
  end))
end)

describe("a released lock", function()
  it("leaves nothing: no node, no memory", function() env.alone "lock" end)
end)
