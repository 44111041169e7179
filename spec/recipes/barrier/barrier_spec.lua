-- Barriers and the latch, on a real server.
-- Tags: sanitize

local zk = require "zkrecipes"
local env = require "spec.support.env"
local run, fails, raises = env.run, env.fails, env.raises

-- Opens this many sessions on one namespace, the first one through the proxy if there is one.
local function sessions(count, options)
  local all, namespace = {}, env.namespace()
  for i = 1, count do
    all[i] = env.session { namespace = namespace, hosts = options and options.hosts or nil }
  end
  return all
end

describe("a barrier", function()
  it("lets all callers wait until any session opens it", run(function()
    local all = sessions(3)
    local barrier = all[1]:barrier("/a/b")
    assert.is_true(barrier:wait(0)) -- not closed yet
    assert.is_true(barrier:close())
    assert.is_true(barrier:close())
    fails("timeout", barrier:wait(0))
    env.late(all[2]:barrier("/a/b"):wait(0.05))
    local waits, through = {}, 0
    for i = 1, 30 do
      waits[i] = env.start(function()
        assert(all[i % 3 + 1]:barrier("/a/b"):wait(200))
        through = through + 1
      end)
    end
    zk.sleep(0)
    assert.are.equal(0, through)
    assert.is_true(all[3]:barrier("/a/b"):open())
    assert.is_true(all[3]:barrier("/a/b"):open())
    for i = 1, 30 do waits[i]() end
    assert.are.equal(30, through)
  end))

  it("is opened for a thousand waiters of a session by one event and one read", run(function()
    local proxy = env.proxy()
    local session = env.session { hosts = proxy.hosts }
    local barrier = session:barrier("/b")
    assert(barrier:close())
    local waits = {}
    for i = 1, 1000 do waits[i] = env.start(function() return assert(barrier:wait(300)) end) end
    env.eventually("it is watched", function() return proxy:counts().getData >= 1 end)
    assert(session:sync("/"))
    proxy:reset()
    assert(barrier:open())
    for i = 1, 1000 do waits[i]() end
    local counts = proxy:sent()
    assert.are.same({ 1, 1, 1 }, { counts.delete, counts.events, counts.getData })
  end))

  it("leaves no watch when all waiters have given up, and survives a broken connection", run(function()
    local proxy = env.proxy()
    local session = env.session { hosts = proxy.hosts }
    local barrier = session:barrier("/b")
    assert(barrier:close())
    env.late(barrier:wait(0.02))
    local wait = env.start(function() return barrier:wait(200) end)
    env.eventually("it is watched", function() return proxy:counts().getData >= 1 end)
    assert(session:sync("/")) -- and the session knows it
    proxy:cut()
    assert(session:get("/b"))
    assert(barrier:open())
    assert.is_true(wait())
  end))

  it("is closed and opened, and a latch is counted down, as soon as a server answers, however late", run(function()
    local proxy = env.proxy()
    local session = env.session { hosts = proxy.hosts, timeout = 1 }
    local barrier, latch = session:barrier("/b"), session:latch("/l", 2)
    assert(session:connected(200))
    proxy:refuse()
    proxy:cut()
    local closed = env.start(function() return barrier:close() end)
    local counted = env.start(function() return latch:count_down() end)
    for _ = 1, 2 do fails("connection_loss", session:exists("/b")) end -- each takes the session's timeout
    proxy:heal()
    assert.is_true(closed())
    assert.are.equal(1, counted())
    proxy:refuse()
    proxy:cut()
    local opened = env.start(function() return barrier:open() end)
    for _ = 1, 2 do fails("connection_loss", session:exists("/b")) end
    proxy:heal()
    assert.is_true(opened())
  end))

  it("raises misuse, and reports a closed session", run(function()
    local session = env.session()
    raises("path must start with '/', got 'b'", function() session:barrier("b") end)
    raises("path expected, got nil", function() session:latch(nil, 1) end)
    raises("whole number", function() session:latch("/l", 0) end)
    for _, name in ipairs { "barrier", "latch", "cyclic_barrier", "double_barrier" } do
      raises("'" .. name .. "' %(path of a znode below the root", function() session[name](session, "/", 2) end)
    end
    raises("seconds", function() session:barrier("/b"):wait("soon") end)
    local barrier = session:barrier("/b")
    assert(barrier:close())
    local wait = env.start(function() return barrier:wait() end)
    zk.sleep(0)
    session:close()
    fails("closed", wait())
    fails("closed", barrier:open())
  end))
end)

describe("a latch", function()
  it("opens after n counts, and stays open", run(function()
    local all = sessions(3)
    local latch = all[1]:latch("/a/l", 3)
    local wait = env.start(function() return all[2]:latch("/a/l", 3):wait(200) end)
    fails("timeout", latch:wait(0))
    assert.are.equal(3, latch:count())
    assert.are.equal(2, all[3]:latch("/a/l", 3):count_down())
    assert.are.equal(1, latch:count_down())
    env.late(latch:wait(0.01))
    assert.are.equal(0, latch:count_down())
    assert.is_true(wait())
    assert.is_true(latch:wait(0))
    assert.are.equal(0, latch:count_down())
    assert.are.equal(0, latch:count())
  end))

  it("counts each of many simultaneous counts once", run(function()
    local all, waits, zeros = sessions(4), {}, 0
    for i = 1, 40 do
      waits[i] = env.start(function()
        if assert(all[i % 4 + 1]:latch("/l", 41):count_down()) == 0 then zeros = zeros + 1 end
      end)
    end
    for i = 1, 40 do waits[i]() end
    assert.are.equal(0, zeros)
    assert.are.equal(1, all[1]:latch("/l", 41):count())
    assert.are.equal(0, all[1]:latch("/l", 41):count_down())
  end))

  it("counts once if the answer is lost, whether the count was done or not", run(function()
    for _, fault in ipairs { "drop_reply", "drop_request" } do
      local proxy = env.proxy()
      local session = env.session { hosts = proxy.hosts }
      local latch = session:latch("/l", 5)
      assert.are.equal(5, latch:count())
      proxy[fault](proxy, "multi", 1)
      assert.are.equal(4, latch:count_down())
      assert.are.equal(1, proxy:fired())
      assert.are.equal(4, latch:count())
    end
  end))

  it("with another number of counts is a conflict", run(function()
    local session = env.session()
    session:latch("/l", 3):count_down()
    assert.matches("made for 3 counts, not for 4", fails("conflict", session:latch("/l", 4):count_down()))
    fails("conflict", session:latch("/l", 4):count())
    for _, limit in ipairs { 0, 200, false } do
      assert.matches("made for 3 counts, not for 4", fails("conflict", session:latch("/l", 4):wait(limit or nil)))
    end
    -- Waiters with the right number are not disturbed. The first waiter decides the number.
    local waits = { env.start(function() return session:latch("/l", 3):wait(200) end),
      env.start(function() return session:latch("/new", 2):wait(200) end) }
    env.eventually("it is made", function() return session:exists("/new") end)
    fails("conflict", session:latch("/l", 4):wait(200))
    fails("conflict", session:latch("/new", 1):count_down())
    for _ = 1, 2 do
      assert(session:latch("/l", 3):count_down())
      assert(session:latch("/new", 2):count_down())
    end
    for i = 1, 2 do assert.is_true(waits[i]()) end
    fails("conflict", session:latch("/l", 4):wait(0))
    fails("conflict", session:latch("/new", 1):wait(200))
    assert(session:create("/other", nil))
    assert.matches("the znode is not a latch", fails("conflict", session:latch("/other", 4):count_down()))
    assert(session:set("/other", "a\nb"))
    assert.matches("the znode is not a latch; use another path$", fails("conflict", session:latch("/other", 4):count()))
  end))
end)

describe("a barrier of rounds", function()
  local WAYS = {
    cyclic_barrier = function(session, path, n) return session:cyclic_barrier(path, n):wait(300) end,
    double_barrier = function(session, path, n) return session:double_barrier(path, n):enter(300) end,
  }

  for kind, join in pairs(WAYS) do
    it("refuses an n that differs from the waiters' n: " .. kind, run(function()
      local namespace = env.namespace()
      local first, second = env.session { namespace = namespace }, env.session { namespace = namespace }
      local waits = { env.start(join, first, "/b", 3) }
      env.queue_of(first, "/b", 2)
      for _, n in ipairs { 2, 4, 1000 } do
        assert.matches("other members wait for 3, not for " .. n, fails("conflict", join(second, "/b", n)))
      end
      env.queue_of(first, "/b", 2)
      -- A member with another n that has not given up yet disturbs no other member.
      assert(second:create("/b/w-n7-0000000000000000-1", "", { ephemeral = true }))
      for i = 2, 3 do waits[i] = env.start(join, i == 2 and first or second, "/b", 3) end
      for i = 1, 3 do assert.is_true(waits[i]()) end
      fails("conflict", join(first, "/b", 3)) -- now that member has waited longest
      assert(second:delete("/b/w-n7-0000000000000000-1"))
      -- The next round may have another n.
      waits = { env.start(join, first, "/b", 2), env.start(join, second, "/b", 2) }
      for i = 1, 2 do assert.is_true(waits[i]()) end
      first:close()
      second:close()
    end))
  end
end)

describe("a cyclic barrier", function()
  it("lets n members through, again and again", run(function()
    local all, waits, turns = sessions(3), {}, { 0, 0, 0 }
    for i = 1, 3 do
      waits[i] = env.start(function()
        local barrier = all[i]:cyclic_barrier("/c", 3)
        for _ = 1, 10 do
          assert(barrier:wait(300))
          turns[i] = turns[i] + 1
          for j = 1, 3 do assert.is_true(math.abs(turns[i] - turns[j]) <= 1) end
        end
      end)
    end
    for i = 1, 3 do waits[i]() end
    assert.are.same({ 10, 10, 10 }, turns)
    assert.are.same({}, all[1]:children("/c"))
  end))

  it("either times out or lets both members through", run(function()
    local all = sessions(2)
    for _ = 1, 20 do
      local function wait(i)
        local through, _, code = all[i]:cyclic_barrier("/c", 2):wait(0.004)
        return through or code
      end
      local one, other = env.start(wait, 1), env.start(wait, 2)
      one, other = one(), other()
      local unsure = one == "connection_loss" or other == "connection_loss" -- no answer in time: the round may have begun
      assert.is_true(unsure or one == other, tostring(one) .. " and " .. tostring(other))
    end
    env.queue_of(all[1], "/c", 0)
  end))

  it("survives lost answers", run(function()
    for n = 1, 3 do
      for _, fault in ipairs { "drop_reply", "drop_request" } do
        local proxy, namespace = env.proxy(), env.namespace()
        local faulty = env.session { hosts = proxy.hosts, namespace = namespace }
        local other = env.session { namespace = namespace }
        assert(faulty:create("/c", "", { parents = true }))
        proxy[fault](proxy, "multi", n)
        local wait = env.start(function() return faulty:cyclic_barrier("/c", 2):wait(200) end)
        assert(other:cyclic_barrier("/c", 2):wait(200))
        assert.is_true(wait())
        env.queue_of(other, "/c", 0)
      end
    end
  end))
end)

describe("a member of a round", function()
  it("leaves the round when its task is canceled", run(function()
    local session = env.session()
    local task = zk.spawn(function() return session:cyclic_barrier("/c", 2):wait() end)
    env.eventually("it waits", function() return #(session:children("/c") or {}) == 2 end)
    task:cancel()
    env.eventually("it has left", function() return #session:children("/c") == 0 end)
    env.late(session:cyclic_barrier("/c", 2):wait(0.05))
  end))

  it("does not pass alone when it cannot take part", run(function()
    local session = env.session()
    assert(session:create("/e", "", { ephemeral = true }))
    fails("no_children_for_ephemerals", session:cyclic_barrier("/e", 2):wait(200))
  end))
end)
