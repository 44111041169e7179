-- The requests of worker_id on the wire, counted exactly by a proxy between client and server.

local budgets = require "spec.support.budget"
local env = require "spec.support.env"
local run, fails = env.run, env.fails

describe("the requests of worker_id", function()
  local budget, session, other
  before_each(function()
    budget = budgets.start("/w", "")
    session, other = budget.session, budget.other
    assert(session:create("/w/queue"))
    budget:spent()
  end)
  after_each(function() budget:stop() end)

  local function spent() return budget:spent() end

  it("free: a list and a create; release: a sync, a read and a delete", run(function()
    local ids, held = session:worker_id("/w", 10), {} -- a hold that is collected is released
    for number = 0, 2 do
      held[number] = assert(ids:acquire(200))
      assert.are.equal(number, held[number].number)
      assert.are.same({ create2 = 1, getChildren2 = 1 }, spent())
    end
    local hold = assert(ids:acquire(0))
    spent()
    hold:release()
    env.eventually("it is free", function() return other:exists("/w/3") == false end)
    assert.are.same({ delete = 1, exists = 1, sync = 1 }, spent())
    for number = 0, 2 do assert.is_true(held[number]:valid()) end
  end))

  it("a failing try: one list", run(function()
    local hold = assert(other:worker_id("/w", 1):acquire(200))
    fails("timeout", session:worker_id("/w", 1):acquire(0))
    assert.are.same({ getChildren2 = 1 }, spent())
    hold:release()
  end))

  it("the first waiter: a turn and a list with a watch; when granted: a list, a create, a delete", run(function()
    local hold = assert(other:worker_id("/w", 1):acquire(200))
    local ids = session:worker_id("/w", 1)
    local wait = env.start(function() return ids:acquire(200) end)
    env.eventually("it watches", function() return budget.proxy:counts().getChildren2 == 3 end)
    assert.are.same({ create2 = 1, getChildren2 = 3 }, spent())
    hold:release()
    local granted = assert(wait())
    local all = spent()
    assert.are.same({ 1, 1 }, { all.create2, all.delete })
    assert.is_true(all.getChildren2 <= 2) -- our own create of the number's znode is an event too
    granted:release()
  end))
end)
