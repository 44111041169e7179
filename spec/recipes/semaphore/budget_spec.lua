-- The semaphore's requests on the wire, counted exactly by a proxy between client and server.

local budgets = require "spec.support.budget"
local env = require "spec.support.env"
local run, fails = env.run, env.fails

describe("the semaphore's requests", function()
  local budget, proxy, session, other
  before_each(function()
    budget = budgets.start("/p", "3")
    proxy, session, other = budget.proxy, budget.session, budget.other
  end)
  after_each(function() budget:stop() end)

  local function spent() return budget:spent() end

  local function reads(number)
    env.eventually(number .. " reads", function() return proxy:counts().getData == number end)
  end

  it("free: read, create and list in one flight, also the first time; release: one delete", run(function()
    local sem = session:semaphore("/p", 3)
    for permits = 1, 3 do
      local hold = assert(sem:acquire(200, permits))
      assert.are.same({ create2 = 1, getChildren2 = 1, getData = 1 }, spent())
      hold:release()
      assert.are.same({ delete = 1 }, spent())
    end
  end))

  it("free: one round trip", run(function()
    budget:one_round_trip(function()
      local hold = assert(session:semaphore("/p", 3):acquire(200, 2))
      return function() hold:release() end
    end)
  end))

  it("a failing try: one read if the limit is known, otherwise two reads in one flight; no write", run(function()
    local hold = assert(other:semaphore("/p", 3):acquire(200, 3))
    local sem = session:semaphore("/p", 3)
    fails("timeout", sem:acquire(0))
    assert.are.same({ getChildren2 = 1, getData = 1 }, spent())
    budget:one_round_trip(function() fails("timeout", session:semaphore("/p", 3):acquire(0)) end)
    spent()
    fails("timeout", sem:acquire(0))
    assert.are.same({ getChildren2 = 1 }, spent())
    assert.are.equal(0, sem:available())
    assert.are.same({ getChildren2 = 1 }, spent())
    hold:release()
  end))

  it("the first waiter: the same flight, one read per holder, one of the limit; when a holder leaves: nothing", run(function()
    local holds, theirs = {}, other:semaphore("/p", 3)
    for i = 1, 3 do
      holds[i] = assert(theirs:acquire(200))
    end
    local sem = session:semaphore("/p", 3)
    local wait = env.start(function() return sem:acquire(200, 2) end)
    reads(5)
    assert.are.same({ create2 = 1, getChildren2 = 1, getData = 5 }, spent())
    holds[2]:release() -- not enough for two permits
    env.eventually("it has noticed", function() return sem:attempts()[1].ahead == 2 end)
    assert.are.same({}, spent())
    holds[1]:release()
    local mine = assert(wait())
    assert.are.same({}, spent())
    mine:release()
    assert.are.same({ delete = 1 }, spent())
    holds[3]:release()
  end))

  -- Waits for all permits; returns when it has its watches, after so many reads of the session of this proxy, or of another session.
  local function waiting(sem, place, count)
    local wait = env.start(function() return sem:acquire(200, 3) end)
    env.queue_of(other, "/p", place)
    if count then reads(count) end
    return wait
  end

  it("the second waiter: as the first; when it becomes that: one list, if it saw nobody behind", run(function()
    local hold = assert(other:semaphore("/p", 3):acquire(200, 3))
    local first = waiting(other:semaphore("/p", 3), 2)
    local second = waiting(session:semaphore("/p", 3), 3, 4)
    assert.are.same({ create2 = 1, getChildren2 = 1, getData = 4 }, spent())
    hold:release()
    hold = assert(first())
    env.eventually("it has looked", function() return proxy:counts().getChildren2 == 1 end)
    assert.are.same({ getChildren2 = 1 }, spent())
    hold:release()
    hold = assert(second())
    assert.are.same({}, spent())
    hold:release()
  end))

  it("any other waiter: the same flight and one read; as the second, two reads of the mark, its watches", run(function()
    local hold = assert(other:semaphore("/p", 3):acquire(200, 3))
    local first = waiting(other:semaphore("/p", 3), 2)
    local second = waiting(budget:another():semaphore("/p", 3), 3)
    local mine = waiting(session:semaphore("/p", 3), 4, 2)
    assert.are.same({ create2 = 1, getChildren2 = 1, getData = 2 }, spent())
    local last = waiting(budget:another():semaphore("/p", 3), 5)
    hold:release() -- the one ahead becomes the first waiter, and marks its znode
    hold = assert(first())
    reads(4)
    assert.are.same({ getData = 4 }, spent())
    hold:release() -- ours becomes the first, and has seen that there is one behind it
    hold = assert(second())
    env.eventually("its mark", function() return proxy:counts().setData == 1 end)
    assert.are.same({ setData = 1 }, spent())
    hold:release()
    hold = assert(mine())
    assert.are.same({}, spent())
    hold:release()
    assert(last()):release()
  end))

  it("within one session: no watch on a contender ahead, and no mark", run(function()
    local sem, count = session:semaphore("/p", 3), 20
    local hold, waits = assert(sem:acquire(200, 3)), {}
    spent()
    for i = 1, count do
      waits[i] = env.start(function() assert(sem:acquire(300, 3)):release() end)
    end
    env.queue_of(other, "/p", count + 1)
    hold:release()
    for i = 1, count do
      waits[i]()
    end
    local asked = spent()
    assert.are.equal(count, asked.create2)
    assert.are.equal(count + 1, asked.delete)
    assert.is_nil(asked.setData)
    -- Each claim reads the limit, and so does each first waiter. Some of these find that the holder is already leaving.
    assert.is_true(asked.getData <= 3 * count, "reads: " .. asked.getData)
  end))

  it("resize: a read and a write; to a smaller limit also a list and another write", run(function()
    local sem = session:semaphore("/p", 3)
    assert(sem:resize(5))
    assert.are.same({ getData = 1, setData = 1 }, spent())
    assert(sem:resize(5)) -- this limit is already stored
    assert.are.same({ getData = 1, setData = 1 }, spent())
    assert(sem:resize(2))
    assert.are.same({ getData = 1, setData = 2, getChildren2 = 1 }, spent())
  end))

  it("a resize that creates the semaphore: a read and a create", run(function()
    assert(session:semaphore("/new"):resize(5))
    assert.are.same({ getData = 1, create2 = 2 }, spent()) -- one create only finds out that the namespace exists
  end))

  it("a resize after another client has written: a sync, a read and a write more", run(function()
    local sem = session:semaphore("/p", 3)
    proxy:hold("setData")
    local wait = env.start(function() return sem:resize(5) end)
    env.eventually("its write is held", function() return proxy:fired() == 1 end)
    assert(other:semaphore("/p"):resize(4))
    proxy:release()
    assert(wait())
    assert.are.same({ getData = 2, setData = 2, sync = 1 }, spent())
  end))
end)
