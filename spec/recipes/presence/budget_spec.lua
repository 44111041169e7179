-- The requests of a presence, counted at a proxy.

local Budget = require "spec.support.budget"
local env = require "spec.support.env"
local run = env.run

local LIMIT = 200

describe("the budget of a presence", function()
  local budget
  before_each(function() budget = Budget.start("/d", "") end)
  after_each(function() budget:stop() end)

  it("to appear: 1 write, 1 read; to update: 1 write, 1 read; to leave: 1 write, 2 reads", run(function()
    local presence = budget.session:presence("/d/p", "1")
    assert(presence:ready(LIMIT))
    assert.same({ create2 = 1, exists = 1 }, budget:spent())
    for i = 1, 10 do assert(presence:update(tostring(i))) end
    local spent = budget:spent()
    assert.equal(10, spent.setData)
    assert.is_true(spent.exists >= 1 and spent.exists <= 10)
    for _ = 1, 10 do assert(presence:ready(LIMIT)) end
    assert.same({}, budget:spent())
    assert(presence:leave())
    assert.same({ sync = 1, exists = 1, delete = 1 }, budget:spent())
  end))

  it("an update is one round trip", run(function()
    local presence = budget.session:presence("/d/p", "1")
    assert(presence:ready(LIMIT))
    budget:one_round_trip(function()
      assert(presence:update("2"))
      return function() budget:spent() end -- by then the read that follows is answered
    end)
  end))

  it("a stranger in the way: 1 write, 1 read; when it is gone: 1 read, 1 write", run(function()
    assert(budget.other:create("/d/p", "stranger"))
    local presence = budget.session:presence("/d/p", "1")
    env.eventually("blocked", function() return presence:state() == "blocked" end)
    assert.same({ create2 = 1, getData = 1 }, budget:spent())
    assert(budget.other:delete("/d/p"))
    assert(presence:ready(LIMIT))
    local spent = budget:spent()
    spent.exists = nil -- the look at our own znode may be on its way
    assert.same({ create2 = 1, getData = 1 }, spent)
  end))
end)
