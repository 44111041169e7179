-- The semaphore on a real server, as users see it. spec/histories tests its algorithm.
-- Tags: sanitize

local zk = require "zkrecipes"
local env = require "spec.support.env"
local testing = require "zkrecipes.testing"
local run, fails = env.run, env.fails

-- Sessions on one namespace.
local function sessions(number)
  local namespace, list = env.namespace(), {}
  for i = 1, number do
    list[i] = env.session { namespace = namespace }
  end
  return (table.unpack or unpack)(list)
end

-- Starts an acquire and returns when the queue has this many contenders.
local function queued(session, length, sem, timeout, permits)
  local wait = env.start(function() return sem:acquire(timeout or 300, permits) end)
  env.queue_of(session, "/p", length)
  return wait
end

-- Waits until every attempt has listed and waits with this many contenders ahead.
local function parked(sem)
  env.eventually("it is parked", function()
    local attempts = sem:attempts()
    return #attempts > 0 and attempts[#attempts].ahead ~= nil
  end)
end

describe("a semaphore", function()
  it("gives out its permits, one or several at once, and takes them back", run(function()
    local session = env.session()
    local sem = assert(session:semaphore("/p", 3))
    local one, two = assert(sem:acquire(200)), assert(sem:acquire(200, 2))
    assert.are.equal(1, one.permits)
    assert.are.equal(2, two.permits)
    assert.is_true(one:valid() and two:valid())
    assert.is_true(two.token > one.token)
    assert.matches("^/p/%x+%-%d+%-2%-lease%-%d%d%d%d%d%d%d%d%d%d$", two.path)
    assert.are.equal("3", (session:get("/p")))
    assert.matches("acquire /p: too few permits are free", (fails("timeout", sem:acquire(0))))
    env.late(sem:acquire(0.02))
    two:release()
    assert(sem:acquire(200, 2)):release()
    one:release()
    env.queue_of(session, "/p", 0)
    assert.is_nil(session:lock("/l"):acquire().permits)
  end))

  it("is granted in the order of the requests; no request overtakes a large one", run(function()
    local session, other, third = sessions(3)
    local sem, order, waits = session:semaphore("/p", 3), {}, {}
    local first, second = assert(sem:acquire(200)), assert(sem:acquire(200))
    local takers = { { other, 3 }, { third, 1 }, { other, 1 }, { session, 2 } }
    for i, taker in ipairs(takers) do
      local mine = taker[1]:semaphore("/p", 3)
      waits[i] = env.start(function()
        local hold = assert(mine:acquire(200, taker[2]))
        order[#order + 1] = i
        zk.sleep(0.02)
        hold:release()
      end)
      env.queue_of(session, "/p", 2 + i)
    end
    fails("timeout", third:semaphore("/p"):acquire(0)) -- one permit is free, but contenders ahead wait for it
    first:release()
    second:release()
    for i = 1, #takers do
      waits[i]()
    end
    assert.are.equal(1, order[1])
    assert.are.equal(4, order[4])
    env.queue_of(session, "/p", 0)
  end))

  it("excludes a lock on its path as long as any permit is held", run(function()
    local session = env.session()
    local semaphore = session:semaphore("/s", 2)
    local first, second = assert(semaphore:acquire()), assert(semaphore:acquire())
    local lock = session:lock("/s")
    local wait = env.start(function() return lock:acquire(300) end)
    env.eventually("it waits", function() return (lock:attempts()[1] or {}).ahead == 2 end)
    second:release() -- the nearest holder, but not the only one
    env.eventually("it has looked again", function() return lock:attempts()[1].ahead == 1 end)
    assert.is_true(first:valid())
    first:release()
    assert(wait()):release()
    session:close()
  end))

  it("serves the waiter behind when the next waiter gives up", run(function()
    local session, other, third = sessions(3)
    local hold = assert(session:semaphore("/p", 2):acquire(200))
    local head, next_one = other:semaphore("/p", 2), third:semaphore("/p", 2)
    local waits_for_two = env.start(function() fails("canceled", head:acquire(nil, 2)) end)
    env.queue_of(session, "/p", 2)
    local waits = queued(session, 3, next_one)
    head:cancel()
    waits_for_two()
    waits():release() -- while `hold` is held
    hold:release()
  end))

  it("wakes the waiters behind a waiter that was granted", run(function()
    local session, other, third, fourth = sessions(4)
    local sem = session:semaphore("/p", 2)
    local one, two = assert(sem:acquire(200)), assert(sem:acquire(200))
    local waits = {}
    for i, its in ipairs { other, third, fourth } do
      local waiting = its:semaphore("/p", 2, { data = "me" })
      waits[i] = queued(session, 2 + i, waiting)
      parked(waiting)
    end
    one:release()
    local first = assert(waits[1]()) -- it stays, so only the mark of the next one can wake the last one
    env.eventually("the mark", function()
      local list = assert(sem:contenders())
      return #list == 4 and list[3].version > 0
    end)
    assert.are.equal("me", sem:contenders()[3].data) -- it does not show the mark
    assert.matches("^__FIRST__%x+/[^/]+/[^/]+//me$", (session:get(sem:contenders()[3].path)))
    two:release()
    local second = assert(waits[2]())
    first:release()
    assert(waits[3]()):release()
    second:release()
  end))

  it("hands permits over within one session", run(function()
    local session = env.session()
    local sem, inside, most, waits = session:semaphore("/p", 3), 0, 0, {}
    for i = 1, 30 do
      waits[i] = env.start(function()
        local permits = i % 3 + 1
        local hold = assert(sem:acquire(200, permits))
        inside = inside + permits
        most = math.max(most, inside)
        zk.sleep(0.001)
        inside = inside - permits
        hold:release()
      end)
    end
    for i = 1, 30 do
      waits[i]()
    end
    assert.are.equal(3, most)
    env.queue_of(session, "/p", 0)
  end))

  it("frees the permits of a session that has ended", run(function()
    local session, other = sessions(2)
    local hold = assert(other:semaphore("/p", 1):acquire(200))
    local wait = queued(session, 2, session:semaphore("/p", 1))
    assert(testing.expire(env.server(), other.id))
    assert(wait()):release()
    assert.are.equal("lost", (hold:lost(200)))
    assert.is_false(hold:valid())
  end))

  it("reports the available permits and the contenders", run(function()
    local session, other = sessions(2)
    local sem = session:semaphore("/p", 5, { data = "me" })
    assert.are.equal(5, sem:available()) -- available() has written nothing
    assert.is_false(session:exists("/p"))
    local hold = assert(sem:acquire(200, 3))
    assert.are.equal(2, sem:available())
    local wait = queued(session, 2, other:semaphore("/p"), 300, 4)
    assert.are.equal(2, sem:available())
    local list = assert(sem:contenders())
    assert.are.equal(2, #list)
    assert.are.same({ "me", 3, true }, { list[1].data, list[1].permits, list[1].holding })
    assert.are.same({ nil, 4, false }, { list[2].data, list[2].permits, list[2].holding })
    hold:release()
    wait():release()
    env.eventually("all free", function() return sem:available() == 5 end)
  end))

  it("acquires, runs the function and releases in `with`", run(function()
    local sem = env.session():semaphore("/p", 4)
    assert.are.same({ 1, "x" }, { sem:with(function(hold) return hold.permits, "x" end) })
    assert.are.equal(3, sem:with(200, 3, function(hold) return hold.permits end))
    assert.are.equal(1, sem:with(200, function(hold) return hold.permits end))
    assert.has_error(function() sem:with(5, 3) end, nil)
    env.eventually("all free", function() return sem:available() == 4 end)
  end))

  it("cancels the attempts that wait now, and leaves no node", run(function()
    local session, other = sessions(2)
    local hold = assert(session:semaphore("/p", 1):acquire(200))
    local sem = other:semaphore("/p")
    local one = queued(session, 2, sem)
    local two = queued(session, 3, sem)
    assert.are.equal(2, sem:cancel())
    fails("canceled", one())
    fails("canceled", two())
    env.queue_of(session, "/p", 1)
    hold:release()
  end))

  it("ignores znodes that are not contenders", run(function()
    local session = env.session()
    assert(session:create("/p", "1", { parents = true }))
    for _, name in ipairs { "junk", "x-lease-0000000001", "x-0-lease-0000000000", "x-99999999999-lease-0000000000",
      "x-2-lease-000000000", "x-007-lease-0000000000" } do
      assert(session:create("/p/" .. name, nil))
    end
    assert(session:semaphore("/p", 1):acquire(0)):release()
  end))

  it("gives all memory back", function() env.alone "semaphore" end)
end)

describe("a semaphore's limit", function()
  it("is stored once; a caller with another limit is told both", run(function()
    local session, other = sessions(2)
    assert(session:semaphore("/p", 5):acquire(200)):release()
    local wrong = other:semaphore("/p", 7)
    local message = fails("conflict", wrong:acquire(200))
    assert.matches("the limit 7 was given, but 5 is stored", message)
    fails("conflict", wrong:acquire(0))
    fails("conflict", wrong:available())
    env.queue_of(session, "/p", 0)
    assert(other:semaphore("/p"):acquire(200)):release()
  end))

  it("must be stored if the caller gives none", run(function()
    local session = env.session()
    assert(session:create("/", nil))
    local sem = session:semaphore("/p")
    assert.matches("no limit is stored; pass one to session:semaphore", fails("no_node", sem:acquire(200)))
    assert.matches("no limit is stored; pass one to session:semaphore", fails("no_node", sem:available()))
    fails("no_node", sem:acquire(0))
    fails("no_node", sem:available())
    assert.is_false(session:exists("/p"))
    assert.is_true(sem:resize(2))
    assert.are.equal(2, sem:available())
    assert(session:set("/p", "many"))
    assert.matches("are not a limit", (fails("conflict", sem:acquire(200))))
    assert.is_true(sem:resize(3))
    assert(sem:acquire(200, 3)):release()
  end))

  it("refuses a request that could never be granted", run(function()
    local session = env.session()
    local sem = session:semaphore("/p", 2)
    assert.matches("3 permits were asked for, but the limit is 2", (fails("conflict", sem:acquire(200, 3))))
    fails("conflict", sem:acquire(0, 3))
    assert(sem:acquire(200, 2)):release()
    fails("conflict", sem:acquire(200, 3))
  end))

  it("grows while callers wait: all that have room now are granted", run(function()
    local session, other, third = sessions(3)
    local sem = session:semaphore("/p", 1)
    local hold = assert(sem:acquire(200))
    local waits = { queued(session, 2, other:semaphore("/p")), queued(session, 3, third:semaphore("/p")),
      queued(session, 4, other:semaphore("/p")) }
    assert.is_true(third:semaphore("/p"):resize(4))
    for i = 1, 3 do
      waits[i] = assert(waits[i]())
    end
    assert.are.equal(0, sem:available())
    hold:release()
    for i = 1, 3 do
      waits[i]:release()
    end
    env.eventually("all free", function() return sem:available() == 4 end)
  end))

  it("shrinks: holders finish, and later callers are granted by the new limit", run(function()
    local session, other, third = sessions(3)
    local sem, holds = session:semaphore("/p", 5), {}
    for i = 1, 3 do
      holds[i] = assert(sem:acquire(200))
    end
    assert.is_true(sem:resize(2))
    assert.are.equal(0, sem:available())
    assert.is_true(holds[3]:valid())
    local one = queued(session, 4, other:semaphore("/p"))
    local two = queued(session, 5, third:semaphore("/p"))
    holds[1]:release()
    env.queue_of(session, "/p", 4)
    assert.are.equal(0, sem:available())
    holds[2]:release() -- the third holder stays; the new limit has room for one more
    local first = assert(one())
    holds[3]:release()
    local second = assert(two())
    first:release()
    second:release()
    env.eventually("all free", function() return sem:available() == 2 end)
  end))

  it("fails a waiter that wants more permits than the new limit when its turn comes", run(function()
    local session, other = sessions(2)
    local sem = session:semaphore("/p", 3)
    local hold = assert(sem:acquire(200))
    local wait = queued(session, 2, other:semaphore("/p"), 300, 3)
    assert.is_true(sem:resize(2))
    assert.matches("3 permits were asked for, but the limit is 2", (fails("conflict", wait())))
    hold:release()
  end))

  it("is reported as unsent if there was no connection, but not if the answer was lost", run(function()
    local proxy, namespace = env.proxy(), env.namespace()
    local session = env.session { hosts = proxy.hosts, namespace = namespace, request_timeout = 20 }
    local other = env.session { namespace = namespace }
    local semaphore = session:semaphore("/s", 2)
    assert(semaphore:acquire()):release()
    assert(session:sync("/", { timeout = 200 }))
    proxy:drop_reply("setData")
    proxy:refuse()
    local message = fails("connection_loss", semaphore:resize(5))
    assert.is_nil(message:find("nothing was sent", 1, true))
    assert.are.equal("5", assert(other:get("/s")))
    -- Another session may have begun in between. Without a connection nothing is sent.
    env.eventually("it is cut off", function() return session.state ~= "connected" end)
    message = fails("connection_loss", session:semaphore("/s", 2):resize(7))
    assert.matches("nothing was sent", message)
    assert.are.equal("5", assert(other:get("/s")))
    proxy:heal()
    session:close()
  end))

  it("that is no number of permits is misuse", run(function()
    local session = env.session()
    local sem = session:semaphore("/p", 1)
    for _, bad in ipairs { 0, -1, 1.5, 2 ^ 40 } do
      assert.has_error(function() session:semaphore("/q", bad) end, nil)
      assert.has_error(function() sem:acquire(1, bad) end, nil)
      assert.has_error(function() sem:resize(bad) end, nil)
    end
    assert.has_error(function() sem:resize() end, nil)
    assert.has_error(function() session:semaphore() end, nil)
  end))
end)
