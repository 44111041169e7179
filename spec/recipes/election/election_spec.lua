-- Elections on a real server: the order of candidates, terms, the leader. budget_spec.lua counts requests, lead_spec.lua tests functions
-- that run while a process leads, spec/faults has the faults.
-- Tags: sanitize

local collect = require "spec.support.collect"
local zk = require "zkrecipes"
local env = require "spec.support.env"
local run, fails = env.run, env.fails

describe("an election", function()
  it("has one leader at a time, in the order of the candidates", run(function()
    local namespace, order, leading, waits = env.namespace(), {}, 0, {}
    local watcher = env.session { namespace = namespace }
    for i = 1, 5 do
      local session = env.session { namespace = namespace }
      waits[i] = env.start(function()
        local term = assert(session:election("/e", { value = "n" .. i }):campaign())
        leading = leading + 1
        assert.are.equal(1, leading)
        assert.is_true(term:valid())
        order[#order + 1] = i
        zk.sleep(0.005)
        leading = leading - 1
        term:resign()
        assert.is_false(term:valid())
        assert.is_true(term:resign()) -- idempotent
      end)
      env.eventually("candidate " .. i, function() return #(watcher:children("/e") or {}) == i or #order >= i end)
    end
    for i = 1, 5 do waits[i]() end
    assert.are.same({ 1, 2, 3, 4, 5 }, order)
    env.queue_of(watcher, "/e", 0)
  end))

  it("does not let the third candidate lead when the second dies and the first still leads", run(function()
    local namespace = env.namespace()
    local first, middle, third = env.session { namespace = namespace }, env.session { namespace = namespace },
      env.session { namespace = namespace }
    local term = assert(first:election("/e", { value = "first" }):campaign())
    local dies = env.start(function() return middle:election("/e", { value = "middle" }):campaign() end)
    env.queue_of(first, "/e", 2)
    local led = false
    local leads = env.start(function()
      local mine = assert(third:election("/e", { value = "third" }):campaign())
      led = true
      return mine
    end)
    env.queue_of(first, "/e", 3)
    middle:close()
    fails("closed", dies())
    env.queue_of(first, "/e", 2)
    -- The third candidate was woken and has listed again: it watches the first one now.
    env.eventually("the third looked again", function()
      local all = third:election("/e"):candidates()
      return #all == 2 and all[1].value == "first" and all[1].leading and not all[2].leading
    end)
    assert(third:sync("/e"))
    assert.is_false(led)
    assert.is_true(term:valid())
    assert.are.equal("first", first:election("/e"):leader().value)
    first:close() -- the first one dies
    local mine = assert(leads())
    assert.is_true(mine.token > term.token)
    assert.are.equal("third", third:election("/e"):leader().value)
    mine:resign()
  end))

  it("tries, times out, is canceled, and leaves nothing", run(function()
    local session = env.session()
    local election, other = session:election("/e"), session:election("/e")
    local term = assert(election:campaign(0))
    assert.matches("election:campaign /e: .*held", fails("timeout", other:campaign(0)))
    env.late(other:campaign(0.02))
    local wait = env.start(function() return fails("canceled", other:campaign()) end)
    env.queue_of(session, "/e", 2)
    assert.are.equal(1, #other:attempts())
    assert.are.equal(1, other:cancel())
    wait()
    env.queue_of(session, "/e", 1)
    term:resign()
    env.queue_of(session, "/e", 0)
  end))

  it("shares its queue with Curator's LeaderLatch", run(function()
    local session = env.session()
    local election = session:election("/e", { value = "lua" })
    local options = { parents = true, ephemeral = true, sequential = true }
    local path = assert(session:create("/e/_c_5a9a1a7c-latch-", "java", options))
    fails("timeout", election:campaign(0))
    assert.are.equal("java", election:leader().value)
    local wait = env.start(function() return election:campaign(200) end)
    env.queue_of(session, "/e", 2)
    assert(session:delete(path))
    local term = assert(wait())
    assert.matches("/e/%x+%-%d+%-latch%-%d+$", term.path)
    assert.are.equal("lua", (session:get(term.path))) -- what Curator shows as the participant's id
    term:resign()
  end))

  it("lists the candidates in order", run(function()
    local session = env.session()
    local term = assert(session:election("/e", { value = "a\0b" }):campaign())
    local wait = env.start(function() return session:election("/e"):campaign(200) end)
    env.queue_of(session, "/e", 2)
    assert(term:ready())
    local all = assert(session:election("/e"):candidates())
    assert.are.same({ "a\0b", true, true, term.token }, { all[1].value, all[1].leading, all[1].ready, all[1].token })
    assert.are.same({ "", false, false, session.id }, { all[2].value, all[2].leading, all[2].ready, all[2].session })
    term:resign()
    assert(wait()):resign()
    assert.are.same({}, assert(session:election("/nobody"):candidates()))
  end))

  it("refuses values that it cannot show", run(function()
    local session = env.session()
    assert.has_error(function() session:election("/e", { value = 7 }) end)
    assert.has_error(function() session:election("/e", { valeu = "x" }) end)
    assert.error_matches(function() session.election(session, "/e").lead(session, print) end, "calling 'lead' on a bad self")
    local term = assert(session:election("/e"):campaign())
    assert.error_matches(function() term.proclaim("x") end, "calling 'proclaim' on a bad self")
    assert.error_matches(function() term:proclaim(nil) end, "string expected, got nil")
    fails("too_large", session:election("/f", { value = ("x"):rep(1100000) }):campaign())
    fails("too_large", term:proclaim(("x"):rep(1100000)))
    assert(term:ready())
    assert.equal("", assert(session:election("/e"):leader()).value)
    assert.is_true(term:valid())
    term:resign()
  end))
end)

describe("a term", function()
  it("proclaims a value and readiness", run(function()
    local session = env.session()
    local election = session:election("/e", { value = "old" })
    local term = assert(election:campaign())
    local function seen()
      local leader = assert(election:leader())
      assert.are.equal(term.token, leader.token)
      return { leader.value, leader.ready }
    end
    assert.are.same({ "old", false }, seen())
    assert.is_true(term:proclaim("new"))
    assert.are.same({ "new", false }, seen())
    assert.is_true(term:ready())
    assert.are.same({ "new", true }, seen())
    assert.is_true(term:proclaim(""))
    assert.are.same({ "", true }, seen())
    assert.are.equal("old", election.value)
    term:resign()
    term = assert(election:campaign())
    assert.are.same({ "old", false }, seen())
    term:resign()
    assert.error_matches(function() term:proclaim("late") end, "bad call of 'proclaim' %(the term was resigned")
    assert.error_matches(function() term:ready() end, "bad call of 'ready' %(the term was resigned")
  end))

  it("can proclaim nothing after it is lost", run(function()
    local session = env.session()
    local term = assert(session:election("/e"):campaign())
    assert(session:delete(term.path)) -- like an operator
    fails("lost", term:proclaim("x"))
    fails("lost", term:ready())
    assert.is_false(term:valid())
  end))

  it("has a sleep that ends with the term", run(function()
    local session = env.session()
    local election = session:election("/e")
    local term = assert(election:campaign())
    local from = zk.now()
    assert.is_true(term:sleep(0.02))
    assert.is_true(zk.now() - from >= 0.02)
    assert.is_true(term:sleep(0))
    local wait = env.start(function() return fails("lost", term:sleep(60)) end)
    term:resign()
    assert.matches("term:sleep /e/.*: the term is over", wait())
    fails("lost", term:sleep(60))
    term = assert(election:campaign())
    wait = env.start(function() fails("lost", term:sleep(60)) end)
    env.eventually("its node is watched", function() return term:valid() end)
    assert(session:delete(term.path))
    wait()
    term = assert(election:campaign())
    wait = env.start(function() fails("lost", term:sleep(60)) end)
    zk.sleep(0)
    session:close()
    wait()
    assert.has_error(function() term:sleep(-1) end)
  end))

  it("guards its writes, reports its loss, and ends when it is collected", run(function()
    local session = env.session()
    local election = session:election("/e")
    local term, why = assert(election:campaign()), nil
    assert.are.equal("/a", (assert(term:create("/a", "1"))))
    assert.are.equal(1, assert(term:set("/a", "2")).version)
    assert(term:multi { { "set", "/a", "3" } })
    assert(term:delete("/a"))
    term:on_lost(function(_, word) why = word end)
    assert(session:delete(term.path))
    env.eventually("on_lost", function() return why == "lost" end)
    fails("lost", term:create("/b"))
    assert.is_false(session:exists("/b"))
    do assert(election:campaign()) end
    term = nil -- luacheck: ignore 311
    collect(2)
    assert(election:campaign(200)):resign()
  end))
end)

describe("the leader", function()
  it("is nil, or the first in the queue, ready or not", run(function()
    local session, other = env.session(), env.session { namespace = env.namespace() }
    local election = session:election("/e", { value = "me" })
    assert.are.same({ n = 1 }, table.pack and table.pack(election:leader()) or { n = 1 })
    assert(session:create("/e", nil, { parents = true }))
    assert.is_nil(election:leader())
    local term = assert(election:campaign())
    local leader = assert(election:leader())
    assert.are.same({ "me", false, term.token, session.id }, { leader.value, leader.ready, leader.token, leader.session })
    assert.is_true(math.abs(leader.since - os.time()) < 600)
    term:resign()
    env.eventually("no leader", function() return election:leader() == nil end)
    other:close()
    session:close()
    fails("closed", election:leader())
  end))

  it("is never a leader that was already replaced, while leaders change", run(function()
    local namespace, over = env.namespace(), {}
    local reader = env.session { namespace = namespace }
    local election, done, reads = reader:election("/e"), 0, 0
    for i = 1, 3 do
      local mine = env.session { namespace = namespace }
      env.start(function()
        for _ = 1, 30 do
          local term = assert(mine:election("/e", { value = tostring(i) }):campaign(300))
          assert(mine:delete(term.path)) -- the znode is certainly gone when the next line runs
          over[term.token] = true
          term:resign()
        end
        done = done + 1
      end)
    end
    local last = ""
    while done < 3 do
      local gone = {}
      for token in pairs(over) do gone[token] = true end
      local leader = election:leader()
      if leader then
        assert.is_nil(gone[leader.token])
        assert.is_true(leader.token >= last)
        last, reads = leader.token, reads + 1
      end
    end
    assert.is_true(reads > 0)
  end))
end)

-- Observes an election in a task. Returns the list of what it saw: each leader's value, or false if there was no leader.
local function observer(election)
  local seen = {}
  local wait = env.start(function()
    local last = ""
    for leader in election:observe() do
      if leader then
        assert.is_true(leader.token >= last)
        last = leader.token
      end
      seen[#seen + 1] = leader and (leader.value .. (leader.ready and "!" or ""))
    end
  end)
  local function expect(...)
    local wanted = { ... }
    env.eventually("observed " .. tostring(wanted[#wanted]), function() return #seen >= #wanted end)
    assert.are.same(wanted, seen)
  end
  return expect, wait, seen
end

describe("observers", function()
  it("see the present leader and every change, in order", run(function()
    local namespace = env.namespace()
    local session, other = env.session { namespace = namespace }, env.session { namespace = namespace }
    local expect, wait = observer(session:election("/e"))
    expect(false)
    local one = assert(other:election("/e", { value = "one" }):campaign())
    expect(false, "one")
    assert(one:ready())
    expect(false, "one", "one!")
    assert(one:proclaim("uno"))
    expect(false, "one", "one!", "uno!")
    local late = observer(session:election("/e"))
    late("uno!")
    local follows = env.start(function() return other:election("/e", { value = "two" }):campaign(200) end)
    env.queue_of(other, "/e", 2)
    one:resign()
    local two = assert(follows())
    expect(false, "one", "one!", "uno!", "two")
    late("uno!", "two") -- a slow observer would see only later values
    two:resign()
    expect(false, "one", "one!", "uno!", "two", false)
    late("uno!", "two", false)
    assert(session:delete("/e"))
    local again = assert(other:election("/e", { value = "again" }):campaign(200))
    expect(false, "one", "one!", "uno!", "two", false, "again")
    assert.is_true(again:valid())
    session:close()
    wait()
  end))

  it("that were busy see the latest leader, and never an older one after it", run(function()
    local session = env.session()
    local election = session:election("/e")
    local step = election:observe()
    assert.is_false(step())
    for i = 1, 3 do assert(session:election("/e", { value = tostring(i) }):campaign()):resign() end
    local term = assert(session:election("/e", { value = "last" }):campaign())
    assert.are.equal("last", step().value)
    term:resign()
    assert.is_false(step())
  end))

  it("that break out of the loop leave nothing behind", function() env.alone "observe" end)

  it("without the right to read get an error from next_leader; a loop just ends", run(function()
    local namespace = env.namespace()
    local owner = env.session { namespace = namespace, acl = "creator",
      auth = { { scheme = "digest", credential = "ann:secret" } } }
    local term = assert(owner:election("/e"):campaign())
    local election = env.session { namespace = namespace }:election("/e")
    fails("no_auth", election:next_leader(0))
    assert.is_nil(election:observe()())
    assert.is_true(term:valid())
  end))

  it("can take single steps", run(function()
    local session = env.session()
    local election = session:election("/e", { value = "x" })
    local leader, seen = election:next_leader(0)
    assert.is_false(leader)
    local wait = env.start(function() return election:next_leader(seen) end)
    local term = assert(election:campaign())
    leader, seen = wait()
    assert.are.same({ "x", term.token, 2 }, { leader.value, leader.token, seen })
    wait = env.start(function() return fails("closed", election:next_leader(seen)) end)
    zk.sleep(0)
    session:close()
    wait()
  end))
end)
