-- Resigning to a named successor in an election with a queue, on a real server, and once on simulated ones. By rank: ranked_spec.lua; with
-- faults: spec/histories/worlds/election.lua.
-- Tags: sanitize

local budgets = require "spec.support.budget"
local env = require "spec.support.env"
local sim = require "zkrecipes.sim"
local run, fails = env.run, env.fails
local unpack = table.unpack or unpack -- luacheck: compat

-- Starts a candidate of this session, and returns when it leads or waits in the queue.
local function candidate(session, value)
  local election = session:election("/e", { value = value })
  local one = { session = session, election = election, value = value }
  local stood = #(session:children("/e") or {})
  one.wait, one.task = env.start(function()
    local message, code
    one.term, message, code = election:campaign()
    return one.term, message, code
  end)
  env.queue_of(session, "/e", stood + 1)
  return one
end

local function values(election)
  local list = {}
  for i, one in ipairs(assert(election:candidates())) do list[i] = one.value end
  return table.concat(list)
end

local function find(election, value)
  for _, one in ipairs(assert(election:candidates())) do
    if one.value == value then return one end
  end
end

-- Returns these candidates in the order of the queue. (Several candidates may step aside in any order.)
local function in_queue(election, list)
  local ordered, of = {}, {}
  for _, one in ipairs(list) do of[one.value] = one end
  for value in values(election):gmatch "." do ordered[#ordered + 1] = of[value] end
  assert.are.equal(#list, #ordered)
  return unpack(ordered)
end

-- Asserts that the candidates lead one after another, with growing tokens.
local function lead_in_turn(token, ...)
  for _, one in ipairs { ... } do
    local term = assert(one.wait())
    assert.is_true(term.token > token)
    token = term.token
    term:resign()
  end
end

for _, sessions in ipairs { "a session each", "one session" } do
  -- Runs a test body with four candidates, the first of which leads.
  local function with_four(body)
    return run(function()
      local namespace, all = env.namespace(), {}
      for i, value in ipairs { "a", "b", "c", "d" } do
        local session = sessions == "one session" and all[1] and all[1].session or env.session { namespace = namespace }
        all[i] = candidate(session, value)
      end
      assert(all[1].wait())
      body(unpack(all))
      for _, one in ipairs(all) do one.session:close() end
    end)
  end

  describe("a named successor, with " .. sessions, function()
    it("leads next, if it is the next candidate", with_four(function(a, b, c, d)
      assert.is_true(a.term:resign(find(a.election, "b")))
      assert.is_false(a.term:valid())
      lead_in_turn(a.term.token, b, c, d)
      env.queue_of(a.session, "/e", 0)
    end))

    it("leads before the candidates ahead of it, which queue up again at the end", with_four(function(a, b, c, d)
      local heir = find(a.election, "d")
      assert.is_true(a.term:resign(heir))
      assert.is_false(a.term:valid())
      local term = assert(d.wait())
      assert.are.equal(heir.token, term.token)
      assert.is_false(b.task.done or c.task.done)
      env.eventually("all stand", function() return #assert(d.election:candidates()) == 3 end)
      assert.matches("^d[bc][bc]$", values(d.election))
      local b_and_c = { in_queue(d.election, { b, c }) }
      term:resign()
      lead_in_turn(term.token, unpack(b_and_c))
      env.queue_of(a.session, "/e", 0)
    end))

    it("has already withdrawn: the term continues", with_four(function(a, b, c, d)
      local heir = find(a.election, "c")
      c.election:cancel()
      fails("canceled", c.wait())
      env.queue_of(a.session, "/e", 3)
      assert.matches("^term:resign /e/[^:]+: the successor is no longer a candidate", fails("no_node", a.term:resign(heir)))
      assert.is_true(a.term:valid())
      assert(a.term:set("/x", "1") or a.term:create("/x"))
      a.term:resign()
      lead_in_turn(a.term.token, b, d)
    end))

    it("withdraws while the leader waits for the candidates ahead to step aside", with_four(function(a, b, c, d)
      local between = assert(a.session:create("/e/_c_other-latch-", "i", { ephemeral = true, sequential = true }))
      local e = candidate(a.session, "e")
      local wait = env.start(function() return a.term:resign(find(a.election, "e")) end)
      env.eventually("all ours have stepped aside", function() return values(a.election):find "^aie[bcd][bcd][bcd]$" end)
      e.election:cancel()
      e.wait()
      env.queue_of(a.session, "/e", 5)
      assert(a.session:delete(between))
      fails("no_node", wait())
      assert.is_true(a.term:valid())
      env.eventually("the name is taken back", function() return a.session:get(a.term.path) == "a" end)
      -- No candidate steps aside for a name that was removed.
      local other = candidate(a.session, "f")
      assert.matches("^a[bcd][bcd][bcd]f$", values(a.election))
      local behind = { in_queue(a.election, { b, c, d, other }) }
      a.term:resign()
      lead_in_turn(a.term.token, unpack(behind))
    end))

    it("is not reached if a candidate ahead does not step aside: the call fails in time, and the term continues", with_four(function(a)
      local between = assert(a.session:create("/e/_c_other-latch-", "i", { ephemeral = true, sequential = true }))
      local e = candidate(a.session, "e")
      local heir = find(a.election, "e")
      assert.matches("time limit", fails("timeout", a.term:resign(heir, 0)))
      assert.are.equal("abcdie", values(a.election))
      assert.matches("^term:resign /e/[^:]+: .*time limit", env.late(a.term:resign(heir, 0.2)))
      assert.is_true(a.term:valid())
      env.eventually("the name is taken back", function() return a.session:get(a.term.path) == "a" end)
      assert(a.session:delete(between))
      assert.is_true(a.term:resign(heir, 300))
      lead_in_turn(a.term.token, e)
    end))

    it("is no longer named if the waiting call is canceled", with_four(function(a)
      local between = assert(a.session:create("/e/_c_other-latch-", "i", { ephemeral = true, sequential = true }))
      local e = candidate(a.session, "e")
      local _, task = env.start(function() return a.term:resign(find(a.election, "e")) end)
      env.eventually("named", function() return a.session:get(a.term.path):find "next" end)
      task:cancel()
      env.eventually("the name is taken back", function() return a.session:get(a.term.path) == "a" end)
      assert.is_true(a.term:valid())
      assert(a.session:delete(between))
      e.election:cancel()
      e.wait()
    end))

    it("is not shown to observers, which see value and readiness", with_four(function(a, b, c)
      local told = {}
      env.start(function()
        for leader in b.election:observe() do
          told[#told + 1] = leader and leader.value .. (leader.ready and "!" or "") or "nobody"
        end
      end)
      assert(a.term:ready())
      env.eventually("ready", function() return told[#told] == "a!" end)
      assert(a.session:create("/e/_c_other-latch-", "i", { ephemeral = true, sequential = true }))
      local e = candidate(a.session, "e")
      local wait = env.start(function() return a.term:resign(find(a.election, "e"), 300) end)
      env.eventually("named", function() return a.session:get(a.term.path):find "next" end)
      local leader = assert(b.election:leader())
      assert.are.same({ "a", true, a.term.token }, { leader.value, leader.ready, leader.token })
      assert.are.equal("a", find(c.election, "a").value)
      assert(a.term:proclaim("A"))
      env.eventually("proclaimed", function() return told[#told] == "A!" end)
      assert.are.equal("A!", table.concat(told, " "):match "%S+$")
      e.election:cancel()
      e.wait()
      assert(a.session:delete(find(a.election, "i").path))
      fails("no_node", wait())
      assert.is_true(#told <= 3)
    end))
  end)
end

describe("a named successor", function()
  it("may be known from another server, which is ahead of the leader's", function()
    local world = sim.new()
    world:run(function()
      local leader, other = world:session(), world:session()
      local term = assert(leader:election("/e"):campaign())
      world:move(leader, 2)
      world:move(other, 1)
      world:advance(0.5)
      assert(leader:get("/e"))
      world:lag(2, 30)
      local waits = world.zk.spawn(function() return other:election("/e"):campaign(100) end)
      world:advance(0.1)
      local heir = assert(other:election("/e"):candidates())[2]
      assert.are.equal(1, #assert(leader:election("/e"):candidates()))
      assert.is_true(term:resign(heir))
      assert.are.equal(heir.token, assert(waits:wait()).token)
    end)
  end)

  it("is named although the answer is lost, and can name the next one", run(function()
    for _, fault in ipairs { "drop_reply", "drop_request" } do
      local namespace, proxy = env.namespace(), env.proxy()
      local a = candidate(env.session { hosts = proxy.hosts, namespace = namespace, timeout = 100 }, "a")
      local b, c = candidate(env.session { namespace = namespace }, "b"), candidate(env.session { namespace = namespace }, "c")
      assert(a.wait())
      proxy[fault](proxy, "multi", 1)
      assert.is_true(a.term:resign(find(a.election, "c")))
      assert.are.equal(1, proxy:fired())
      local term = assert(c.wait())
      env.queue_of(c.session, "/e", 2)
      assert.is_true(term:resign(find(c.election, "b")))
      lead_in_turn(term.token, b)
      for _, one in ipairs { a, b, c } do one.session:close() end
    end
  end))

  it("is refused if the term is already over", run(function()
    local namespace = env.namespace()
    local a, b = candidate(env.session { namespace = namespace }, "a"), candidate(env.session { namespace = namespace }, "b")
    local heir = find(a.election, "b")
    assert(a.wait()):resign()
    fails("lost", a.term:resign(heir))
    assert(b.wait())
    a.session:close()
    fails("closed", a.term:resign(heir))
    b.session:close()
  end))

  it("is misuse if it is no candidate, or without a queue", run(function()
    local session = env.session()
    local one, other = candidate(session, "a"), candidate(session, "b")
    local term = assert(one.wait())
    local list = one.election:candidates()
    for _, bad in ipairs { "b", 1, true, {}, { token = 1 } } do
      env.raises("candidate expected", function() term:resign(bad) end)
    end
    env.raises("the successor must be another candidate", function() term:resign(list[1]) end)
    env.raises("bad argument #2 to 'resign'", function() term:resign(list[2], -1) end)
    assert(term:proclaim("\0next-0123456789"))
    assert.is_true(term:valid())
    local unfair = assert(session:election("/u", { fair = false }):campaign())
    env.raises("no successor can be named", function() unfair:resign(list[2]) end)
    assert.is_true(unfair:valid())
    other.election:cancel()
    other.wait()
    session:close()
  end))

  it("costs an exact number of requests", run(function()
    local budget = budgets.start("/e")
    local election = budget.session:election("/e", { value = "a" })
    local term = assert(election:campaign())
    local waits = {}
    for i = 1, 3 do
      waits[i] = env.start(function() return budget.other:election("/e"):campaign() end)
      env.queue_of(budget.other, "/e", i + 1)
    end
    local list = assert(election:candidates())
    budget:spent()
    assert(term:resign(list[2]))
    assert.are.same({ getChildren2 = 1, delete = 1 }, budget:spent())
    local first = assert(waits[1]())
    local back = env.start(function() return assert(election:campaign()) end)
    env.eventually("it waits", function() return budget.proxy:counts().getData == 1 end)
    assert.are.same({ create2 = 1, getChildren2 = 1, exists = 1, getData = 1 }, budget:spent())
    -- Two candidates wait between the leader and the successor.
    first:resign()
    assert(waits[2]()):resign()
    assert(waits[3]()):resign()
    term = back()
    for i = 1, 3 do
      waits[i] = env.start(function() return budget.other:election("/e"):campaign() end)
      env.queue_of(budget.other, "/e", i + 1)
    end
    list = assert(election:candidates())
    budget:spent()
    assert(term:resign(list[4]))
    assert.are.same({ getChildren2 = 2, multi = 2, getData = 1 }, budget:spent())
    assert(waits[3]()):resign()
    budget:stop()
  end))

  it("costs a candidate that steps aside a release and another campaign", run(function()
    local budget = budgets.start("/e")
    local term = assert(budget.other:election("/e"):campaign())
    local between = env.start(function() return budget.session:election("/e"):campaign() end)
    env.eventually("it waits", function() return budget.proxy:counts().getData == 1 end)
    local wait = env.start(function() return budget.other:election("/e"):campaign() end)
    env.queue_of(budget.other, "/e", 3)
    budget:spent()
    local list = assert(budget.other:election("/e"):candidates())
    assert(term:resign(list[3]))
    local mine = assert(wait())
    env.eventually("it waits", function() return budget.proxy:counts().getData == 2 end)
    local spent = budget:spent()
    spent.exists = nil -- one more if the leader is still there when the candidate lists; costs_spec counts it exactly
    assert.are.same({ getData = 2, delete = 1, create2 = 1, getChildren2 = 1 }, spent)
    mine:resign()
    assert(between())
    budget:stop()
  end))

  it("never leads beside another leader while candidates are named, join, leave and die", run(function()
    local namespace, leading, last, named = env.namespace(), {}, "", 0
    local waits = {}
    for i = 1, 5 do
      waits[i] = env.start(function()
        local session = env.session { namespace = namespace, timeout = 2 }
        while named < 20 do
          local election = session:election("/e", { value = tostring(i) })
          local term = election:campaign(math.random() * 0.3)
          if term and term:valid() then
            for other in pairs(leading) do assert.is_false(other:valid()) end
            assert.is_true(term.token > last)
            leading[term], last = true, term.token
            local all = election:candidates() or {}
            local ok, message, code
            if #all > 1 then ok, message, code = term:resign(all[math.random(2, #all)], math.random() * 0.1) end
            if ok then named = named + 1 end
            local expected = { timeout = true, connection_loss = true, no_node = true, lost = true }
            assert.is_true(ok or code == nil or expected[code], message)
            leading[term] = nil
            if math.random(4) == 1 then
              session:close()
              session = env.session { namespace = namespace, timeout = 2 }
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
