-- The leader's timers that remember: election:every with `remember`, election:cron. Their rules under faults are proven in histories.
-- Tags: sanitize

local child = require "spec.support.child"
local cron = require "zkrecipes.recipes.election.cron"
local env = require "spec.support.env"
local run = env.run

-- Starts a timer that keeps its beats. Returns them, and a function that stops it.
local function started(session, method, schedule, options, fn)
  local election, beats = session:election("/e"), {}
  options = options or {}
  options.on_error = options.on_error or function(problem) error(problem, 0) end
  local wait = env.start(function()
    return env.fails("canceled", election[method](election, schedule, function(term, beat)
      beats[#beats + 1] = beat
      if fn then fn(term, beat) end
    end, options))
  end)
  return beats, function()
    election:stop()
    return wait()
  end
end

local function on(count, beats) env.eventually(count .. " beats", function() return #beats >= count end) end

local function record(due, ended, outcome) return ("due %.3f\nended %.3f\noutcome %s\n"):format(due, ended, outcome) end

-- A session, the record of an earlier leader in its namespace, and the servers' clock.
local function after(age, outcome)
  local session = env.session()
  assert(session:create("/e-timer", ""))
  local now = assert(session:set("/e-timer", "")).mtime / 1000
  local due = math.floor(now) - age
  assert(session:set("/e-timer", record(due, outcome == "running" and 0 or due + 0.5, outcome)))
  return session, due, now
end

describe("a timer that remembers", function()
  it("calls at once, then at every multiple, and tells when and how the last run ended", run(function()
    local session = env.session()
    assert(session:create("/clock", ""))
    local before = assert(session:set("/clock", "")).mtime / 1000
    local beats, stop = started(session, "every", 0.05, { remember = true })
    on(5, beats)
    assert.matches("election:every /e: it was stopped", stop())
    local later = assert(session:set("/clock", "")).mtime / 1000
    assert.is_true(beats[1].due >= before - 0.001 and beats[1].due <= later)
    assert.is_nil(beats[1].last)
    for i = 2, #beats do
      local steps = (beats[i].due - beats[i - 1].due) / 0.05
      assert.is_true(steps > 0.9 and math.abs(steps - math.floor(steps + 0.5)) < 0.05)
      assert.are.equal("done", beats[i].last.outcome)
      assert.is_true(math.abs(beats[i].last.due - beats[i - 1].due) < 0.001)
      assert.is_nil(beats[i].again)
    end
    assert.matches("^due %d+%.%d%d%d\nended %d+%.%d%d%d\noutcome %l+\n$", (session:get("/e-timer")))
    env.queue_of(session, "/e", 0)
  end))

  it("goes on with the beats of the last leader, and makes up once for those that passed", run(function()
    local session, due = after(100, "done")
    local beats, stop = started(session, "every", 10, { remember = true })
    on(1, beats)
    stop()
    local steps = (beats[1].due - due) / 10
    assert.is_true(steps >= 10 and steps % 1 == 0)
    assert.are.equal(steps - 1, beats[1].missed)
    assert.are.same({ due = due, outcome = "done" }, beats[1].last)
  end))

  it("or leaves them out, and tells how many", run(function()
    local session, due, now = after(100, "failed")
    local beats, stop = started(session, "every", 0.4, { remember = true, catch_up = "none" })
    on(1, beats)
    stop()
    local first = beats[1]
    assert.is_true(first.due > now)
    assert.are.equal(math.floor((first.due - due) / 0.4 + 0.5) - 1 - 1, first.missed) -- the one that passed within the run is no miss
    assert.are.equal("failed", first.last.outcome)
  end))

  it("tells of a run that was cut, and repeats its beat only if asked to", run(function()
    local session, due = after(100, "running")
    local beats, stop = started(session, "every", 60, { remember = true })
    on(1, beats)
    stop()
    assert.is_true(beats[1].due > due)
    assert.are.same({ due = due, outcome = "cut" }, beats[1].last)

    session, due = after(610, "running") -- the next beat after this one is 590 seconds away
    beats, stop = started(session, "every", 600, { remember = true, recover = true })
    on(2, beats)
    stop()
    assert.are.same({ due = due, missed = 0, again = true, last = { due = due, outcome = "cut" } }, beats[1])
    assert.are.same({ due = due + 600, missed = 0, last = { due = due, outcome = "done" } }, beats[2])
  end))

  it("keeps the times of a cron expression, also those of the days before", run(function()
    local session, due = after(3 * 86400, "done")
    local beats, stop = started(session, "cron", "0 0 * * *")
    on(1, beats)
    stop()
    local last, count = assert(cron.parse "0 0 * * *"):between(due + 0.5, beats[1].due)
    assert.are.same({ last, count - 1 }, { beats[1].due, beats[1].missed })

    session = env.session() -- the first leader: nothing has passed
    beats, stop = started(session, "cron", "0 0 1 1 *")
    env.eventually("the record", function() return (session:get("/e-timer") or ""):find "none" end)
    stop()
    assert.are.equal(0, #beats)
  end))

  it("tells that the last run failed, and the error is reported", run(function()
    local problems, session = {}, env.session()
    local beats, stop = started(session, "every", 0.05, { remember = true, backoff = 0.01, on_error = function(problem)
      problems[#problems + 1] = problem
    end }, function() error "boom" end)
    on(2, beats)
    stop()
    assert.matches("boom\nstack traceback", problems[1])
    assert.are.equal("failed", beats[2].last.outcome)
  end))

  it("says what to do if its znode has other data, and begins anew when it is deleted", run(function()
    local session, problems = env.session(), {}
    for _, data in ipairs { "hello", "due 1\nended 0\noutcome done\n", record(1, 0, "odd"), record(1, 0, "done") .. "x", "\0",
      record(1e13, 0, "done"), record(1, 1e20, "done"), "due " .. ("9"):rep(400) .. ".000\nended 0.000\noutcome done\n" } do
      session:create("/e-timer", "")
      assert(session:set("/e-timer", data))
      local beats, stop = started(session, "every", 1, { remember = true, backoff = 0.01, backoff_max = 0.02,
        on_error = function(problem) problems[#problems + 1] = problem end })
      env.eventually("a report", function() return #problems > 0 end)
      assert.matches("election:every /e: /e%-timer has no record of a timer; delete it", problems[1])
      assert.are.equal(0, #beats)
      assert(session:delete("/e-timer"))
      on(1, beats)
      stop()
      problems = {}
    end
  end))

  it("works without a queue, and by rank", run(function()
    for _, options in ipairs { { fair = false }, { rank = 1 } } do
      local election, count = env.session():election("/e", options), 0
      env.start(function() election:every(0.01, function() count = count + 1 end, { remember = true }) end)
      env.eventually("beats", function() return count > 2 end)
      election:stop()
    end
  end))

  it("resigns by its function, which cuts the run", run(function()
    local session = env.session()
    local beats, stop = started(session, "every", 0.05, { remember = true }, function(term) term:resign() end)
    on(2, beats)
    stop()
    assert.are.equal("cut", beats[2].last.outcome)
  end))
end)

describe("a process with a timer that is killed", function()
  -- Returns the beats of the next leader, and the last beat of the process that was killed.
  local function killed(stay, options)
    local namespace = env.namespace()
    local process = child.start(namespace, 4, nil, { script = "timer" })
    process:tell(stay)
    local due = tonumber(process:answer():match "^due (.*)$")
    process:signal "KILL"
    process:stop()
    local beats, stop = started(env.session { namespace = namespace }, "every", 0.2, options)
    on(2, beats)
    stop()
    return beats, due
  end

  it("in a run leaves it cut: no beat is called twice", run(function()
    local beats, due = killed("1000", { remember = true })
    assert.is_true(beats[1].due > due + 0.1)
    assert.are.same({ due = due, outcome = "cut" }, beats[1].last)
    assert.are.equal(math.floor((beats[1].due - due) / 0.2 + 0.5) - 1, beats[1].missed)
  end))

  it("in a run that may be repeated: the next leader repeats it", run(function()
    local beats, due = killed("1000", { remember = true, recover = true })
    assert.are.equal(due, beats[1].due)
    assert.is_true(beats[1].again)
    assert.is_true(beats[2].due > due + 0.1)
  end))
end)

describe("the arguments of timers", function()
  it("are checked", run(function()
    local election = env.session():election("/e")
    local function fn() end
    local function refused(pattern, method, ...) env.raises(pattern, election[method], election, ...) end
    refused("#1 to 'cron' %(string expected, got nil%)", "cron")
    refused("#1 to 'cron' %('61 %* %* %* %*': minute: from 0 to 59 expected, got '61'%)", "cron", "61 * * * *", fn)
    refused("#2 to 'cron' %(function expected", "cron", "* * * * *")
    refused("unknown option 'remember'", "cron", "* * * * *", fn, { remember = true })
    refused("'catch_up': \"once\" or \"none\" expected, got 'all'", "cron", "* * * * *", fn, { catch_up = "all" })
    refused("'catch_up': \"once\" or \"none\" expected", "every", 1, fn, { remember = true, catch_up = "twice" })
    refused("options 'catch_up' and 'recover' need remember = true", "every", 1, fn, { catch_up = "once" })
    refused("options 'catch_up' and 'recover' need remember = true", "every", 1, fn, { recover = true })
    refused("option 'remember': boolean expected", "every", 1, fn, { remember = "/path" })
  end))
end)
