-- Functions that run while a process leads: lead, every, stop.
-- Tags: sanitize

local zk = require "zkrecipes"
local sim = require "zkrecipes.sim"
local env = require "spec.support.env"
local run, fails = env.run, env.fails

describe("election:lead", function()
  it("campaigns, runs, resigns, again, until it is stopped", run(function()
    local session = env.session()
    local election, terms = session:election("/e"), {}
    local wait = env.start(function()
      return fails("canceled", election:lead(function(term)
        assert.is_true(term:valid())
        terms[#terms + 1] = term.token
        if #terms == 3 then zk.sleep(60) end
      end))
    end)
    env.eventually("three terms", function() return #terms == 3 end)
    assert.is_true(terms[1] < terms[2] and terms[2] < terms[3])
    assert.are.equal(1, election:stop())
    assert.matches("election:lead /e: it was stopped", wait())
    assert.are.equal(0, election:stop())
    env.queue_of(session, "/e", 0)
    assert(election:campaign(200)):resign()
  end))

  it("returns when it is stopped while it waits, and ends only its own work", run(function()
    local session = env.session()
    local term = assert(session:election("/e"):campaign())
    local election = session:election("/e")
    local own = env.start(function() return election:campaign(300) end)
    env.queue_of(session, "/e", 2)
    local wait = env.start(function() fails("canceled", election:lead(function() error("must not run") end)) end)
    env.queue_of(session, "/e", 3)
    election:stop()
    wait()
    env.queue_of(session, "/e", 2)
    term:resign()
    assert(own()):resign()
  end))

  it("ends with its session, and with the task that called it", run(function()
    local session = env.session()
    local led, ended = false, false
    local wait = env.start(function()
      fails("closed", session:election("/e"):lead(function(term)
        led = true
        fails("lost", term:sleep(60))
        ended = true
      end))
    end)
    env.eventually("it leads", function() return led end)
    session:close()
    wait()
    assert.is_true(ended)

    session, led = env.session(), false
    local stopped
    local _, task = env.start(function()
      session:election("/e"):lead(function()
        led = true
        local _, why = zk.pcall(zk.sleep, 60)
        stopped = why
      end)
    end)
    env.eventually("it leads", function() return led end)
    task:cancel()
    env.eventually("the function is stopped", function() return stopped == zk.canceled end)
    env.queue_of(session, "/e", 0)
  end))

  it("stops the function when the term is lost, whatever the function waits for", run(function()
    local session = env.session()
    local election, ends, terms = session:election("/e"), {}, {}
    local waits = {
      function() zk.sleep(60) end,
      function() session:lock("/held"):acquire() end,
      function() zk.spawn(zk.sleep, 0.05):wait(60); zk.sleep(60) end,
      function() zk.all { function() zk.sleep(60) end } end,
      function(term) assert(term:lost(600) == "lost"); zk.sleep(0); error("went on") end,
    }
    local held = assert(session:lock("/held"):acquire())
    local wait = env.start(function()
      election:lead(function(term)
        terms[#terms + 1] = term
        local number = #terms
        local _, why = zk.pcall(waits[number] or zk.sleep, waits[number] and term or 60)
        ends[number] = why
        assert.is_false(term:valid())
        zk.sleep(0) -- raises again
        ends[number] = "went on"
      end, { on_error = function(problem) error(problem) end })
    end)
    for i = 1, #waits do
      env.eventually("term " .. i, function() return terms[i] end)
      assert(session:delete(terms[i].path))
      env.eventually("its end", function() return ends[i] end)
      assert.are.equal(zk.canceled, ends[i])
    end
    election:stop()
    wait()
    held:release()
  end))

  it("gives a function in term:sleep one chance to end by itself", run(function()
    local session = env.session()
    local election, told, raised, terms = session:election("/e"), 0, 0, {}
    local wait = env.start(function()
      election:lead(function(term)
        terms[#terms + 1] = term
        if not term:sleep(60) then told = told + 1 end
        local ok, why = zk.pcall(term.sleep, term, 60)
        if not ok and why == zk.canceled then raised = raised + 1 end
      end)
    end)
    for i = 1, 10 do
      env.eventually("term " .. i, function() return terms[i] end)
      if i % 2 == 0 then zk.sleep(0.002) end
      assert(session:delete(terms[i].path))
      env.eventually("told and raised", function() return told == i and raised == i end)
    end
    election:stop()
    wait()
  end))

  it("resigns after an error, reports it, and pauses; other candidates lead meanwhile", run(function()
    local namespace = env.namespace()
    local session, other = env.session { namespace = namespace }, env.session { namespace = namespace }
    local election, problems, times = session:election("/e"), {}, {}
    local wait = env.start(function()
      election:lead(function()
        times[#times + 1] = zk.now()
        error("boom " .. #times)
      end, { backoff = 0.05, backoff_max = 0.2, on_error = function(problem) problems[#problems + 1] = problem end })
    end)
    env.eventually("an error", function() return #problems > 0 end)
    assert.matches("boom 1\nstack traceback", problems[1])
    assert(other:election("/e"):campaign(200)):resign()
    env.eventually("more errors", function() return #problems >= 5 end)
    election:stop()
    wait()
    -- pauses grow: at least 0.025, 0.05, 0.1, 0.1
    assert.is_true(times[5] - times[1] >= 0.27)
    assert(other:election("/e"):campaign(200)):resign()
  end))

  it("reports an error to the host if no task:wait takes it, and survives an error in on_error", function()
    local reports, terms = {}, 0
    zk.run(function()
      local session = env.session()
      local election = session:election("/e")
      local bad
      local function fn()
        terms = terms + 1
        if terms < 3 then error("boom " .. terms) end
        election:stop()
      end
      bad = function() error("bad handler") end
      election:lead(function() fn() end, { backoff = 0.001, on_error = terms == 0 and bad or nil })
      election:lead(function() terms = terms + 1; if terms == 4 then error("boom 4") end; election:stop() end, { backoff = 0.001 })
    end, { on_error = function(text) reports[#reports + 1] = text end })
    assert.are.equal(3, #reports)
    assert.matches("boom 1.*on_error failed: .*bad handler", reports[1])
    assert.matches("boom 4", reports[3])
  end)

  it("goes on after errors that have no text", function()
    local mute = setmetatable({}, { __tostring = function() error "no text" end })
    local reports, terms = {}, 0
    zk.run(function()
      local election = env.session():election("/e")
      election:lead(function()
        terms = terms + 1
        if terms == 1 then error(mute) end
        election:stop()
      end, { backoff = 0.001, on_error = function() error(mute) end })
    end, { on_error = function(text) reports[#reports + 1] = text end })
    assert.are.same({ "a table without a text\nand on_error failed: a table without a text" }, reports)
    assert.are.equal(2, terms)
  end)

  it("cools down before it campaigns again", run(function()
    local namespace = env.namespace()
    local session, other = env.session { namespace = namespace }, env.session { namespace = namespace }
    local election, ends, count = session:election("/e"), zk.now(), 0
    local wait = env.start(function()
      election:lead(function()
        count = count + 1
        assert.is_true(count == 1 or zk.now() - ends >= 0.1)
        ends = zk.now()
      end, { cooldown = 0.1 })
    end)
    env.eventually("one term", function() return count == 1 end)
    assert(other:election("/e"):campaign(200)):resign()
    env.eventually("three terms", function() return count == 3 end)
    election:stop()
    wait()
  end))

  it("does not resign before the function has ended", run(function()
    local session = env.session()
    local election, ended, leading = session:election("/e"), false, false
    local wait = env.start(function()
      return election:lead(function(term)
        leading = true
        zk.pcall(zk.sleep, 60)
        local from = zk.now()
        while zk.now() - from < 0.05 do end -- a busy loop, which cannot be stopped
        ended = term:valid()
      end)
    end)
    env.eventually("it leads", function() return leading end)
    local other = env.start(function()
      local term = assert(session:election("/e"):campaign(200))
      assert.is_true(ended)
      term:resign()
    end)
    env.queue_of(session, "/e", 2)
    election:stop()
    fails("canceled", wait())
    other()
  end))

  it("refuses arguments that it cannot use", run(function()
    local election = env.session():election("/e")
    assert.error_matches(function() election:lead() end, "bad argument #1 to 'lead' %(function expected")
    assert.error_matches(function() election:lead(print, { backof = 1 }) end, "unknown option 'backof'")
    assert.error_matches(function() election:lead(print, { backoff = -1 }) end, "must not be negative")
    assert.error_matches(function() election:every(0, print) end, "at least 0.001, got 0")
    assert.error_matches(function() election:every(1) end, "bad argument #2 to 'every'")
  end))
end)

describe("election:every", function()
  it("fires only on the leader: at once, and then at its times", run(function()
    local namespace, beats, active = env.namespace(), {}, 0
    local elections, waits = {}, {}
    for i = 1, 3 do
      local session = env.session { namespace = namespace }
      elections[i] = session:election("/e")
      waits[i] = env.start(function()
        elections[i]:every(0.02, function(term)
          active = active + 1
          assert.are.equal(1, active)
          assert.is_true(term:valid())
          beats[#beats + 1] = i
          local ok, problem = zk.pcall(zk.sleep, 0.002)
          active = active - 1
          if not ok then error(problem, 0) end
        end)
      end)
    end
    local function leader_after(from)
      env.eventually("beats", function() return #beats >= from + 3 end)
      for i = from + 2, #beats do assert.are.equal(beats[from + 1], beats[i]) end
      return beats[#beats]
    end
    local first = leader_after(0)
    elections[first]:stop()
    waits[first]()
    local second = leader_after(#beats)
    assert.are_not.equal(first, second)
    elections[second]:stop()
    waits[second]()
    local third = leader_after(#beats)
    assert.are_not.equal(second, third)
    elections[third]:stop()
    waits[third]()
  end))

  it("skips the beats that a long run has missed", run(function()
    local session = env.session()
    local election, starts, period = session:election("/e"), {}, 0.02
    election:every(period, function()
      starts[#starts + 1] = zk.now()
      if #starts == 1 then zk.sleep(period * 3.5) end
      if #starts == 4 then election:stop() end
    end)
    assert.are.equal(4, #starts)
    -- The second beat is the fourth of the clock. The missed beats do not follow it at once.
    assert.is_true(starts[2] - starts[1] >= period * 4 - 0.001)
    for i = 3, 4 do assert.is_true(starts[i] - starts[1] >= period * (i + 2) - 0.001) end
  end))

  it("ends the term after an error; the next beat comes with the next term", run(function()
    local session = env.session()
    local election, problems, tokens = session:election("/e"), 0, {}
    election:every(0.01, function(term)
      tokens[#tokens + 1] = term.token
      if #tokens == 1 then error("boom") end
      if #tokens == 3 then election:stop() end
    end, { backoff = 0.01, on_error = function() problems = problems + 1 end })
    assert.are.equal(1, problems)
    assert.is_true(tokens[1] < tokens[2])
    assert.are.equal(tokens[2], tokens[3])
  end))

  it("reports that its znode cannot be watched, and pauses before the next campaign", function()
    local world = sim.new { seed = 1 }
    world:run(function()
      assert(world:session():create("/e", ""))
      local session = world:session { acl = { { perms = "cdwa", scheme = "world", id = "anyone" } } } -- nobody may read what it creates
      local election, calls, problems = session:election "/e", 0, {}
      local task = world.zk.spawn(function()
        return election:every(1, function() calls = calls + 1 end, { on_error = function(problem) problems[#problems + 1] = problem end })
      end)
      world:advance(20)
      election:stop()
      fails("canceled", task:wait(30))
      assert.is_true(calls > 1 and calls < 10, calls)
      assert.equal(calls, #problems)
      assert.matches("^election:every /e: the znode's ACL does not allow it", problems[1])
    end)
  end)
end)

describe("what is left of leading", function()
  it("is nothing", function() env.alone "lead" end)
end)
