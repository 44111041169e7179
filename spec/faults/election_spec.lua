-- Elections when sessions expire, connections break, processes die or are stopped, and answers get lost.
-- Tags: sanitize

local zk = require "zkrecipes"
local testing = require "zkrecipes.testing"
local env = require "spec.support.env"
local child = require "spec.support.child"
local run, fails = env.run, env.fails

local function expire(session)
  assert(testing.expire(env.server(), session.id))
end

-- Leads until it is stopped, and writes its steps to the log.
local function logged(log, name, session)
  local election = session:election("/e", { value = name })
  return election, env.start(function()
    return election:lead(function(term)
      log[#log + 1] = name .. " begins"
      local ok, why = zk.pcall(function() while true do zk.sleep(0.005) end end)
      assert(not ok and why == zk.canceled, why)
      log[#log + 1] = name .. (term:valid() and " is stopped" or " ends")
    end)
  end)
end

describe("a leader's session that expires", function()
  it("ends the term, stops the function, and the candidate comes back", run(function()
    local session, log = env.session(), {}
    local election, wait = logged(log, "it", session)
    env.eventually("it leads", function() return #log == 1 end)
    local first = election:leader().token
    expire(session)
    env.eventually("it leads again", function() return #log == 3 end)
    assert.are.same({ "it begins", "it ends", "it begins" }, log)
    assert.is_true(assert(election:leader()).token > first)
    election:stop()
    fails("canceled", wait())
  end))

  it("ends a waiting campaign with `lost`, but not the campaign of lead", run(function()
    local namespace, led = env.namespace(), false
    local leader, waiter = env.session { namespace = namespace }, env.session { namespace = namespace }
    local term = assert(leader:election("/e"):campaign())
    local wait = env.start(function() return fails("lost", waiter:election("/e"):campaign()) end)
    local election = waiter:election("/e")
    local leads = env.start(function() return election:lead(function() led = true; election:stop() end) end)
    env.queue_of(leader, "/e", 3)
    expire(waiter)
    assert.matches("election:campaign /e: .*lost", wait())
    env.queue_of(leader, "/e", 2)
    assert.is_false(led)
    term:resign()
    fails("canceled", leads())
    assert.is_true(led)
  end))
end)

describe("observers", function()
  it("continue with a new session, and never see an older leader again", run(function()
    local namespace = env.namespace()
    local session, other = env.session { namespace = namespace }, env.session { namespace = namespace }
    local seen, last = {}, ""
    local wait = env.start(function()
      for leader in session:election("/e"):observe() do
        seen[#seen + 1] = leader and leader.value
        assert.is_true(not leader or leader.token >= last)
        last = leader and leader.token or last
      end
    end)
    env.eventually("no leader", function() return #seen == 1 end)
    local term = assert(other:election("/e", { value = "1" }):campaign())
    env.eventually("the first", function() return seen[2] == "1" end)
    expire(session)
    assert(term:proclaim("1b"))
    env.eventually("its new value", function() return seen[#seen] == "1b" end)
    term:resign()
    env.eventually("no leader", function() return seen[#seen] == false end)
    expire(session)
    local second = assert(other:election("/e", { value = "2" }):campaign())
    env.eventually("the second", function() return seen[#seen] == "2" end)
    assert.are.same({ false, "1", "1b", false, "2" }, seen)
    assert.is_true(second:valid())
    assert(other:delete_tree("/e")) -- like an operator
    env.eventually("no leader", function() return seen[#seen] == false end)
    session:close()
    wait()
  end))

  it("see changes that were made while the connection was broken", run(function()
    local namespace, proxy = env.namespace(), env.proxy()
    local session, other = env.session { namespace = namespace, hosts = proxy.hosts, timeout = 20 },
      env.session { namespace = namespace }
    local term = assert(other:election("/e", { value = "1" }):campaign())
    local election = session:election("/e")
    local step = election:observe()
    assert.are.equal("1", step().value)
    proxy:refuse()
    proxy:cut()
    env.eventually("suspended", function() return session.state == "suspended" end)
    local wait = env.start(step)
    local follows = env.start(function() return other:election("/e", { value = "2" }):campaign() end)
    env.queue_of(other, "/e", 2)
    term:resign()
    assert(follows())
    proxy:heal()
    assert.are.equal("2", wait().value)
    for _ = 1, 5 do
      wait = env.start(step)
      zk.sleep(0)
      proxy:cut()
      assert(session:connected(200))
      assert(session:sync("/e"))
      assert(other:election("/e"):leader())
    end
    session:close()
    assert.is_nil(wait())
  end))
end)

describe("a leader whose connection is cut", function()
  it("is stopped at the end of its lease, before another one leads", run(function()
    local namespace, proxy, log = env.namespace(), env.proxy(), {}
    local cut_off, other = env.session { namespace = namespace, hosts = proxy.hosts, timeout = 40 },
      env.session { namespace = namespace }
    local first, first_wait = logged(log, "first", cut_off)
    env.eventually("it leads", function() return #log == 1 end)
    local second, second_wait = logged(log, "second", other)
    env.queue_of(other, "/e", 2)
    proxy:blackhole()
    env.eventually("the second leads", function() return #log == 3 end)
    assert.are.same({ "first begins", "first ends", "second begins" }, log)
    proxy:heal()
    assert(cut_off:connected(200))
    env.queue_of(other, "/e", 2)
    second:stop()
    second_wait()
    env.eventually("the first leads again", function() return #log == 5 end)
    assert.are.same({ "second is stopped", "first begins" }, { log[4], log[5] })
    first:stop()
    first_wait()
  end))

  it("for less than its lease keeps its term", run(function()
    local proxy, log = env.proxy(), {}
    local session = env.session { hosts = proxy.hosts, timeout = 100 }
    local election, wait = logged(log, "it", session)
    env.eventually("it leads", function() return #log == 1 end)
    local token = election:leader().token
    for _ = 1, 3 do
      proxy:cut()
      assert(session:connected(200))
      assert.are.equal(token, election:leader().token)
    end
    assert.are.same({ "it begins" }, log)
    election:stop()
    wait()
  end))
end)

describe("another process that leads", function()
  it("and is killed: the next candidate leads within the session timeout, and observers see it", run(function()
    local namespace = env.namespace()
    local session = env.session { namespace = namespace }
    local other = child.start(namespace, 20, nil, { script = "leader" })
    local token = other:answer():match("^leading (%x+)$")
    local election = session:election("/e", { value = "next" })
    local step = election:observe()
    assert.are.equal(token, step().token)
    local wait = env.start(function() return election:campaign(200) end)
    env.queue_of(session, "/e", 2)
    local from = zk.now()
    other:signal("KILL")
    local term = assert(wait())
    assert.is_true(zk.now() - from < 150) -- its timeout is 20 seconds
    assert.is_true(term.token > token)
    assert.are.equal(term.token, step().token)
    term:resign()
    assert.is_false(step())
    other:stop()
  end))

  it("and is stopped for longer than its session: its function ends as soon as it wakes", run(function()
    local namespace = env.namespace()
    local session = env.session { namespace = namespace }
    local other = child.start(namespace, 20, nil, { script = "leader" })
    local token = other:answer():match("^leading (%x+)$")
    other:signal("STOP")
    local term = assert(session:election("/e"):campaign(200))
    assert.is_true(term.token > token)
    other:signal("CONT")
    assert.are.equal("stopped false", other:answer())
    assert.is_true(term:valid())
    env.queue_of(session, "/e", 2) -- it campaigns again
    term:resign()
    assert.is_true(assert(other:answer():match("^leading (%x+)$")) > term.token)
    other:signal("KILL")
    other:stop()
  end))
end)

describe("answers that get lost", function()
  for _, fault in ipairs { "drop_reply", "drop_request" } do
    for _, op in ipairs { "create2", "getChildren2" } do
      it("to a candidate: it leads, with one node: " .. fault .. " of " .. op, run(function()
        local proxy = env.proxy()
        local session = env.session { hosts = proxy.hosts, timeout = 100 }
        assert(session:create("/e", nil, { parents = true }))
        proxy[fault](proxy, op, 1)
        local term = assert(session:election("/e"):campaign(200))
        assert.are.equal(1, proxy:fired())
        env.queue_of(session, "/e", 1)
        assert.are.equal(term.token, session:exists(term.path).czxid)
        term:resign()
        env.queue_of(session, "/e", 0)
      end))
    end

    it("to a leader that proclaims: it proclaims again: " .. fault, run(function()
      local proxy = env.proxy()
      local session = env.session { hosts = proxy.hosts, timeout = 100 }
      local election = session:election("/e")
      local term = assert(election:campaign(200))
      proxy[fault](proxy, "multi", 1)
      assert.is_true(term:proclaim("new"))
      proxy[fault](proxy, "multi", 1)
      assert.is_true(term:ready())
      assert.are.equal(2, proxy:fired())
      local leader = assert(election:leader())
      assert.are.same({ "new", true }, { leader.value, leader.ready })
      term:resign()
    end))

    for _, op in ipairs { "getData", "getChildren2" } do
      it("to election:leader and observers: " .. fault .. " of " .. op, run(function()
        local proxy, namespace = env.proxy(), env.namespace()
        local session = env.session { hosts = proxy.hosts, timeout = 100, namespace = namespace }
        local term = assert(env.session { namespace = namespace }:election("/e", { value = "x" }):campaign(200))
        assert(session:connected(200))
        proxy[fault](proxy, op, 1)
        assert.are.equal("x", session:election("/e"):leader().value)
        proxy[fault](proxy, op, 1)
        local step = session:election("/e"):observe()
        assert.are.equal("x", step().value)
        assert.are.equal(2, proxy:fired())
        term:resign()
        proxy[fault](proxy, op, 1)
        assert.is_false(step())
      end))
    end
  end
end)

describe("a directory that is deleted under the candidates", function()
  it("ends the term, and a candidate leads", run(function()
    local namespace, log = env.namespace(), {}
    local one, two = env.session { namespace = namespace }, env.session { namespace = namespace }
    local first, first_wait = logged(log, "first", one)
    env.eventually("it leads", function() return #log == 1 end)
    local second, second_wait = logged(log, "second", two)
    env.queue_of(one, "/e", 2)
    assert(one:delete_tree("/e"))
    env.eventually("one leads again", function() return #log >= 3 end)
    assert.are.equal("first begins", log[1])
    env.queue_of(one, "/e", 2)
    first:stop()
    second:stop()
    first_wait()
    second_wait()
    env.queue_of(one, "/e", 0)
  end))
end)
