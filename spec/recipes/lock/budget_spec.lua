-- The lock's requests on the wire, counted by a proxy between client and server, without heartbeats and pings.
-- A budget is exact: one request more or less is a failure.
-- Tags: sanitize

local budgets = require "spec.support.budget"
local env = require "spec.support.env"
local run, fails = env.run, env.fails

describe("the fair lock's requests", function()
  local budget, proxy, session, other
  before_each(function()
    budget = budgets.start("/l")
    proxy, session, other = budget.proxy, budget.session, budget.other
  end)
  after_each(function() budget:stop() end)

  local function spent() return budget:spent() end

  it("free: create and list in one flight; release: one delete", run(function()
    local lock = session:lock("/l")
    for _ = 1, 5 do
      local hold = assert(lock:acquire())
      assert.are.same({ create2 = 1, getChildren2 = 1 }, spent())
      hold:release()
      assert.are.same({ delete = 1 }, spent())
    end
  end))

  it("free: one round trip", run(function()
    local lock = session:lock("/l")
    budget:one_round_trip(function()
      local hold = assert(lock:acquire())
      return function() hold:release() end
    end)
  end))

  it("a failing try: one read, no write", run(function()
    local hold = assert(other:lock("/l"):acquire())
    local lock = session:lock("/l")
    for _ = 1, 3 do
      fails("timeout", lock:acquire(0))
      assert.are.same({ getChildren2 = 1 }, spent())
    end
    hold:release()
  end))

  it("to wait: the same flight and one watch; when the holder leaves: nothing", run(function()
    local hold = assert(other:lock("/l"):acquire())
    local wait = env.start(function() return session:lock("/l"):acquire(200) end)
    env.eventually("the watch is set", function() return proxy:counts().getData == 1 end)
    assert.are.same({ create2 = 1, getChildren2 = 1, getData = 1 }, spent())
    hold:release()
    local mine = assert(wait())
    assert.are.same({}, spent())
    mine:release() -- one that has waited does not know whether others wait behind it
    assert.are.same({ multi = 1 }, spent())
  end))

  it("to wait behind more than one: one watch more; at its turn: nothing, however long the queue is", run(function()
    local waits, holds, last = {}, { assert(other:lock("/l"):acquire()) }, 5
    local function join(i, contender) waits[i] = env.start(function() return contender:lock("/l"):acquire(200) end) end
    for i = 2, last do
      join(i, i == last and session or budget:another())
      env.queue_of(other, "/l", i)
    end
    assert.are.same({ create2 = 1, getChildren2 = 1, exists = 1, getData = 1 }, spent())
    for i = last + 1, last + 20 do
      join(i, other)
      env.queue_of(other, "/l", i)
    end
    for i = 2, last do
      holds[i - 1]:release()
      holds[i] = assert(waits[i]())
    end
    assert.are.same({}, spent())
    holds[last]:release()
    assert.are.same({ multi = 1 }, spent())
    for i = last + 1, last + 20 do waits[i]():release() end
  end))

  it("when a waiter just ahead gives up: one listing and one watch on the next", run(function()
    local hold = assert(other:lock("/l"):acquire())
    local quitter = other:lock("/l")
    local quits = env.start(function() fails("canceled", quitter:acquire()) end)
    env.queue_of(other, "/l", 2)
    local wait = env.start(function() return session:lock("/l"):acquire(200) end)
    env.eventually("the watch is set", function() return proxy:counts().getData == 1 end)
    assert.are.same({ create2 = 1, getChildren2 = 1, exists = 1, getData = 1 }, spent())
    quitter:cancel()
    quits()
    env.eventually("the next watch is set", function() return proxy:counts().getData == 1 end)
    assert.are.same({ getChildren2 = 1, getData = 1 }, spent())
    hold:release()
    wait():release()
  end))

  it("among coroutines of one session: no watch, no listing at a hand-off", run(function()
    local lock, count = session:lock("/l"), 50
    local hold, waits = assert(lock:acquire()), {}
    spent()
    for i = 1, count do
      waits[i] = env.start(function()
        local mine = assert(lock:acquire(300))
        mine:release()
      end)
    end
    env.queue_of(other, "/l", count + 1)
    local asked = spent()
    assert.are.equal(count, asked.create2)
    assert.is_nil(asked.getData)
    assert.is_true(asked.getChildren2 <= 3, "listings: " .. asked.getChildren2)
    hold:release()
    for i = 1, count do
      waits[i]()
    end
    assert.are.same({ delete = count, multi = 1 }, spent()) -- behind the last no coroutine of the session waits
  end))

  it("a guarded write: one", run(function()
    local hold = assert(session:lock("/l"):acquire())
    spent()
    assert(hold:create("/x", "1"))
    assert(hold:set("/x", "2"))
    assert.are.same({ multi = 2 }, spent())
    hold:release()
  end))
end)
