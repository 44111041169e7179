-- What elections cost: requests on the wire, counted by a proxy; exact, as in lock/budget_spec.lua.

local budgets = require "spec.support.budget"
local env = require "spec.support.env"
local run = env.run

describe("an election's requests", function()
  local budget, proxy, session, other
  before_each(function()
    budget = budgets.start("/e")
    proxy, session, other = budget.proxy, budget.session, budget.other
  end)
  after_each(function() budget:stop() end)

  local function spent() return budget:spent() end

  it("to lead, to proclaim, to resign", run(function()
    local election = session:election("/e")
    for _ = 1, 3 do
      local term = assert(election:campaign())
      assert.are.same({ create2 = 1, getChildren2 = 1 }, spent())
      assert(term:proclaim("x"))
      assert(term:ready())
      assert.are.same({ multi = 2 }, spent())
      term:resign()
      assert.are.same({ delete = 1 }, spent())
    end
  end))

  it("to wait, and none when the leader leaves", run(function()
    local term = assert(other:election("/e"):campaign())
    local wait = env.start(function() return session:election("/e"):campaign(200) end)
    env.eventually("the watch is set", function() return proxy:counts().getData == 1 end)
    assert.are.same({ create2 = 1, getChildren2 = 1, getData = 1 }, spent())
    term:resign()
    local mine = assert(wait())
    assert.are.same({}, spent())
    mine:resign()
  end))

  it("to ask for the leader: one read, two after a change", run(function()
    local election = session:election("/e")
    assert.is_nil(election:leader())
    assert.are.same({ getChildren2 = 1 }, spent())
    local term = assert(other:election("/e"):campaign())
    assert(election:leader())
    assert.are.same({ getChildren2 = 1, getData = 1 }, spent())
    for _ = 1, 5 do assert(election:leader()) end
    assert.are.same({ getData = 5 }, spent())
    term:resign()
    term = assert(other:election("/e"):campaign())
    assert(session:sync("/e"))
    spent()
    assert.are.equal(term.token, election:leader().token)
    assert.are.same({ getData = 2, getChildren2 = 1 }, spent())
  end))

  it("of fifty observers: one watch for all", run(function()
    local term = assert(other:election("/e", { value = "1" }):campaign())
    local election, told, ready = session:election("/e"), 0, 0
    for _ = 1, 50 do
      env.start(function()
        for leader in election:observe() do
          told = told + 1
          ready = ready + (leader and leader.ready and 1 or 0)
        end
      end)
    end
    env.eventually("all know", function() return told == 50 end)
    assert.are.same({ getChildren2 = 1, getData = 1 }, spent())
    assert(term:ready())
    env.eventually("all know", function() return ready == 50 end)
    assert.are.same({ getData = 1 }, spent())
    assert.are.equal(100, told)
    local wait = env.start(function() return other:election("/e"):campaign(200) end)
    env.queue_of(other, "/e", 2)
    assert.are.same({}, spent())
    term:resign()
    wait()
    env.eventually("all know", function() return told == 150 end)
    assert.are.same({ getData = 2, getChildren2 = 1 }, spent())
    session:close() -- ends the loops
  end))
end)
