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
      assert.are.same({ create2 = 1, getChildren2 = 3, multi = 2, delete = 1 }, spent)
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

  it("to resign while others stand: a write; the next one reads, and lists for its own end", run(function()
    local mine, theirs = budget.session:election("/e", { rank = 1 }), budget.other:election("/e", { rank = 1 })
    for turn = 1, 3 do
      local first, second = turn % 2 == 1 and mine or theirs, turn % 2 == 1 and theirs or mine
      local term = assert(first:campaign())
      local wait = env.start(function() return second:campaign(200) end)
      env.queue_of(budget.other, "/e", 2)
      env.eventually("all is answered", function()
        return budget.session:usage().in_flight + budget.other:usage().in_flight == 0
      end)
      budget:spent()
      term:resign()
      local next_term = assert(wait())
      assert.is_true(next_term.token > term.token)
      assert.are.same(turn % 2 == 1 and { multi = 1 } or { getData = 1, getChildren2 = 1 }, budget:spent())
      next_term:resign()
      env.queue_of(budget.other, "/e", 0)
    end
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

  it("send two requests at most for a change, in ten changes", lined_up(function(all)
    for turn = 1, 10 do
      local leader = all[turn % 2 == 1 and 10 or 9]
      for i, spent in ipairs(change(all, leader)) do
        -- The next leader reads, and lists. After the first change, the one behind 9 waits for each leader: it knows no other one ahead.
        local expected = (i >= 9 and all[i] ~= leader or i == 8 and turn > 1) and 2 or 1
        assert.are.equal(expected, spent, ("change %d, candidate %d"):format(turn, i))
      end
      leader:stand()
      world:advance(0.3)
    end
  end))

  it("send four requests if they lead after a leader that died, and one each otherwise", lined_up(function(all)
    all[10].wait:wait()
    local before = requests_of(all)
    world:expire(all[10].session)
    all[9].wait:wait()
    world:advance(0.3)
    local after = requests_of(all)
    -- The next leader lists, writes, lists, and reads what it has written, to leave a watch.
    for i = 1, 9 do assert.are.equal(i == 9 and 4 or 1, after[i] - before[i], "candidate " .. i) end
  end))

  it("send nothing if one in the middle ends, but for the leader and the one behind it", lined_up(function(all)
    local before = requests_of(all)
    world:expire(all[5].session)
    world:advance(1)
    local after = requests_of(all)
    for i = 1, CANDIDATES do
      -- The leader lists; the other one reads the directory, and the znode of the next one ahead.
      local expected = ({ [4] = 2, [10] = 1 })[i] or 0
      if i ~= 5 then assert.are.equal(expected, after[i] - before[i], "candidate " .. i) end
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

  it("hand over in two round trips: the end and its event, a read", lined_up(function(all)
    local from = world.zk.now()
    all[10].wait:wait():resign()
    local term = all[9].wait:wait()
    local trip = 2 * LATENCY
    assert.is_true(all[9].led - from < 2.5 * trip, (all[9].led - from) / trip)
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
    -- The znode ahead, and the directory with its children.
    for i = 1, CANDIDATES do assert.is_true(all[i].session:usage().watches <= 3) end
  end))
end)
