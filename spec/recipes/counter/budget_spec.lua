-- The counter's requests, counted at a proxy. The rows of its page's table have their cases in spec/support/costs/counter.lua.

local env = require "spec.support.env"
local Budget = require "spec.support.budget"
local zk = require "zkrecipes"
local run = env.run

describe("the budget of a counter", function()
  local budget
  before_each(function() budget = Budget.start("/c", "0") end)
  after_each(function() budget:stop() end)

  it("add: 1, and one round trip; the first add: 3", run(function()
    local counter = budget.session:counter("/c")
    assert(counter:add(1))
    assert.same({ create2 = 1, getData = 1, multi = 1 }, budget:spent())
    for _ = 1, 10 do assert(counter:add(1)) end
    assert.same({ multi = 10 }, budget:spent())
    budget:one_round_trip(function() assert(counter:add(1)) end)
  end))

  it("add after another client has written: 2 writes and 1 read", run(function()
    local counter, theirs = budget.session:counter("/c"), budget.other:counter("/c")
    assert(counter:add(1))
    budget:spent()
    assert(theirs:add(1))
    assert.equal(3, counter:add(1))
    assert.same({ getData = 1, multi = 2 }, budget:spent())
  end))

  it("a thousand ids: 1, for any number of coroutines", run(function()
    local ids, asked = budget.session:ids("/c"), {}
    assert(ids:next())
    for _ = 1, 999 do assert(ids:next()) end
    budget:spent()
    for i = 1, 100 do asked[i] = function() return ids:next() end end
    zk.all(asked)
    assert.same({ multi = 1 }, budget:spent())
  end))
end)
