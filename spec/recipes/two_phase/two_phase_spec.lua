-- Two-phase commit on a real server. What it promises under faults is proven in histories.
-- Tags: sanitize

local zk = require "zkrecipes"
local env = require "spec.support.env"
local sim = require "zkrecipes.sim"
local testing = require "zkrecipes.testing"
local transactions = require "zkrecipes.recipes.two_phase.transaction"
local run = env.run

-- A participant that keeps what is called. answers: what `prepare`, `commit` and `abort` do.
local function serving(two, name, answers)
  local calls = {}
  local function handler(what)
    return function(id, data)
      calls[#calls + 1] = ("%s %s %s"):format(what, id, data)
      if answers and answers[what] then return answers[what](id, data) end
      return true
    end
  end
  local participant = assert(two:serve(name, { prepare = handler "prepare", commit = handler "commit", abort = handler "abort" }))
  return calls, participant
end

local function ended(two) env.eventually("everything has ended", function() return #(assert(two:pending())) == 0 end) end

local function opened(namespace) return env.session({ namespace = namespace }):two_phase "/tp" end

describe("two-phase commit", function()
  it("commits if all say yes", run(function()
    local namespace = env.namespace()
    local two, other = opened(namespace), opened(namespace)
    local one, first = serving(two, "one")
    local second, last = serving(other, "two/2")
    assert.are.equal("committed", two:run("t1", "data", { "one", "two/2" }, 200))
    ended(two)
    assert.are.same({ "prepare t1 data", "commit t1 data" }, one)
    assert.are.same({ "prepare t1 data", "commit t1 data" }, second)
    assert.are.equal("committed", two:outcome "t1")
    assert.is_false(two:outcome "t2")
    assert(first:stop())
    assert(last:stop())
  end))

  it("aborts if one says no, raises, or returns a failure; and tells why", run(function()
    local noes = {
      [function() return false end] = "it returned false",
      [function() return nil end] = "it returned nothing",
      [function() return nil, "disk full" end] = "disk full",
      [function() error("boom", 0) end] = "boom",
      [function() error { "boom" } end] = "table: ",
    }
    local namespace = env.namespace()
    local two, other, number = opened(namespace), opened(namespace), 0
    local one = serving(two, "one")
    local answer
    local second = serving(other, "two", { prepare = function() return answer() end })
    for no, why in pairs(noes) do
      answer, number = no, number + 1
      local id = "t" .. number
      local state, told = two:run(id, "x", { "one", "two" }, 200)
      assert.are.equal("aborted", state)
      assert.is_truthy(told:find("'two' voted no: " .. why, 1, true), told)
      assert.are.same({ "aborted", told }, { two:outcome(id) })
    end
    ended(two)
    assert.are.equal("abort t5 x", second[#second])
    assert.are.equal("abort t5 x", one[#one])
  end))

  it("aborts when a vote does not come in time, and tells whose", run(function()
    local two = opened(env.namespace())
    local one = serving(two, "one")
    local tries, id, state, why = 0
    repeat -- on a busy machine the vote of `one` may be late, too
      tries = tries + 1
      id = "t" .. tries
      state, why = two:run(id, "x", { "one", "away" }, 0.5)
    until state == "aborted" and not why:find("one", 1, true)
    assert.matches("no vote came in time from .*away", why)
    env.eventually("only away is awaited", function()
      local found = {}
      for _, one_pending in ipairs(assert(two:pending())) do
        assert.are.equal("aborted", one_pending.state)
        if one_pending.id == id then found = one_pending.awaited end
      end
      return table.concat(found, " ") == "away"
    end)
    assert.are.equal(("abort %s x"):format(id), one[#one])
    local late = serving(two, "away") -- it comes back, and is not asked
    ended(two)
    for _, call in ipairs(late) do assert.matches("^abort t%d+ x$", call) end
    assert.is_truthy((" " .. table.concat(late, " ") .. " "):find((" abort %s x "):format(id), 1, true))
  end))

  it("does not wait for a participant whose functions are slow: others are served meanwhile", run(function()
    local two, open = opened(env.namespace()), false
    local one = serving(two, "one", { commit = function(id)
      while id == "slow" and not open do zk.sleep(0.005) end
      return true
    end })
    assert.are.equal("committed", two:run("slow", "", { "one" }, 200))
    assert.are.equal("committed", two:run("fast", "", { "one" }, 200))
    env.eventually("fast is committed", function() return one[#one] == "commit fast " end)
    open = true
    ended(two)
  end))

  it("calls commit until it succeeds", run(function()
    local two, failures = opened(env.namespace()), 0
    local one = serving(two, "one", { commit = function()
      failures = failures + 1
      if failures == 1 then error "not yet" end
      if failures == 2 then return nil, "not yet" end
      return true
    end })
    assert.are.equal("committed", two:run("t", "", { "one" }, 200))
    ended(two)
    assert.are.same({ "prepare t ", "commit t ", "commit t ", "commit t " }, one)
  end))

  it("joins a transaction that has the id, or returns its outcome; refuses another one", run(function()
    local two, open = opened(env.namespace()), false
    local one = serving(two, "one", { prepare = function()
      while not open do zk.sleep(0.005) end
      return true
    end })
    local first = env.start(two.run, two, "t", "x", { "one" }, 200)
    env.eventually("it is asked", function() return one[1] end)
    local second = env.start(two.run, two, "t", "x", { "one" }, 200)
    assert.matches("another transaction has this id", env.fails("conflict", two:run("t", "y", { "one" }, 200)))
    env.fails("conflict", two:run("t", "x", { "one", "two" }, 200))
    assert.matches("not known: votes may still come for %d+ seconds; call run again",
      env.fails("connection_loss", two:run("t", "x", { "one" }, 0)))
    env.fails("connection_loss", two:run("t", "x", { "one" }, 0.01))
    assert.are.equal("open", two:outcome "t")
    open = true
    assert.are.same({ "committed", "committed" }, { first(), second() })
    ended(two)
    assert.are.equal("committed", two:run("t", "x", { "one" }, 200))
    env.fails("conflict", two:run("t", "y", { "one" }, 200))
    assert.are.same({ "prepare t x", "commit t x" }, one)
  end))

  it("takes ids and names of any bytes, and data of any bytes", run(function()
    local two = opened(env.namespace())
    local names = { "../x", "\0\255", "a b\n" }
    local calls = {}
    for i, name in ipairs(names) do calls[i] = serving(two, name) end
    local data = "\0\n\nstate aborted\n"
    assert.are.equal("committed", two:run("/id.1\n", data, names, 200))
    ended(two)
    for i = 1, #names do assert.are.same({ "prepare /id.1\n " .. data, "commit /id.1\n " .. data }, calls[i]) end
  end))

  it("tidies: only the outcome stays, and that not longer than it is kept", run(function()
    local session = env.session()
    local two = session:two_phase("/tp", { keep = 0 })
    local _, part = serving(two, "one")
    local committed, tries = 0, 0
    repeat -- an outcome is kept for twice this second, and on a busy machine a vote may be later than that
      tries = tries + 1
      if two:run("t" .. tries, ("x"):rep(1000), { "one" }, 1) == "committed" then committed = committed + 1 end
    until committed == 3
    env.eventually("nothing is left", function() return #session:children "/tp/transactions" == 0 end)
    assert.are.same({}, session:children "/tp/participants/one")
    assert(part:stop())
  end))

  it("shows an operator what is in doubt, and who is awaited", run(function()
    local two, open = opened(env.namespace()), false
    serving(two, "one", { prepare = function() return true end })
    serving(two, "two", { prepare = function()
      while not open do zk.sleep(0.005) end
      return true
    end })
    local wait = env.start(two.run, two, "t", "x", { "one", "two" }, 200)
    env.eventually("one has voted", function()
      local list = assert(two:pending())
      return list[1] and table.concat(list[1].awaited, " ") == "two"
    end)
    local one = two:pending()[1]
    assert.are.same({ "t", "open", "x", 198 }, { one.id, one.state, one.data, one.seconds })
    assert.are.same({ "one", "two" }, one.participants)
    assert.is_true(math.abs(one.since - os.time()) < 3600)
    open = true
    assert.are.equal("committed", wait())
    ended(two)
  end))

  it("goes on when its session is lost", run(function()
    local namespace = env.namespace()
    local session = env.session { namespace = namespace }
    local two, other = session:two_phase "/tp", opened(namespace)
    local one = serving(two, "one")
    assert.are.equal("committed", other:run("t1", "", { "one" }, 200))
    assert(testing.expire(env.server(), session.id))
    assert.are.equal("committed", other:run("t2", "", { "one" }, 200))
    ended(other)
    assert.are.same({ "prepare t1 ", "commit t1 ", "prepare t2 ", "commit t2 " }, one)
  end))

  it("reports a znode that holds no transaction", run(function()
    local session = env.session()
    local two = session:two_phase "/tp"
    assert(session:create("/tp/transactions/t", "hello", { parents = true }))
    assert.matches("two_phase:run /tp: transaction 't': the znode /tp/transactions/t holds no transaction; delete it",
      env.fails("conflict", two:run("t", "", { "one" }, 200)))
    env.fails("conflict", two:outcome "t")
    assert.are.same({}, two:pending())
  end))

  it("goes on beside records that no run can have written", run(function()
    local session = env.session()
    local two = session:two_phase "/tp"
    local one = serving(two, "one")
    assert.are.equal("committed", two:run("t", "", { "one" }, 200))
    for _, milliseconds in ipairs { "1e300", "-5", "nan", "inf", "x" } do
      local text = ("zkrecipes two-phase 1\nstate open\nmilliseconds %s\ntag 9\nnames one\n\n"):format(milliseconds)
      assert(session:create("/tp/transactions/" .. milliseconds, text))
      assert(session:create(("/tp/participants/one/%s.9"):format(milliseconds), ""))
      env.fails("conflict", two:outcome(milliseconds))
    end
    assert.are.equal("committed", two:run("t2", "", { "one" }, 200))
    env.eventually("both are committed", function() return #one == 4 end)
  end))

  it("forgets the others if one may not be read", run(function()
    local session = env.session()
    local two = session:two_phase("/tp", { keep = 0 })
    assert(session:create("/tp/transactions/0", "x", { parents = true,
      acl = { { perms = "d", scheme = "world", id = "anyone" } } }))
    local text = "zkrecipes two-phase 1\nstate open\nmilliseconds 0\ntag 9\nnames ghost\n\n"
    local other = assert(session:create("/tp/transactions/1", text))
    serving(two, "one")
    env.eventually("it is ended", function() return session:exists(other) == false end)
  end))

  it("is tidied in two parts if one is too large for a request", function()
    local world = sim.new { seed = 1 }
    world:run(function()
      local session, tx = world:session(), { place = { path = "/t" }, record = { tag = "9", state = "aborted", data = "", names = {},
        milliseconds = 1 } }
      for i = 1, 900 do tx.record.names[i] = ("x"):rep(600) .. i end
      assert(session:create("/t", "open"))
      assert(session:set("/t", "aborted"))
      for _, kind in ipairs { "yes", "done" } do
        local parts = {}
        for _, name in ipairs(tx.record.names) do parts[#parts + 1] = { "create", ("/t/%s.9.%s"):format(kind, name), "" } end
        assert(session:multi(parts))
      end
      assert.is_true(transactions.tidy(session, tx))
      assert.are.same({}, session:children "/t")
      assert.are.equal(2, select(2, session:get "/t").version)
      assert.is_false(transactions.tidy(session, tx))
    end)
  end)

  it("ends with its session", run(function()
    local session = env.session()
    local two = session:two_phase "/tp"
    local _, part = serving(two, "one")
    session:close()
    assert(part:wait(200))
    env.fails("closed", two:serve("one", { prepare = print, commit = print, abort = print }))
    env.fails("closed", two:run("t", "", { "one" }, 200))
  end))
end)

describe("a participant", function()
  it("that is stopped begins nothing more, and waits for the functions that run", run(function()
    local two, open = opened(env.namespace()), false
    local one, part = serving(two, "one", { commit = function()
      while not open do zk.sleep(0.005) end
      return true
    end })
    assert.are.equal("committed", two:run("t", "", { "one" }, 200))
    env.eventually("it commits", function() return #one == 2 end)
    assert.matches("functions still run", env.fails("timeout", part:stop(0.01)))
    local stopped = env.start(part.stop, part)
    open = true
    assert(stopped())
    assert(part:stop())
    local again = serving(two, "one") -- what was not acknowledged, is called again
    ended(two)
    assert.is_true(#again <= 1 and (again[1] == nil or again[1] == "commit t "))
  end))

  it("that is closed in a function cancels it, and the next one goes on", run(function()
    local two = opened(env.namespace())
    local one, part = serving(two, "one", { commit = function() zk.sleep(1000) end })
    assert.are.equal("committed", two:run("t", "", { "one" }, 200))
    env.eventually("it commits", function() return #one == 2 end)
    assert.is_true(part:close())
    assert(part:wait(200))
    local again = serving(two, "one")
    ended(two)
    assert.are.same({ "commit t " }, again)
  end))

  for _, way in ipairs { "that is stopped", "whose session is closed" } do
    it(way .. " while a function runs does not repeat it if it fails", run(function()
      local namespace, open = env.namespace(), false
      local session = env.session { namespace = namespace }
      local two = session:two_phase "/tp"
      local one, part = serving(two, "one", { commit = function()
        while not open do zk.sleep(0.005) end
        return nil, "not yet"
      end })
      assert.are.equal("committed", two:run("t", "", { "one" }, 200))
      env.eventually("it commits", function() return #one == 2 end)
      if way == "that is stopped" then env.fails("timeout", part:stop(0)) else session:close() end
      open = true
      assert(part:wait(200))
      two = opened(namespace)
      local again = serving(two, "one")
      ended(two)
      assert.are.same({ "prepare t ", "commit t " }, one)
      assert.are.same({ "commit t " }, again)
    end))
  end

  it("keeps nothing of a wait whose limit has passed", run(function()
    local _, part = serving(opened(env.namespace()), "one")
    for _ = 1, 10 do env.fails("timeout", part:wait(1e-6)) end
    assert.is_nil(next(part.waiters.numbers))
    part:close()
  end))

  it("cannot wait for its own end", run(function()
    local two, part, problem = opened(env.namespace()), nil, nil
    local function prepare()
      local _, raised = pcall(part.stop, part)
      problem = raised
      return true
    end
    local _
    _, part = serving(two, "one", { prepare = prepare })
    assert.are.equal("committed", two:run("t", "", { "one" }, 200))
    assert.matches("cannot wait for the end of the participant; call close", problem)
    ended(two)
  end))
end)

describe("the arguments of two-phase commit", function()
  it("are checked", run(function()
    local session = env.session()
    local two = session:two_phase "/tp"
    env.raises("#1 to 'two_phase' %(path of a znode below the root expected", session.two_phase, session, "/")
    env.raises("unknown option 'kept'; there are: keep", session.two_phase, session, "/tp", { kept = 1 })
    local function refused(pattern, method, ...) env.raises(pattern, two[method], two, ...) end
    refused("#1 to 'run' %(string expected, got nil%)", "run")
    refused("#1 to 'run' %(the id is empty%)", "run", "")
    refused("#2 to 'run' %(string expected, got nil%)", "run", "t")
    refused("#3 to 'run' %(list of names expected, got nil%)", "run", "t", "")
    refused("at least one participant expected", "run", "t", "", {})
    refused("the participant 'a' is named twice", "run", "t", "", { "a", "a" })
    refused("name of a participant expected at 2", "run", "t", "", { "a", "" })
    refused("#4 to 'run' %(seconds expected, got nil%)", "run", "t", "", { "a" })
    refused("#1 to 'serve' %(the id is empty%)", "serve", "")
    refused("#2 to 'serve' %(table of functions expected", "serve", "a")
    refused("function expected", "serve", "a", { prepare = print })
    refused("unknown option 'undo'", "serve", "a", { prepare = print, commit = print, abort = print, undo = print })
    local many = {}
    for i = 1, 1001 do many[i] = "p" .. i end
    refused("at most 1000 participants expected, got 1001", "run", "t", "", many, 1)
    env.fails("too_large", two:run("t", ("x"):rep(2 * 1024 * 1024), { "a" }, 200))
  end))
end)
