-- Elections by rank: how candidates wait in line, and how a leader that resigns names the next one.
-- Tags: sanitize, one thread

local core = require "zkrecipes.core"
local env = require "spec.support.env"
local ranked = require "spec.support.ranked"
local fails, within, line_up = env.fails, ranked.within, ranked.line_up

describe("a leader by rank that resigns", function()
  -- Two candidates wait; body(term, leader) lets the leader resign; the better one leads next, and then the other one.
  local function resigns(body)
    return within(function(world)
      local leader, better, other = world:session(), world:session(), world:session()
      local term = assert(leader:election("/e", { value = "first", rank = 1 }):campaign(5))
      local led = line_up(world, { other:election("/e", { value = "other", rank = 2 }),
        better:election("/e", { value = "better", rank = 3 }) })
      body(world, term, leader)
      world:advance(20)
      assert.are.same({ "better", "other" }, led)
      assert.are.equal(0, #world:children("/e"))
      assert.are.equal("connected", leader.state)
    end)
  end

  for _, fault in ipairs { "lose_request", "lose_reply" } do
    it("is followed by the best one: " .. fault, resigns(function(world, term, leader)
      world:plan(leader, fault, { kind = "multi", nth = 1, down = 1 })
      term:resign()
      assert.is_false(term:valid())
      world:advance(10)
      assert.are.equal(0, world:planned(leader))
    end))
  end

  it("is followed by the best one if it does not know yet who has come", resigns(function(world, term, leader)
    world:plan(leader, "delay", { kind = "children", nth = 1, seconds = 5 })
    local other = world:session()
    assert(other:create("/e/other", "")) -- so the leader lists
    assert(other:delete("/e/other"))
    assert.are.equal(0, world:planned(leader))
    local before = world:requests(leader, "delete")
    term:resign()
    assert.are.equal(1, world:requests(leader, "delete") - before)
  end))

  it("sends its last request at once: the program may never wait again", resigns(function(world, term, leader)
    local before = world:requests(leader, "multi")
    term:resign()
    assert.are.equal(1, world:requests(leader, "multi") - before)
  end))

  it("is followed by the best one if another client has written into the directory", resigns(function(world, term)
    assert(world:session():set("/e", (world:get "/e")))
    term:resign()
  end))

  it("is followed by the best one whichever allocation fails", within(function(world)
    local leader, next_one = world:session(), world:session()
    local n, reached = 0, true
    while reached do
      n = n + 1
      local term = assert(leader:election("/e", { rank = 2 }):campaign(5))
      local wait = world.zk.spawn(function() return next_one:election("/e", { rank = 1 }):campaign(60) end)
      world:advance(0.5)
      core.alloc_fail(n)
      pcall(term.resign, term)
      world:advance(0.1)
      reached = core.alloc_failed()
      core.alloc_fail(0)
      term:resign()
      world:advance(2)
      local next_term, message, code = wait:wait(30)
      assert.is_true(next_term ~= nil or code == "no_memory", message)
      if next_term then next_term:resign() end
      world:advance(1)
      assert.are.equal(0, #world:children("/e"))
    end
    assert.is_true(n > 5, n)
  end))

  it("names nobody if fewer stand than the quorum", within(function(world)
    local leader, waits = world:session(), world:session()
    local lead = world.zk.spawn(function() return leader:election("/e", { rank = 2, quorum = 2 }):campaign(30) end)
    local election = waits:election("/e", { rank = 1, quorum = 2 })
    local wait = world.zk.spawn(function() return election:campaign(30) end)
    assert(lead:wait()):resign()
    world:advance(5)
    assert.is_nil(election:leader())
    assert.is_false(wait.done or false)
    election:cancel()
    fails("canceled", wait:wait())
  end))
end)

describe("candidates by rank in line", function()
  it("lead in order, although those ahead end one after the other without leading", within(function(world)
    local sessions, elections = {}, {}
    for rank = 1, 5 do
      sessions[rank] = world:session()
      elections[rank] = sessions[rank]:election("/e", { value = ("abcde"):sub(rank, rank), rank = rank })
    end
    local term = assert(world:session():election("/e", { value = "first", rank = 9 }):campaign(5))
    local led = line_up(world, elections)
    for _, rank in ipairs { 4, 2, 5 } do
      world:expire(sessions[rank])
      world:advance(1)
    end
    assert.are.same({}, led)
    term:resign()
    world:advance(1)
    assert.are.same({ "c", "a" }, led)
  end))

  -- Five sessions with a candidate each, the highest first, so that each knows those ahead of it; `rank` is their place in the lists.
  local function stand(world, quorum)
    local sessions, elections, terms = {}, {}, {}
    for rank = 5, 1, -1 do
      sessions[rank] = world:session()
      elections[rank] = sessions[rank]:election("/e", { rank = rank, quorum = quorum })
      world.zk.spawn(function() terms[rank] = elections[rank]:campaign(600) end)
      world:advance(0.1)
    end
    world:advance(1)
    return sessions, elections, terms
  end

  it("send few requests if many ahead of them end at once", within(function(world)
    local leader = world:session()
    assert(leader:election("/e", { rank = 9 }):campaign(5))
    local sessions, _, terms = stand(world, 1)
    for rank = 2, 5 do world:expire(sessions[rank]) end
    local before = world:requests(sessions[1])
    world:expire(leader)
    world:advance(3)
    assert.is_true(terms[1]:valid())
    -- The listing when the one ahead ends, the read of the leader, the next listing, the write, the listing of the leader.
    assert.is_true(world:requests(sessions[1]) - before <= 5, world:requests(sessions[1]) - before)
  end))

  it("stand again if their znodes are deleted from outside", within(function(world)
    local sessions, elections, terms = stand(world, 3)
    assert.is_nil(terms[1] or terms[2] or terms[3] or terms[4])
    assert.is_true(terms[5]:valid())
    for _, one in ipairs(elections[1]:candidates()) do
      if not one.leading then assert(sessions[5]:delete(one.path)) end
    end
    world:advance(1)
    assert.are.equal(5, #world:children("/e"))
    world:expire(sessions[5])
    world:advance(5)
    assert.is_true(terms[4]:valid())
    assert.are.equal(4, #world:children("/e"))
  end))

  it("ask less and less often while the best one hangs, and go on at once when it ends, or when the rank changes", within(function(world)
    local hung = world:process()
    local best = hung.session { timeout = 100 }
    assert(best:connected(5))
    local mine, other = world:session(), world:session()
    local election, term = mine:election("/e", { rank = 1, quorum = 2 }), nil
    local wait = world.zk.spawn(function() term = election:campaign(600) end)
    world:advance(1)
    world:plan(best, "delay", { kind = "get", nth = 1, seconds = 1 }) -- it stands, and does not look
    hung.spawn(function() best:election("/e", { rank = 9, quorum = 2 }):campaign(600) end)
    world:advance(0.5)
    world:pause(hung, 90)
    world:advance(1)
    local before = world:requests(mine)
    world:advance(20)
    local spent = world:requests(mine) - before
    assert.is_true(spent > 0 and spent <= 5, spent)
    world:plan(mine, "delay", { kind = "exists", nth = 1, seconds = 2 })
    while world:planned(mine) > 0 do world:advance(1) end
    before = world.zk.now()
    assert.is_true(election:update_rank(2))
    assert.is_true(world.zk.now() - before < 5)
    assert.is_nil(term)
    other:election("/e", { rank = 1, quorum = 2 }):campaign(0)
    local third = world.zk.spawn(function() return other:election("/e", { rank = 1, quorum = 2 }):campaign(60) end)
    world:advance(1)
    world:expire(best)
    world:advance(1)
    assert.is_true(term:valid())
    term:resign()
    third:wait(60)
    wait:wait(1)
  end))

  it("may try while no candidate leads: a try does not wait", within(function(world)
    local leader = world:session()
    assert(leader:election("/e", { rank = 9 }):campaign(5))
    local better = world:session():election("/e", { rank = 5, quorum = 3 })
    local wait = world.zk.spawn(function() return better:campaign(60) end)
    world:advance(1)
    world:expire(leader)
    world:advance(1)
    local session = world:session()
    assert(session:connected(5))
    local began = world.zk.now()
    fails("timeout", session:election("/e", { rank = 1 }):campaign(0))
    assert.is_true(world.zk.now() - began < 0.5, world.zk.now() - began)
    better:cancel()
    wait:wait()
  end))

  it("lead when a leader names them that are not next", within(function(world)
    local leader = world:session()
    local election = leader:election("/e", { value = "first", rank = 9 })
    local term = assert(election:campaign(5))
    local elections = {}
    for rank = 1, 4 do elections[rank] = world:session():election("/e", { value = ("abcd"):sub(rank, rank), rank = rank }) end
    local led = line_up(world, elections)
    local list, heir = election:candidates(), nil
    for _, one in ipairs(list) do heir = one.value == "a" and one or heir end
    assert(term:resign(heir))
    world:advance(1)
    assert.are.same({ "a", "d", "c", "b" }, led)
  end))
end)
