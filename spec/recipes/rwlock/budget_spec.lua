-- The read/write lock's budgets: requests on the wire, counted by a proxy, exactly. See lock/budget_spec.lua.

local budgets = require "spec.support.budget"
local env = require "spec.support.env"
local run, fails = env.run, env.fails

describe("the read/write lock's requests", function()
  local budget, proxy, session, other
  before_each(function()
    budget = budgets.start("/rw")
    proxy, session, other = budget.proxy, budget.session, budget.other
  end)
  after_each(function() budget:stop() end)

  local function spent() return budget:spent() end

  -- Starts a wait through the proxy and returns when it watches the contender ahead.
  local function watching(acquire, lock)
    local before = proxy:counts().getData
    local wait = env.start(acquire, lock)
    env.eventually("the watch is set", function() return proxy:counts().getData == before + 1 end)
    return wait
  end

  it("free, to read and to write: create and list in one flight; release: one delete", run(function()
    local rw = session:rwlock("/rw")
    for _, way in ipairs { "read", "write", "read" } do
      local hold = assert(rw[way](rw))
      assert.are.same({ create2 = 1, getChildren2 = 1 }, spent())
      hold:release()
      assert.are.same({ delete = 1 }, spent())
    end
  end))

  it("to read beside readers: as for a free lock", run(function()
    local theirs = assert(other:rwlock("/rw"):read())
    local hold = assert(session:rwlock("/rw"):read())
    assert.are.same({ create2 = 1, getChildren2 = 1 }, spent())
    hold:release()
    theirs:release()
  end))

  it("a reader waits for the nearest writer; other contenders that leave do not wake it", run(function()
    local readers = { assert(other:rwlock("/rw"):read()), assert(other:rwlock("/rw"):read()) }
    local theirs = other:rwlock("/rw")
    local writes = env.start(theirs.write, theirs)
    env.queue_of(other, "/rw", 3)
    local wait = watching(session:rwlock("/rw").read, session:rwlock("/rw"))
    assert.are.same({ create2 = 1, getChildren2 = 1, exists = 1, getData = 1 }, spent())
    readers[1]:release()
    readers[2]:release()
    local hold = assert(writes())
    hold:release()
    local mine = assert(wait())
    assert.are.same({}, spent())
    mine:release()
  end))

  it("readers that come at once behind a writer that waits share both watches", run(function()
    local reader, theirs = assert(other:rwlock("/rw"):read()), other:rwlock("/rw")
    local writes = env.start(theirs.write, theirs)
    env.queue_of(other, "/rw", 2)
    local rw, waits = session:rwlock("/rw"), {}
    for i = 1, 5 do waits[i] = env.start(rw.read, rw) end
    env.queue_of(other, "/rw", 7)
    env.eventually("they watch", function() return proxy:counts().getData == 1 end)
    local asked = spent()
    assert.are.same({ 5, 1, 1 }, { asked.create2, asked.exists, asked.getData })
    reader:release()
    writes():release()
    local mine = {}
    for i = 1, 5 do mine[i] = assert(waits[i]()) end
    assert.are.same({}, spent())
    for i = 1, 5 do mine[i]:release() end
  end))

  it("readers behind a writer that holds: nothing when it leaves", run(function()
    local hold = assert(other:rwlock("/rw"):write())
    local rw = session:rwlock("/rw")
    local waits = { watching(rw.read, rw) }
    for i = 2, 5 do
      waits[i] = env.start(rw.read, rw)
      env.queue_of(other, "/rw", i + 1)
    end
    assert.are.equal(1, spent().getData) -- one watch for all readers
    hold:release()
    local mine = {}
    for i = 1, 5 do mine[i] = assert(waits[i]()) end
    assert.are.same({}, spent())
    for i = 1, 5 do mine[i]:release() end
  end))

  it("a writer behind a single holder: nothing when it leaves", run(function()
    for _, way in ipairs { "read", "write" } do
      local theirs = other:rwlock("/rw")
      local hold = assert(theirs[way](theirs))
      local wait = watching(session:rwlock("/rw").write, session:rwlock("/rw"))
      assert.are.same({ create2 = 1, getChildren2 = 1, getData = 1 }, spent())
      hold:release()
      local mine = assert(wait())
      assert.are.same({}, spent())
      mine:release()
      env.queue_of(other, "/rw", 0)
      spent()
    end
  end))

  it("a writer behind two readers: one listing and one watch more, at most", run(function()
    local first, second = assert(other:rwlock("/rw"):read()), assert(other:rwlock("/rw"):read())
    local wait = watching(session:rwlock("/rw").write, session:rwlock("/rw"))
    spent()
    second:release()
    env.eventually("it watches the other one", function() return proxy:counts().getData == 1 end)
    assert.are.same({ getChildren2 = 1, getData = 1 }, spent())
    first:release()
    assert(wait()):release()
    assert.are.same({ multi = 1 }, spent())
  end))

  it("a failing try: one read to write, two to read, no write", run(function()
    local hold = assert(other:rwlock("/rw"):write())
    local rw = session:rwlock("/rw")
    fails("timeout", rw:write(0))
    assert.are.same({ getChildren2 = 1 }, spent())
    fails("timeout", rw:read(0))
    assert.are.same({ getChildren2 = 1, getData = 1 }, spent())
    hold:release()
    hold = assert(other:rwlock("/rw"):read())
    local theirs = other:rwlock("/rw")
    local wait = env.start(theirs.write, theirs)
    env.queue_of(other, "/rw", 2)
    fails("timeout", rw:read(0)) -- the waiter ahead is a writer
    assert.are.same({ getChildren2 = 1 }, spent())
    hold:release()
    wait():release()
  end))

  it("a downgrade: one; each session with readers behind it: one; readers of its own session: none", run(function()
    local rw, theirs = session:rwlock("/rw"), other:rwlock("/rw")
    local hold = assert(rw:write())
    local ours = env.start(rw.read, rw)
    env.queue_of(other, "/rw", 2)
    spent()
    assert(hold:downgrade())
    local mine = assert(ours())
    assert.are.same({ setData = 1 }, spent())
    mine:release()
    hold:release()
    env.queue_of(other, "/rw", 0)

    hold = assert(theirs:write())
    local wait = watching(rw.read, rw)
    spent()
    assert(hold:downgrade())
    mine = assert(wait())
    assert.are.same({ getData = 1 }, spent())
    mine:release()
    hold:release()
  end))
end)
