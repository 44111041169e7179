-- Options of the lock: reentrant, revocable, cohort.
-- Tags: sanitize

local collect = require "spec.support.collect"
local zk = require "zkrecipes"
local env = require "spec.support.env"
local run, fails, raises = env.run, env.fails, env.raises

describe("a reentrant lock", function()
  it("is acquired again by the coroutine that holds it, without a request, and released as often", run(function()
    local session = env.session()
    local lock = session:lock("/l", { reentrant = true })
    local hold = assert(lock:acquire())
    local proxy_free = session:lock("/l")
    for _ = 1, 3 do assert.are.equal(hold, lock:acquire(0)) end
    for _ = 1, 3 do
      assert.is_true(hold:release())
      assert.is_true(hold:valid())
      fails("timeout", proxy_free:acquire(0))
    end
    assert.is_true(lock:release())
    assert.is_false(hold:valid())
    assert(proxy_free:acquire(200)):release()
    raises("does not hold", function() lock:release() end)
  end))

  it("excludes other coroutines of the same handle, which may release it by the hold", run(function()
    local session = env.session()
    local lock = session:lock("/l", { reentrant = true })
    local hold = assert(lock:acquire())
    env.start(function()
      fails("timeout", lock:acquire(0))
      raises("does not hold", function() lock:release() end)
      hold:release()
      assert(lock:acquire(200)):release()
    end)()
    assert.is_false(hold:valid())
    local again = assert(lock:acquire(200))
    assert.is_true(again.token > hold.token)
    again:release()
  end))

  it("nests with `with`", run(function()
    local lock = env.session():lock("/l", { reentrant = true })
    local function down(n) return n == 0 and "deep" or lock:with(200, function() return down(n - 1) end) end
    assert.are.equal("deep", down(5))
    assert.are.same({}, (assert(lock:contenders())))
  end))

  it("is held until the outer `with` ends, also if the caller keeps no reference to the hold", run(function()
    local lock = env.session():lock("/l", { reentrant = true })
    lock:with(200, function(hold)
      lock:with(200, function() end)
      assert.is_true(hold:valid())
      assert(lock:acquire(0))
      lock:release()
      assert.is_true(hold:valid())
    end)
    assert(lock:acquire(200))
    collect(3)
    assert.is_true(lock:release())
  end))

  it("fails with `lost` after its loss, and does not enter again", run(function()
    local session = env.session()
    local lock = session:lock("/l", { reentrant = true })
    local hold = assert(lock:acquire())
    assert(session:delete(hold.path))
    assert.are.equal("lost", hold:lost(200))
    fails("lost", lock:acquire())
    hold:release()
    assert(lock:acquire(200)):release()
  end))

  it("is the only kind of lock with lock:release", run(function()
    local lock = env.session():lock("/l")
    raises("not reentrant", function() lock:release() end)
    raises("option 'reentrant': boolean expected", function() env.session():lock("/l", { reentrant = 1 }) end)
  end))
end)

describe("a revocable lock", function()
  for _, fair in ipairs { true, false } do
    it((fair and "" or "unfair ") .. "tells its holder each request, and keeps its data", run(function()
      local namespace = env.namespace()
      local asked = 0
      local session, other = env.session { namespace = namespace }, env.session { namespace = namespace }
      local lock = session:lock("/l", { data = "who", fair = fair, on_request = function(hold)
        asked = asked + 1
        if asked == 2 then hold:release() end
      end })
      local foreign = other:lock("/l", { fair = fair })
      assert.are.equal(0, foreign:request())
      local hold = assert(lock:acquire())
      assert.are.equal(1, foreign:request())
      env.eventually("it was told", function() return asked == 1 end)
      env.eventually("its data are back", function() return foreign:contenders()[1].data == "who" end)
      assert.is_true(hold:valid())
      local wait = env.start(function() return foreign:acquire(200) end)
      assert.are.equal(1, foreign:request())
      local mine = assert(wait())
      assert.are.equal(2, asked)
      assert.is_false(hold:valid())
      mine:release()
    end))
  end

  it("understands Curator's Revoker, and releases nothing by itself", run(function()
    local session = env.session()
    local holds = {}
    local lock = session:lock("/l", { on_request = function(hold) holds[#holds + 1] = hold end })
    local hold = assert(lock:acquire())
    assert(session:set(hold.path, "__REVOKE__"))
    env.eventually("it was told", function() return holds[1] == hold end)
    assert.is_true(hold:valid())
    hold:release()
  end))

  it("is released when it is collected", run(function()
    local session = env.session()
    local lock = session:lock("/l", { on_request = print })
    assert(lock:acquire())
    env.eventually("it is collected and released", function()
      collect()
      return #session:children("/l") == 0
    end)
  end))
end)

describe("a cohort", function()
  it("continues after a canceled try", run(function()
    local lock = env.session():lock("/l", { cohort = true })
    local task = zk.spawn(function() return lock:acquire(0) end)
    zk.sleep(0)
    task:cancel()
    assert(lock:acquire(200)):release()
  end))

  it("hands the lock over locally: one znode, no requests, in order", run(function()
    local proxy = env.proxy()
    local session = env.session { hosts = proxy.hosts }
    assert(session:create("/l", nil, { parents = true }))
    local lock = session:lock("/l", { cohort = true })
    local order, waits, tokens = {}, {}, {}
    proxy:reset()
    local first = assert(lock:acquire())
    for i = 1, 20 do
      waits[i] = env.start(function()
        local hold = assert(lock:acquire(300))
        order[#order + 1], tokens[hold.token] = i, true
        zk.sleep(0)
        hold:release()
        assert.is_false(hold:valid())
      end)
    end
    zk.sleep(0)
    first:release()
    for i = 1, 20 do
      waits[i]()
      assert.are.equal(i, order[i])
    end
    assert.are.equal(first.token, next(tokens))
    env.queue_of(session, "/l", 0)
    assert.are.same({ 1, 1 }, { proxy:sent().create2, proxy:sent().delete })
  end))

  it("gives other processes their turn", run(function()
    local namespace = env.namespace()
    local session, other = env.session { namespace = namespace }, env.session { namespace = namespace }
    local lock, turns, stop = session:lock("/l", { cohort = true }), 0, false
    local waits = {}
    for i = 1, 4 do
      waits[i] = env.start(function()
        while not stop do
          local hold = assert(lock:acquire(300))
          turns = turns + 1
          zk.sleep(0)
          hold:release()
        end
      end)
    end
    env.eventually("it runs", function() return turns > 0 end)
    for _ = 1, 3 do assert(other:lock("/l"):acquire(300)):release() end
    stop = true
    for i = 1, 4 do waits[i]() end
  end))

  it("never has two valid turns, and a turn that is over stays over", run(function()
    local namespace, inside = env.namespace(), 0
    local waits = {}
    for i = 1, 30 do
      if i % 10 == 1 then waits.lock = env.session { namespace = namespace }:lock("/l", { cohort = true }) end
      local lock = waits.lock
      waits[i] = env.start(function()
        local before
        for _ = 1, 5 do
          local hold = assert(lock:acquire(300))
          inside = inside + 1
          assert.are.equal(1, inside)
          assert.is_true(hold:valid())
          assert.is_false(before and before:valid() or false)
          before = hold
          zk.sleep(0)
          inside = inside - 1
          hold:release()
        end
      end)
    end
    for i = 1, 30 do waits[i]() end
  end))

  it("times out, is canceled, tries, and leaves nothing", run(function()
    local session = env.session()
    local other, lock = session:lock("/l"), session:lock("/l", { cohort = true })
    local hold = assert(other:acquire())
    env.late(lock:acquire(0.05))
    fails("timeout", lock:acquire(0))
    local wait = env.start(function() return lock:acquire() end)
    env.queue_of(session, "/l", 2)
    assert.are.equal(1, lock:cancel())
    fails("canceled", wait())
    local _, task = env.start(function() return lock:acquire() end)
    env.queue_of(session, "/l", 2)
    task:cancel()
    env.queue_of(session, "/l", 1)
    hold:release()
    hold = assert(lock:acquire(0))
    fails("timeout", lock:acquire(0))
    hold:release()
    hold:release()
    raises("ways_spec.lua:%d+: bad call of 'set' %(the hold was released", function() hold:set("/x", "") end)
    env.queue_of(session, "/l", 0)
  end))

  it("reports a loss, and serves the next member by a new claim", run(function()
    local session = env.session()
    local lock = session:lock("/l", { cohort = true })
    local hold, told = assert(lock:acquire()), nil
    assert(hold:on_lost(function(_, why) told = why end))
    local wait = env.start(function() return lock:acquire(200) end)
    local lost = env.start(function() return hold:lost() end)
    env.eventually("it watches", function() return hold:lost(0) == nil end)
    assert(session:delete(hold.path))
    assert.are.equal("lost", lost())
    env.eventually("told", function() return told == "lost" end)
    local mine = assert(wait())
    assert.is_false(hold:valid())
    assert.is_true(mine.token > hold.token)
    mine:release()
  end))

  it("continues when a turn is collected", run(function()
    local lock = env.session():lock("/l", { cohort = true })
    assert(lock:acquire())
    local wait = env.start(function() return lock:acquire(200) end)
    env.eventually("it is collected", function()
      collect()
      return #lock:contenders() == 1 and lock:acquire(0) == nil
    end)
    assert(wait()):release()
  end))
end)
