-- The requests of elections on the wire, counted exactly by a proxy, as in lock/budget_spec.lua.

local budgets = require "spec.support.budget"
local env = require "spec.support.env"
local sim = require "zkrecipes.sim"
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

  it("for fifty observers: one watch for all", run(function()
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

describe("the requests of an election by rank", function()
  local budget
  before_each(function() budget = budgets.start("/e") end)
  after_each(function() budget:stop() end)

  it("to lead, to proclaim, to resign", run(function()
    local election = budget.session:election("/e", { rank = 1 })
    for _ = 1, 3 do
      local term = assert(election:campaign())
      assert.is_true(term:proclaim("x"))
      term:resign()
      local spent = budget:spent()
      spent.getData = nil -- the znode of the last leader is read too
      assert.are.same({ create2 = 1, getChildren2 = 2, multi = 2, delete = 1 }, spent)
    end
  end))

  it("to ask for the leader: two reads, or one while the leader is the same", run(function()
    local election = budget.session:election("/e", { rank = 1 })
    assert.is_nil(election:leader())
    assert.are.same({ getData = 1 }, budget:spent())
    local term = assert(budget.other:election("/e", { rank = 1 }):campaign())
    assert(budget.session:sync("/e"))
    budget:spent()
    assert.are.equal(term.token, election:leader().token)
    assert.are.same({ getData = 2 }, budget:spent())
    for _ = 1, 5 do assert.are.equal(term.token, election:leader().token) end
    assert.are.same({ getData = 5 }, budget:spent())
    term:resign()
  end))

  it("to resign to a successor: a read and two writes", run(function()
    local term = assert(budget.session:election("/e", { rank = 1 }):campaign())
    local wait = env.start(function() return budget.other:election("/e", { rank = 1 }):campaign(200) end)
    env.queue_of(budget.other, "/e", 2)
    local heir = budget.other:election("/e", { rank = 1 }):candidates()[2]
    budget:spent()
    assert.is_true(term:resign(heir))
    assert(wait()):resign()
    assert.are.same({ getData = 1, multi = 1, delete = 1 }, budget:spent())
  end))
end)

-- In virtual time, where no answer overtakes an event.
describe("the requests of a candidate by rank that waits", function()
  it("when the leader changes: three, if it knows the other candidates' ranks", function()
    local world = sim.new { seed = 1, servers = 1, jitter = 0 }
    world:run(function()
      local session, terms = world:session(), {}
      local waits = world:session():election("/e", { rank = 0 })
      assert(session:create("/e", ""))
      local function stands(of, rank)
        world.zk.spawn(function() terms[rank] = of:election("/e", { rank = rank }):campaign() end)
        world:advance(0.5)
      end
      for rank = 9, 5, -1 do stands(world:session(), rank) end
      local own = world:session()
      stands(own, 0)
      assert.is_truthy(terms[9])
      for rank = 9, 7, -1 do
        local before = world:requests(own)
        terms[rank]:resign()
        world:advance(0.9)
        assert.is_truthy(terms[rank - 1])
        -- The first time it reads the ranks of the four others.
        assert.are.equal(rank == 9 and 7 or 3, world:requests(own) - before)
      end
      -- A named successor needs no rank, but its name is read.
      local before = world:requests(own)
      assert.is_true(terms[6]:resign(waits:candidates()[2]))
      world:advance(0.9)
      assert.is_truthy(terms[5])
      assert.are.equal(4, world:requests(own) - before)
      terms[5]:resign()
      world:advance(0.9)
      terms[0]:resign()
    end)
  end)
end)
