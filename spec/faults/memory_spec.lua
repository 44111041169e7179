-- Memory that is exhausted, at every single allocation of whole operations: the n-th fails, for
-- n = 1, 2, ... until the operation no longer reaches it. It may fail with a code; it may not
-- crash, hang, leak, or leave a node.
-- Tags: sanitize

local collect = require "spec.support.collect"
local core = require "zkrecipes.core"
local allocations = require "spec.support.allocations"
local env = require "spec.support.env"
local run = env.run

local at_every_allocation, check, allowed = allocations.at_every, allocations.check, allocations.allowed

describe("exhausted memory", function()
  it("in an acquire and its release", run(function()
    local session = env.session()
    assert(session:create("/l", nil, { parents = true }))
    local lock = session:lock("/l")
    local count = at_every_allocation(function()
      local hold = check(lock:acquire(200))
      if hold then
        hold:release()
      end
    end)
    assert.is_true(count > 5)
    env.queue_of(session, "/l", 0)
    assert(lock:acquire(200)):release()
    session:close()
  end))

  it("in an acquire that creates its directory", run(function()
    local session = env.session()
    assert(session:create("/", nil))
    at_every_allocation(function()
      local lock = check(session:lock("/a/b"))
      local hold = lock and check(lock:acquire(200))
      if hold then
        hold:release()
      end
      core.alloc_fail(0)
      env.eventually("empty", function() return #(session:children("/a/b") or {}) == 0 end)
      session:delete_tree("/a")
    end)
    session:close()
  end))

  it("in a wait that ends with the lock, and in one that times out", run(function()
    local namespace = env.namespace()
    local session, other = env.session { namespace = namespace }, env.session { namespace = namespace }
    local lock, blocker = session:lock("/l"), other:lock("/l")
    assert(session:connected(200))
    at_every_allocation(function(n)
      local hold
      repeat
        hold = blocker:acquire(10)
      until hold
      local ended = false
      local wait = env.start(function()
        local mine, message, code = lock:acquire(n % 2 == 0 and 0.02 or 10)
        ended = true
        return mine, message, code
      end)
      env.eventually("parked or ended", function() return ended or #(other:children("/l") or {}) == 2 end)
      hold:release()
      local mine = check(wait())
      if mine then
        mine:release()
      end
    end)
    env.queue_of(other, "/l", 0)
  end))

  it("in asking the holder to release", run(function()
    local namespace = env.namespace()
    local session, other = env.session { namespace = namespace }, env.session { namespace = namespace }
    local hold, lock = assert(other:lock("/l"):acquire()), session:lock("/l")
    local unfair = session:lock("/u", { fair = false })
    local count = at_every_allocation(function()
      assert.are.equal(1, check(lock:request(200)) or 1)
      assert.are.equal(0, check(unfair:request(200)) or 0)
    end)
    assert.is_true(count > 5)
    hold:release()
  end))

  it("in writing to a counter: an add that fails did not count, unless it says so", run(function()
    local session = env.session()
    local counted = 0
    at_every_allocation(function(n)
      local counter = check(session:counter("/c" .. n % 2))
      if not counter then return end
      local sum
      repeat sum = check(counter:add(1)) until sum
      counted = counted + 1
      local set, message, code = counter:compare_and_set(-1, -1)
      if set == nil then check(set, message, code) end
    end)
    assert.are.equal(counted, session:counter("/c0"):get() + session:counter("/c1"):get())
  end))

  it("in closing, awaiting and opening a barrier, and in counting a latch down and awaiting it", run(function()
    local session = env.session()
    assert(session:create("/l", nil, { parents = true }))
    local count = at_every_allocation(function(n)
      local barrier, latch = check(session:barrier("/b")), check(session:latch("/l/" .. n, 1))
      if barrier and check(barrier:close(200)) then
        local wait = env.start(function() return barrier:wait(200) end)
        repeat local opened = check(barrier:open(200)) until opened
        check(wait())
      end
      if latch then
        local wait = env.start(function() return latch:wait(200) end)
        local left, data, stat
        repeat left = check(latch:count_down(200)) until left
        assert.are.equal(0, left)
        check(wait())
        repeat data, stat = session:get("/l/" .. n) until data
        assert.are.equal(1, stat.version)
      end
    end)
    assert.is_true(count > 20)
    assert(not session:exists("/b"))
    session:close()
  end))

  it("in loading a tree, following it, and reporting its changes", run(function()
    local session = env.session()
    assert(session:create("/t/a", "1", { parents = true }))
    local count = at_every_allocation(function(n)
      local tree = check(session:tree("/t", { filter = { "/t/*" } }))
      local changes = tree and check(tree:changes())
      if changes then
        repeat local ready = check(tree:ready(200)) until ready
        repeat local set = check(session:set("/t/a", "of " .. n)) until set
        local found
        repeat
          local change = check(changes:next(200))
          if change and change.path == "/t/a" then found = change.data end
        until found == "of " .. n
        repeat local seen = check(tree:await(function() return tree:get("/t/a") == found end, 200)) until seen
      end
      if tree then tree:close() end
    end)
    assert.is_true(count > 20)
    core.alloc_fail(0)
    env.eventually("nothing is watched", function() return session:usage().watched_bytes == 0 end)
    session:close()
  end))

  it("in reading, writing, a downgrade that lets a reader in, and a multilock", run(function()
    local namespace = env.namespace()
    local session, other = env.session { namespace = namespace }, env.session { namespace = namespace }
    local rw, theirs, lock = session:rwlock("/rw"), other:rwlock("/rw"), session:lock("/l")
    assert(session:create("/rw", nil, { parents = true }))
    assert(other:connected(200))
    at_every_allocation(function(n)
      local hold = check(rw:write(200))
      local reader = n % 2 == 0 and rw or theirs
      local wait = env.start(function() return reader:read(hold and 0.03 or 10) end)
      if hold then
        check(hold:downgrade())
        hold:set("/rw", "x")
      end
      local mine = check(wait())
      if hold then hold:release() end
      if mine then mine:release() end
      check(rw:read(0))
      collect()
    end)
    at_every_allocation(function()
      local all = session:multilock { lock, rw:writer() }
      local hold = check(all:acquire(200))
      if hold then
        check(hold:set("/rw", "x"))
        hold:release()
      end
    end)
    env.eventually("empty", function()
      collect()
      return #other:children("/rw") == 0
    end)
    assert(theirs:write(200)):release()
    other:close()
    session:close()
  end))

  it("in numbers for workers: acquire, wait, try", run(function()
    local namespace = env.namespace()
    local session, other = env.session { namespace = namespace }, env.session { namespace = namespace }
    local ids, blocker = session:worker_id("/w", 1), other:worker_id("/w", 1)
    assert(ids:acquire(200)):release()
    at_every_allocation(function(n)
      local hold
      repeat
        hold = blocker:acquire(10)
      until hold
      local ended = false
      local wait = env.start(function()
        local mine, message, code = ids:acquire(n % 2 == 0 and 0.02 or 10)
        ended = true
        return mine, message, code
      end)
      env.eventually("parked or ended", function() return ended or #(other:children("/w/queue") or {}) == 1 end)
      local tried = check(ids:acquire(0))
      if tried then tried:release() end
      hold:release()
      local mine = check(wait())
      if mine then mine:release() end
    end)
    session:close()
  end))

  it("in a semaphore: acquire, wait, try, available, resize", run(function()
    local namespace = env.namespace()
    local session, other = env.session { namespace = namespace }, env.session { namespace = namespace }
    local sem, blocker = session:semaphore("/p", 2), other:semaphore("/p", 2)
    assert(sem:acquire(200)):release()
    at_every_allocation(function(n)
      local hold
      repeat
        hold = blocker:acquire(10, 2)
      until hold
      local ended = false
      local wait = env.start(function()
        local mine, message, code = sem:acquire(n % 2 == 0 and 0.02 or 10)
        ended = true
        return mine, message, code
      end)
      env.eventually("parked or ended", function() return ended or #(other:children("/p") or {}) == 2 end)
      local tried = check(sem:acquire(0)) -- the last resize(2) may have failed
      if tried then tried:release() end
      check(sem:available())
      hold:release()
      local mine = check(wait())
      if mine then
        mine:release()
      end
      check(sem:resize(3))
      check(sem:resize(2))
    end)
    env.queue_of(other, "/p", 0)
    core.alloc_fail(0)
    assert(sem:resize(2))
    assert(sem:acquire(200, 2)):release()
  end))

  it("in plain requests, a multi, a watch, contenders", run(function()
    local session = env.session()
    assert(session:create("/x", "0", { parents = true }))
    assert(session:create("/q", "", {}))
    at_every_allocation(function()
      check(session:get("/x"))
      check(session:children("/x"))
      check(session:get_acl("/x"))
      check(session:multi { { "check", "/x" }, { "set", "/x", "1" } })
      local lock = check(session:lock("/q"))
      if lock then
        check(lock:contenders())
      end
      local watch = check(session:watch("/x"))
      if watch then
        check(watch:wait(0.005))
        watch:close()
      end
    end)
    assert(session:get("/x"))
    session:close()
  end))

  it("in an election: a term, its value, the leader, an observer", run(function()
    local session = env.session()
    assert(session:create("/e", nil, { parents = true }))
    local count = at_every_allocation(function()
      local election = check(session:election("/e", { value = "x" }))
      local term = election and check(election:campaign(200))
      if term then
        check(term:ready())
        check(term:sleep(0))
        check(election:candidates())
        local leader = check(election:leader())
        assert.is_true(leader == nil or leader.value == "x")
        leader = check(election:next_leader(0))
        assert.is_true(leader == nil or leader.token == term.token)
        term:resign()
      end
    end)
    assert.is_true(count > 20)
    env.queue_of(session, "/e", 0)
    local election = session:election("/e")
    assert.is_nil(election:leader())
    assert.is_false((election:next_leader(0)))
    session:close()
  end))

  -- The first candidate leads, and resigns to the last one. In the end each has led or failed.
  local function hand_over(elections, meanwhile)
    local term, waits, ended
    repeat
      term = elections[1]:campaign(10)
    until term
    waits, ended = {}, 0
    for i = 2, #elections do
      waits[i] = env.start(function()
        local mine, message, code = elections[i]:campaign(10)
        if mine then mine:resign() end
        ended = ended + 1
        return mine, message, code
      end)
      env.eventually("stands or ended", function() return #(elections[1]:candidates() or {}) + ended >= i end)
    end
    if meanwhile then check(meanwhile()) end
    local list = check(elections[1]:candidates())
    local heir = list and #list > 1 and list[#list]
    local done, message, code
    if heir then done, message, code = term:resign(heir, 5) end
    assert.is_true(done or not heir or allowed[code] or code == "no_node", message) -- it may have failed meanwhile
    assert.is_true(not done or not term:valid())
    assert.is_true(done or not heir or term:valid())
    term:resign()
    for i = 2, #elections do check(waits[i]()) end
  end

  it("in resigning to a named successor", run(function()
    local namespace = env.namespace()
    local session, other = env.session { namespace = namespace }, env.session { namespace = namespace }
    assert(session:create("/e", nil, { parents = true }))
    assert(other:connected(200))
    local count = at_every_allocation(function()
      hand_over { session:election("/e") or session:election("/e"), other:election("/e") or other:election("/e"),
        session:election("/e") or session:election("/e"), other:election("/e") or other:election("/e") }
    end)
    assert.is_true(count > 50, count)
    env.queue_of(session, "/e", 0)
    assert(session:election("/e"):campaign(200)):resign()
    session:close()
    other:close()
  end))

  it("in an election by rank, and in resigning to a named successor there", run(function()
    local namespace = env.namespace()
    local session, other = env.session { namespace = namespace }, env.session { namespace = namespace }
    assert(session:create("/e", nil, { parents = true }))
    assert(other:connected(200))
    local function candidate(of, rank) return of:election("/e", { rank = rank }) or of:election("/e", { rank = rank }) end
    local count = at_every_allocation(function()
      local elections = { candidate(session, 0), candidate(other, 2), candidate(session, 1) }
      check(elections[2]:update_rank(3))
      hand_over(elections, function() return elections[3]:update_rank(4) end)
      local leader, message, code = elections[2]:leader()
      assert.is_true(leader ~= nil or code == nil or allowed[code], message)
      leader, message, code = elections[1]:next_leader(0)
      assert.is_true(leader ~= nil or allowed[code], message)
    end)
    assert.is_true(count > 50, count)
    env.queue_of(session, "/e", 0)
    session:close()
    other:close()
  end))

  it("while a function leads", run(function()
    local session = env.session()
    assert(session:create("/e", nil, { parents = true }))
    at_every_allocation(function()
      local election, led = check(session:election("/e")), 0
      if not election then return end
      election:lead(function(term)
        led = led + 1
        term:sleep(0)
        election:stop()
      end, { backoff = 0.001, backoff_max = 0.001, on_error = function() end })
      assert.is_true(led > 0)
    end)
    env.queue_of(session, "/e", 0)
    session:close()
  end))

  it("in opening and closing a session", run(function()
    at_every_allocation(function()
      local session, _, code = env.session()
      if not session then
        assert.are.equal("no_memory", code)
        return
      end
      check(session:connected(200))
      session:close()
    end)
  end))
end)
