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
describe("ten candidates by rank", function()
  local CANDIDATES, LATENCY = 10, 0.001
  local world

  -- body(all): ten candidates of ten sessions; the last one leads.
  local function lined_up(body)
    return function()
      world = sim.new { seed = 1, servers = 1, jitter = 0, latency = LATENCY }
      world:run(function()
        assert(world:session():create("/e", ""))
        local all = {}
        for rank = 1, CANDIDATES do all[rank] = { session = world:session(), rank = rank } end
        for i = CANDIDATES, 1, -1 do
          all[i].election = all[i].session:election("/e", { rank = i })
          all[i].stand = function(one)
            one.wait = world.zk.spawn(function()
              local term = one.election:campaign()
              one.led = world.zk.now()
              return term
            end)
          end
          all[i]:stand()
          world:advance(0.5)
        end
        body(all)
        for i = 1, CANDIDATES do all[i].election:cancel() end
      end)
    end
  end

  local function requests_of(all)
    local sent = {}
    for i = 1, CANDIDATES do sent[i] = world:requests(all[i].session) end
    return sent
  end

  -- The leader resigns; how many requests each candidate has sent until the next one leads and all others wait again.
  local function change(all, leader)
    local before, spent = requests_of(all), {}
    leader.wait:wait():resign()
    world:advance(0.3)
    local after = requests_of(all)
    for i = 1, CANDIDATES do spent[i] = after[i] - before[i] end
    return spent
  end

  it("send three requests at most for a change, the next leader two, in ten changes", lined_up(function(all)
    for turn = 1, 10 do
      local leader, follower = all[turn % 2 == 1 and 10 or 9], all[turn % 2 == 1 and 9 or 10]
      local spent = change(all, leader)
      for i, one in ipairs(all) do
        -- After the first change, those below 8 know that 8 comes before them, so they do not list.
        local waits = (turn == 1 or i == 8) and 3 or 2
        local expected = one == leader and 1 or one == follower and 2 or waits
        assert.are.equal(expected, spent[i], ("change %d, candidate %d"):format(turn, i))
      end
      leader:stand()
      world:advance(0.3)
    end
  end))

  it("do not rely for long on a candidate that ends with the leader", lined_up(function(all)
    change(all, all[10])
    local from = world.zk.now()
    all[8].session:close() -- all others know it
    all[9].wait:wait():resign()
    all[7].wait:wait()
    assert.is_true(all[7].led - from < 0.4, all[7].led - from)
  end))

  it("hand over in three round trips: the end and its event, a listing, a write", lined_up(function(all)
    local from = world.zk.now()
    all[10].wait:wait():resign()
    local term = all[9].wait:wait()
    local trip = 2 * LATENCY
    assert.is_true(all[9].led - from < 3.5 * trip, (all[9].led - from) / trip)
    term:resign()
  end))

  it("have as many watches after 1,000 changes as after ten", lined_up(function(all)
    local watches, at_ten = {}, nil
    for turn = 1, 1000 do
      local leader = all[turn % 2 == 1 and 10 or 9]
      change(all, leader)
      leader:stand()
      world:advance(0.3)
      at_ten = at_ten or turn == 10 and world:watches() or nil
      watches[turn] = world:watches()
    end
    assert.are.equal(at_ten, watches[1000])
    -- The leader's znode, and the directory with its children.
    for i = 1, CANDIDATES do assert.is_true(all[i].session:usage().watches <= 3) end
  end))
end)
