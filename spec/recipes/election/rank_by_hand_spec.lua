-- Elections by rank whose directory another client writes: by hand, or by a tool that restores a dump.
-- Tags: sanitize, one thread

local core = require "zkrecipes.core"
local env = require "spec.support.env"
local ranked = require "spec.support.ranked"
local fails, within = env.fails, ranked.within

-- body(world, one): `one` leads, and another candidate, of a higher rank, waits; one.other() waits for its term.
local function led(body)
  return within(function(world)
    local one = { session = world:session(), hand = world:session() }
    one.election = one.session:election("/e", { value = "first", rank = 3 })
    one.term = assert(one.election:campaign(5))
    one.next_election = world:session():election("/e", { value = "next", rank = 5 })
    local wait = world.zk.spawn(function() return one.next_election:campaign(600) end)
    function one.other() return assert(wait:wait(60)) end
    assert(one.hand:create("/x", ""))
    world:advance(1)
    body(world, one)
  end)
end

local function set(one, data) return assert(one.hand:set("/e", data)) end

describe("a leader by rank whose directory is written by hand", function()
  for what, data in pairs { ["nothing"] = "", ["no name"] = "a note", ["a name that is gone"] = "00000000000000ab-1-99-rank-0000000005" } do
    it("loses its term at once, and leaves: " .. what, led(function(world, one)
      set(one, data)
      world:advance(1)
      assert.is_false(one.term:valid())
      assert.are.equal("lost", one.term:lost(0))
      local other = one.other()
      assert.is_true(other:valid())
      assert.is_true(other.token > one.term.token)
      world:advance(1)
      assert.is_nil(world:get(one.term.path))
      assert.are.equal("next", one.election:leader().value)
      assert(other:set("/x", "next"))
      fails("lost", one.term:set("/x", "first"))
      other:resign()
    end))
  end

  it("loses its term to the candidate that is named", led(function(world, one)
    local name
    for _, child in ipairs(world:children "/e") do name = one.term.path:find(child, 1, true) and name or child end
    set(one, name)
    assert.is_true(one.other():valid())
    world:advance(1)
    assert.is_false(one.term:valid())
  end))

  it("goes on if the data name it still, and its guarded writes are done", led(function(world, one)
    set(one, (world:get "/e"))
    local before = world:requests(one.session, "multi")
    assert(one.term:set("/x", "first"))
    assert.is_true(world:requests(one.session, "multi") - before >= 1)
    set(one, (world:get "/e"))
    world:advance(1)
    assert.is_true(one.term:valid())
    before = world:requests(one.session)
    assert.are.equal(2, #assert(one.term:multi { { "set", "/x", "a" }, { "create", "/y" } }))
    assert.are.equal(1, world:requests(one.session) - before) -- it has read the version already
    one.term:resign()
    one.other():resign()
  end))

  it("cannot write under its term, though it does not know of it yet", led(function(world, one)
    for _, kind in ipairs { "get", "children" } do world:plan(one.session, "delay", { kind = kind, nth = 1, seconds = 5 }) end
    set(one, "")
    local other = one.other()
    for _, write in ipairs {
      function() return one.term:set("/x", "first") end,
      function() return one.term:create("/z", "first") end,
      function() return one.term:delete("/x") end,
    } do
      fails("lost", write())
    end
    assert.are.equal("", world:get "/x")
    assert.is_nil(world:get "/z")
    assert(other:set("/x", "next"))
    assert.is_false(one.term:valid())
    world:advance(10)
    assert.is_nil(world:get(one.term.path))
    other:resign()
  end))

  it("does not name itself again when it resigns to a successor", led(function(world, one)
    local third = world:session():election("/e", { value = "third", rank = 1 })
    world.zk.spawn(function() third:campaign(600) end)
    world:advance(1)
    local heir
    for _, candidate in ipairs(assert(one.election:candidates())) do heir = candidate.value == "third" and candidate or heir end
    world:plan(one.session, "delay", { kind = "multi", nth = 1, seconds = 2 })
    local resign = world.zk.spawn(function() return one.term:resign(heir, 20) end)
    world:advance(0.5)
    set(one, "")
    local other = one.other()
    local name = world:get "/e"
    fails("lost", resign:wait(30))
    assert.are.equal(name, world:get "/e")
    assert.is_false(one.term:valid())
    assert.is_true(other:valid())
    other:resign()
  end))

  it("notices it after a resign(successor) that failed, too", led(function(world, one)
    local heir = one.election:candidates()[2]
    assert.are_not.equal(one.term.path, heir.path)
    one.next_election:cancel()
    world:advance(1)
    fails("no_node", one.term:resign(heir, 5))
    world:advance(1)
    assert.is_true(one.term:valid())
    set(one, "")
    world:advance(1)
    assert.is_false(one.term:valid())
    assert.is_nil(world:get(one.term.path))
  end))

  it("loses its term, and leaves, whichever allocation fails", within(function(world)
    local session, hand = world:session(), world:session()
    local n, reached = 0, true
    while reached do
      n = n + 1
      local term = assert(session:election("/e", { rank = 2 }):campaign(5))
      assert(hand:create("/x" .. n, ""))
      world:advance(0.5)
      assert(hand:set("/e", ""))
      core.alloc_fail(n)
      local done, message, code = term:set("/x" .. n, "mine")
      reached = core.alloc_failed()
      core.alloc_fail(0)
      assert.is_true(not done and (code == "lost" or code == "no_memory"), message)
      assert.are.equal("", world:get("/x" .. n))
      fails("lost", term:set("/x" .. n, "mine"))
      world:advance(2)
      assert.are.equal(0, #world:children "/e")
    end
    assert.is_true(n > 3, n)
  end))
end)
