-- Elections by rank with faults: calls that end early, lost answers, znodes that other clients delete.
-- Tags: sanitize, one thread

local core = require "zkrecipes.core"
local env = require "spec.support.env"
local ranked = require "spec.support.ranked"
local fails, within, line_up = env.fails, ranked.within, ranked.line_up

describe("update_rank that ends before its answer", function()
  for what, end_it in pairs {
    ["by its limit"] = function(world, session, election)
      world:plan(session, "lose_reply", { kind = "delete", nth = 1, down = 4 })
      fails("connection_loss", election:update_rank(90))
    end,
    ["because its task is canceled"] = function(world, session, election)
      world:plan(session, "delay", { kind = "delete", nth = 1, seconds = 0.5 })
      local update = world.zk.spawn(function() return election:update_rank(90) end)
      world:advance(0.1)
      update:cancel()
    end,
  } do
    it(what .. ": the candidate takes its new seat all the same, and leads next", within(function(world)
      local leader, session, other = world:session(), world:session { request_timeout = 1 }, world:session()
      local term = assert(leader:election("/e", { value = "first", rank = 100 }):campaign(5))
      local mine = session:election("/e", { value = "mine", rank = 1 })
      local led = line_up(world, { mine, other:election("/e", { value = "other", rank = 10 }) })
      end_it(world, session, mine)
      world:advance(6)
      term:resign()
      world:advance(3)
      assert.are.same({ "mine", "other" }, led)
    end))
  end

  it("leaves no candidate behind: two of one handle get the new rank", within(function(world)
    local leader, session, other = world:session(), world:session { request_timeout = 1 }, world:session()
    local term = assert(leader:election("/e", { value = "first", rank = 100 }):campaign(5))
    local mine = session:election("/e", { value = "mine", rank = 50 })
    local led = line_up(world, { mine, mine, other:election("/e", { value = "other", rank = 10 }) })
    world:plan(session, "lose_request", { kind = "delete", nth = 2, down = 4 })
    fails("connection_loss", mine:update_rank(5))
    world:advance(6)
    local ranks = {}
    for _, one in ipairs(assert(mine:candidates())) do ranks[#ranks + 1] = one.rank end
    table.sort(ranks)
    assert.are.same({ 5, 5, 10, 100 }, ranks)
    term:resign()
    world:advance(3)
    assert.are.same({ "other", "mine", "mine" }, led)
  end))
end)

describe("update_rank", function()
  it("of a candidate that is just being elected: its term writes the new rank", within(function(world)
    local session = world:session()
    assert(session:create("/e", ""))
    local mine, term = session:election("/e", { value = "mine", rank = 1 }), nil
    world:plan(session, "delay", { kind = "multi", nth = 1, seconds = 0.5 })
    world.zk.spawn(function() term = mine:campaign(60) end)
    world:advance(0.2)
    assert.is_nil(term)
    assert.is_true(mine:update_rank(90))
    world:advance(1)
    assert.are.equal("90\nmine", world:get(term.path))
    term:resign()
  end))

  it("returns when all candidates of the handle stand with the new rank, and the last call counts", within(function(world)
    local leader, session = world:session(), world:session()
    local term = assert(leader:election("/e", { value = "first", rank = 100 }):campaign(5))
    local mine = session:election("/e", { value = "mine", rank = 50 })
    line_up(world, { mine, mine, mine })
    local first = world.zk.spawn(function() return mine:update_rank(5) end)
    world.zk.sleep(0)
    assert.is_true(mine:update_rank(-7))
    assert.is_true(first:wait())
    local ranks = {}
    for i, one in ipairs(assert(mine:candidates())) do ranks[i] = one.rank end
    assert.are.same({ 100, -7, -7, -7 }, ranks)
    mine:cancel()
    term:resign()
  end))

  it("while no candidate leads: the new rank decides as soon as the candidate stands again", within(function(world)
    local low, high, third = world:session(), world:session(), world:session()
    local one = low:election("/e", { value = "low", rank = 1, quorum = 3 })
    local led = line_up(world, { one, high:election("/e", { value = "high", rank = 2, quorum = 3 }) })
    assert.is_true(one:update_rank(3))
    third:election("/e", { value = "third", rank = 0, quorum = 3 }):campaign(1)
    assert.are.equal("low", led[1])
  end))
end)

describe("a leader by rank whose znode is deleted from outside", function()
  it("is followed by a candidate of its own session, too", within(function(world)
    local session, other = world:session(), world:session()
    local term = assert(session:election("/e", { value = "first", rank = 100 }):campaign(5))
    local led = line_up(world, {
      session:election("/e", { value = "own", rank = 60 }), other:election("/e", { value = "other", rank = 10 }),
    })
    assert(other:delete(term.path))
    world:advance(3)
    assert.are.same({ "own", "other" }, led)
    fails("lost", term:proclaim("x"))
    assert.is_false(term:valid())
  end))
end)

describe("term:resign(successor), by rank, that ends before its answer", function()
  -- body(world, leader, low, term, heir): ends such a call; heir is the candidate of the session `low`.
  local function named(body)
    return within(function(world)
      local leader, low, high = world:session(), world:session(), world:session()
      local term = assert(leader:election("/e", { value = "first", rank = 100 }):campaign(5))
      local election = low:election("/e", { value = "low", rank = 10 })
      local led = line_up(world, { election, high:election("/e", { value = "high", rank = 50 }) })
      body(world, leader, low, term, assert(election:candidates()[2]))
      assert.is_true(term:valid())
      assert.are.equal("-", world:get("/e"):match "^%S+ (%S+)")
      term:resign()
      world:advance(3)
      assert.are.same({ "high", "low" }, led)
    end)
  end

  it("removes the name, although the connection breaks again after the sync", named(function(world, leader, _, term, heir)
    world:plan(leader, "lose_reply", { kind = "multi", nth = 1, down = 3 })
    world:plan(leader, "lose_request", { kind = "get", nth = 2, down = 0 })
    fails("connection_loss", term:resign(heir, 1))
    world:advance(10)
    assert.are.equal(0, world:planned(leader))
  end))

  it("removes the name, although the directory cannot be read for a while", named(function(world, leader, low, term, heir)
    world:plan(leader, "lose_reply", { kind = "multi", nth = 1, down = 3 })
    fails("connection_loss", term:resign(heir, 1))
    assert.are_not.equal("-", world:get("/e"):match "^%S+ (%S+)")
    assert(low:set_acl("/e", { { scheme = "world", id = "anyone", perms = "cdwa" } }))
    world:advance(6)
    assert(low:set_acl("/e", { { scheme = "world", id = "anyone", perms = "cdrwa" } }))
    world:advance(1)
  end))

  it("removes the name, or has resigned, whichever allocation fails", within(function(world)
    local leader, low = world:session(), world:session()
    local low_election = low:election("/e", { value = "low", rank = 10 })
    local n, reached, told = 0, true, 0
    while reached do
      n = n + 1
      local term = assert(leader:election("/e", { value = "first", rank = 100 }):campaign(5))
      local wait = world.zk.spawn(function() return low_election:campaign(60) end)
      world:advance(0.5)
      local heir = assert(low_election:candidates()[2])
      core.alloc_fail(n)
      local done, message, code = term:resign(heir, 5)
      reached = core.alloc_failed()
      core.alloc_fail(0)
      world:advance(1)
      if not done and term:valid() then
        told = told + 1
        local data = world:get "/e"
        assert.is_true(code == "no_memory" or code == "connection_loss", message)
        assert.is_truthy(not data:find(" ", 1, true) or data:match "^%S+ (%S+)" == "-", ("allocation %d, %s: %s"):format(n, code, data))
      end
      term:resign()
      local next_term = wait:wait(30)
      if next_term then next_term:resign() end
      world:advance(1)
    end
    assert.is_true(told > 3, told)
  end))
end)

describe("a candidate by rank that is not ephemeral", function()
  it("is in the way of those with a lower rank: their campaigns fail with a clear message", within(function(world)
    local session = world:session()
    local copy = "f4a1658eec670009-1-5-rank-0000000007"
    assert(session:create("/e", ""))
    assert(session:create("/e/" .. copy))
    assert(session:election("/e", { rank = 6 }):campaign(10)):resign()
    local from = world.zk.now()
    local _, message, code = session:election("/e", { rank = 4 }):campaign(10)
    assert.are.equal("conflict", code)
    assert.is_truthy(message:find(copy, 1, true))
    assert.is_true(world.zk.now() - from < 2)
    assert(session:delete("/e/" .. copy))
    assert(session:election("/e", { rank = 4 }):campaign(10)):resign()
  end))
end)

describe("a directory that names a znode that is not ephemeral", function()
  it("makes every campaign and every try fail with a clear message; no candidate leads", within(function(world)
    local session = world:session()
    local name = "f4a1658eec670009-1-5-rank-0000000007"
    assert(session:create("/e", name))
    assert(session:create("/e/" .. name))
    local election = session:election("/e", { rank = 10 })
    for limit = 0, 10, 10 do
      local _, message, code = election:campaign(limit)
      assert.are.equal("conflict", code)
      assert.is_truthy(message:find(name, 1, true))
    end
    local leader, message = election:leader()
    assert.is_nil(leader or message)
    assert(session:delete("/e/" .. name))
    assert(election:campaign(0)):resign()
  end))
end)
