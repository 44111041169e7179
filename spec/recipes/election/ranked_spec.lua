-- Elections by rank on a real server.
-- Tags: sanitize

local zk = require "zkrecipes"
local sim = require "zkrecipes.sim"
local testing = require "zkrecipes.testing"
local env = require "spec.support.env"
local run, fails = env.run, env.fails

local function candidate(namespace, value, rank, quorum)
  local session = env.session { namespace = namespace }
  local election = session:election("/r", { value = value, rank = rank, quorum = quorum })
  local one = { session = session, election = election }
  one.wait = env.start(function()
    local message, code
    one.term, message, code = election:campaign()
    one.done = true
    return one.term, message, code
  end)
  env.eventually(value .. " stands", function()
    for _, other in ipairs(election:candidates() or {}) do
      if other.value == value then return true end
    end
    return one.done
  end)
  return one
end

describe("a campaign by rank that may not read the leader's znode", function()
  it("fails at once with a clear message", function()
    local world = sim.new { seed = 1, servers = 1, jitter = 0 }
    world:run(function()
      local mine = { auth = { { scheme = "digest", credential = "a:b" } }, acl = "creator" }
      local leader, other = world:session(mine), world:session()
      assert(other:create("/r", ""))
      local term = assert(leader:election("/r", { rank = 9 }):campaign(20))
      local election, from, before = other:election("/r", { rank = 1 }), world.zk.now(), world:requests(other)
      fails("no_auth", election:campaign(10))
      assert.is_true(world.zk.now() - from < 1)
      assert.is_true(world:requests(other) - before < 20)
      assert.is_true(term:valid())
      term:resign() -- the rank of a waiting candidate is in its name, which any session may list
      local wait = world.zk.spawn(function() return leader:election("/r", { rank = 9, quorum = 2 }):campaign(20) end)
      world:advance(1)
      local follows = world.zk.spawn(function() return election:campaign(20) end)
      term = assert(wait:wait(30))
      fails("no_auth", follows:wait(30))
      term:resign()
    end)
  end)
end)

describe("an election by rank", function()
  it("waits for its quorum; then the highest rank leads, or the first of equal ranks", run(function()
    local namespace = env.namespace()
    local a = candidate(namespace, "a", 5, 3)
    local b = candidate(namespace, "b", 7, 3)
    assert.is_nil(a.election:leader())
    assert.is_nil(a.done or b.done)
    local c = candidate(namespace, "c", 7, 3)
    local term = assert(b.wait())
    assert.is_true(term:valid())
    assert.is_nil(a.done or c.done)
    local leader = assert(c.election:leader())
    assert.are.same({ "b", 7, false, term.token }, { leader.value, leader.rank, leader.ready, leader.token })
    assert(term:proclaim("bee"))
    assert(term:ready())
    leader = assert(a.election:leader())
    assert.are.same({ "bee", 7, true, term.token }, { leader.value, leader.rank, leader.ready, leader.token })
    local ranks = {}
    for i, one in ipairs(assert(a.election:candidates())) do ranks[i] = one.rank end
    assert.are.same({ 5, 7, 7 }, ranks)
    -- A candidate with a higher rank that comes later waits like the others.
    local d = candidate(namespace, "d", 99, 3)
    assert.is_nil(d.done)
    assert.is_true(term:valid())
    term:resign()
    local next_term = assert(d.wait())
    assert.is_true(next_term.token > term.token)
    -- Two candidates are left: none leads, until a third one comes.
    next_term:resign()
    env.eventually("no leader", function() return a.election:leader() == nil end)
    assert.is_nil(a.done or c.done)
    local e = candidate(namespace, "e", 1, 3)
    assert.is_true(assert(c.wait()).token > next_term.token)
    assert.is_nil(a.done or e.done)
    e.election:cancel()
    e.wait()
    b.session:close()
    c.session:close()
    env.eventually("no leader", function() return a.election:leader() == nil end)
    assert.is_nil(a.done)
    assert.are.equal(1, a.election:cancel())
    fails("canceled", a.wait())
    env.queue_of(a.session, "/r", 0)
  end))

  it("elects again among the remaining candidates by their present ranks", run(function()
    local namespace = env.namespace()
    local a = candidate(namespace, "a", 3)
    local term = assert(a.wait())
    local b, c = candidate(namespace, "b", 1), candidate(namespace, "c", 2)
    assert.is_true(b.election:update_rank(10))
    assert(testing.expire(env.server(), a.session.id))
    local mine = assert(b.wait())
    assert.is_true(mine.token > term.token)
    env.eventually("the first knows", function() return not term:valid() end)
    assert.are.equal("b", c.election:leader().value)
    assert.are.equal(10, c.election:leader().rank)
    mine:resign()
    assert(c.wait()):resign()
  end))

  it("uses a rank that changes while there is no leader", run(function()
    local namespace = env.namespace()
    local a = candidate(namespace, "a", 1, 3)
    local b = candidate(namespace, "b", 2, 3)
    assert(a.election:update_rank(5))
    assert(b.election:update_rank(4))
    local c = candidate(namespace, "c", 0, 3)
    assert(a.wait())
    assert.is_nil(b.done or c.done)
    a.session:close()
    b.session:close()
    c.election:cancel()
    c.wait()
  end))

  it("tries, times out, leaves nothing, refuses values that are no rank", run(function()
    local session = env.session()
    local alone = session:election("/r", { rank = 1, quorum = 2 })
    fails("timeout", alone:campaign(0))
    env.late(alone:campaign(0.05))
    env.queue_of(session, "/r", 0)
    local election = session:election("/r", { rank = 1 })
    local term = assert(election:campaign(0))
    fails("timeout", election:campaign(0))
    env.late(election:campaign(0.05))
    term:resign()
    env.queue_of(session, "/r", 0)
    for _, options in ipairs { { rank = 1.5 }, { rank = "1" }, { rank = 2 ^ 60 }, { quorum = 2 }, { rank = 1, quorum = 0 } } do
      assert.has_error(function() session:election("/r", options) end)
    end
    assert.has_error(function() session:election("/f"):update_rank(1) end)
    for _, seen in ipairs { "x", 1.5, 0 / 0, {} } do
      env.raises("bad argument #1 to 'next_leader' %(integer expected", function()
        session:election("/f", { rank = 1 }):next_leader(seen)
      end)
    end
    session:close()
    fails("closed", election:campaign())
    fails("closed", election:campaign(0))
  end))

  it("lets a leader name its successor", run(function()
    local namespace = env.namespace()
    local a = candidate(namespace, "a", 0)
    local term = assert(a.wait())
    local b, c = candidate(namespace, "b", 9), candidate(namespace, "c", 0)
    local all = assert(a.election:candidates())
    assert.are.equal("c", all[3].value)
    assert.is_true(all[1].leading)
    assert.is_false(all[2].leading or all[3].leading)
    assert.is_true(term:resign(all[3]))
    assert.is_false(term:valid())
    local mine = assert(c.wait())
    assert.is_true(mine.token > term.token)
    assert.are.equal("c", b.election:leader().value)
    assert.is_nil(b.done)
    all = assert(a.election:candidates())
    assert.are.equal("b", all[1].value)
    assert.is_true(all[2].leading)
    assert.is_false(all[1].leading)
    -- A successor that has withdrawn before the call; and one that withdraws before the leader goes.
    local e = candidate(namespace, "e", 99)
    local gone = b.election:candidates()[3]
    e.election:cancel()
    e.wait()
    env.queue_of(b.session, "/r", 2)
    assert.matches("the successor is no longer a candidate", fails("no_node", mine:resign(gone)))
    assert.is_true(mine:valid())
    assert.are.equal(mine.token, b.election:leader().token)
    -- the answer is lost
    local proxy = env.proxy()
    local session = env.session { hosts = proxy.hosts, timeout = 100, namespace = namespace }
    local waits = env.start(function() return session:election("/r", { rank = 0, value = "d" }):campaign() end)
    env.queue_of(session, "/r", 3)
    assert.is_true(mine:resign(b.election:candidates()[3]))
    local last = assert(waits())
    proxy:drop_reply("multi", 1)
    assert.is_true(last:resign(b.election:candidates()[1]))
    assert.are.equal(1, proxy:fired())
    assert.is_true(assert(b.wait()).token > last.token)
    fails("lost", last:resign(b.election:candidates()[1]))
    assert.error_matches(function() b.term:resign("b") end, "candidate expected, got string")
    session:close()
  end))

  it("creates a candidate's znode again if another client deletes it", run(function()
    local namespace = env.namespace()
    local a = candidate(namespace, "a", 1)
    local term = assert(a.wait())
    local b = candidate(namespace, "b", 2)
    assert(a.session:delete(a.election:candidates()[2].path))
    term:resign()
    local mine = assert(b.wait())
    assert.is_true(mine.token > term.token)
    assert(mine:create("/x", "guarded"))
    mine:resign()
  end))

  it("does not wait forever for a znode that is not ephemeral", run(function()
    local session = env.session()
    local seat = "/r/0000000000000001-1--3-rank-0000000000"
    assert(session:create("/r", seat:match "[^/]+$"))
    assert(session:create(seat, "1\nx"))
    local election = session:election("/r", { rank = 1 })
    assert.is_nil(election:leader())
    assert.matches(seat, fails("conflict", election:campaign(200)), 1, true)
    assert(session:delete(seat))
    assert(election:campaign(200)):resign()
  end))

  it("refuses to name a successor whose name could not be read again", run(function()
    local session = env.session()
    local term = assert(session:election("/r", { rank = 1 }):campaign())
    for _, name in ipairs { "a b", "", ("x"):rep(100) } do
      if name ~= "" then assert(session:create("/r/" .. name, "")) end
      fails("no_node", term:resign { path = "/r/" .. name, token = "0" })
      assert.is_true(term:valid())
      assert.are.equal(term.token, session:election("/r", { rank = 1 }):leader().token)
    end
    term:resign()
  end))

  it("can be observed, and runs a function on the leader", run(function()
    local namespace, seen = env.namespace(), {}
    local session = env.session { namespace = namespace }
    local wait = env.start(function()
      for leader in session:election("/r", { rank = 0 }):observe() do
        seen[#seen + 1] = leader and (leader.value .. (leader.ready and "!" or ""))
      end
    end)
    env.eventually("no leader", function() return #seen == 1 end)
    local other = env.session { namespace = namespace }
    local election, go = other:election("/r", { rank = 1, value = "x" }), false
    local leads = env.start(function()
      election:lead(function(term)
        env.eventually("go", function() return go end)
        term:ready()
        term:sleep(60)
      end)
    end)
    env.eventually("x", function() return seen[2] == "x" end)
    go = true
    env.eventually("x!", function() return seen[3] == "x!" end)
    election:stop()
    leads()
    env.eventually("no leader", function() return seen[4] == false end)
    assert.are.same({ false, "x", "x!", false }, seen)
    session:close()
    wait()
  end))

  it("has one leader if the deciding answer is lost", run(function()
    for _, fault in ipairs { "drop_reply", "drop_request" } do
      local proxy = env.proxy()
      local session = env.session { hosts = proxy.hosts, timeout = 100 }
      local election = session:election("/r", { rank = 1 })
      assert(session:connected(200))
      proxy[fault](proxy, "multi", 1)
      local term = assert(election:campaign(200))
      assert.are.equal(1, proxy:fired())
      assert.are.equal(term.token, election:leader().token)
      assert.are.equal(1, #session:children("/r"))
      assert(term:create("/x", "guarded"))
      term:resign()
      session:close()
    end
  end))

  it("never has two leaders while candidates join, leave and die", run(function()
    local namespace, leading, last, terms = env.namespace(), {}, "", 0
    local waits = {}
    for i = 1, 5 do
      waits[i] = env.start(function()
        local session = env.session { namespace = namespace }
        while terms < 50 do
          local election = session:election("/r", { rank = math.random(3), quorum = math.random(2), value = tostring(i) })
          local term = election:campaign(math.random() * 0.3)
          if term and term:valid() then
            for other in pairs(leading) do assert.is_false(other:valid()) end
            assert.is_true(term.token > last)
            leading[term], last, terms = true, term.token, terms + 1
            zk.sleep(math.random() * 0.01)
            local die = math.random(4)
            leading[term] = nil
            if die == 1 then
              session:close()
              session = env.session { namespace = namespace }
            else
              term:resign()
            end
          end
        end
        session:close()
      end)
    end
    for i = 1, 5 do assert(select("#", waits[i]()) == 0) end
  end))
end)
