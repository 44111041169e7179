-- What a lock shows of its queue.
-- Tags: sanitize

local env = require "spec.support.env"
local kinds = require "spec.support.kinds"
local run = env.run

describe("a lock", function()
  it("shows what its waiting attempts know of the queue", run(function()
    local session = env.session()
    local lock = session:lock("/l")
    assert.are.same({}, lock:attempts())
    local hold = assert(lock:acquire())
    assert.are.same({}, lock:attempts())
    local waits = {}
    for i = 1, 2 do
      waits[i] = env.start(function() return lock:acquire(200) end)
      env.queue_of(session, "/l", i + 1)
    end
    env.eventually("both know their place", function()
      local all = lock:attempts()
      return all[1].ahead == 1 and all[2].ahead == 2 and all[1].since <= all[2].since
    end)
    hold:release()
    for i = 1, 2 do assert(waits[i]()):release() end
    assert.are.same({}, lock:attempts())
  end))

  it("lists the contenders in queue order", run(function()
    local session = env.session()
    local hold = assert(session:lock("/l", { data = "first\0binary" }):acquire())
    local wait = env.start(function() return session:lock("/l", { data = "second" }):acquire() end)
    env.queue_of(session, "/l", 2)
    local all = assert(session:lock("/l"):contenders())
    assert.are.equal(2, #all)
    assert.are.same({ "first\0binary", true, hold.token }, { all[1].data, all[1].holding, all[1].token })
    assert.are.same({ "second", false }, { all[2].data, all[2].holding })
    assert.are.same({ session.id, false }, { all[2].session, all[2].shared })
    assert.is_true(math.abs(all[1].since - os.time()) < 600)
    hold:release()
    wait():release()
    assert.are.same({}, session:lock("/nobody"):contenders())
  end))
end)

-- The number of contenders ahead of each attempt, or "?" if it does not know. Each attempt waits at least as long as the next one.
local function ahead(object)
  local all, list = object:attempts(), {}
  for i = 1, #all do
    assert.is_true(i == 1 or all[i].since >= all[i - 1].since)
    list[i] = tostring(all[i].ahead or "?")
  end
  return table.concat(list, " ")
end

local function knows(object, expected)
  env.eventually("it says " .. expected, function() return ahead(object) == expected end)
end

local function stop(object, waits)
  assert.are.equal(#waits, object:cancel())
  for i = 1, #waits do env.fails("canceled", waits[i]()) end
  assert.are.equal("", ahead(object))
end

-- The numbers that three attempts show behind a holder of the same handle, and the number of contenders.
local SAYS = { fair = { "1 2 3", 4 }, unfair = { "? ? ?", 1 }, cohort = { "1 2 3", 1 }, reentrant = { "1 2 3", 4 },
  writer = { "1 2 3", 4 }, permit = { "1 2 3", 4 }, term = { "1 2 3", 4 }, unfair_term = { "? ? ?", 1 }, ranked = { "? ? ?", 4 } }

describe("the attempts and contenders of", function()
  for name, says in pairs(SAYS) do
    it(name .. " are complete", run(function()
      local session, waits = env.session(), {}
      local kind = kinds.make[name](session, "/l")
      local object = kind.object
      assert.are.equal("", ahead(object))
      local hold = assert(kind.acquire(200))
      assert.are.equal("", ahead(object))
      for i = 1, 3 do
        waits[i] = env.start(kind.acquire)
        env.eventually("it waits", function() return #object:attempts() == i end)
        if says[2] > 1 then env.queue_of(session, "/l", i + 1) end
      end
      knows(object, says[1])
      local all = assert((object.contenders or object.candidates)(object))
      assert.are.equal(says[2], #all)
      for i = 1, #all do assert.are.equal(i == 1, all[i].holding or all[i].leading or false) end
      stop(object, waits)
      kinds.release(hold)
      session:close()
    end))
  end

  it("readers: how many contenders are ahead", run(function()
    local session, waits = env.session(), {}
    local rw = session:rwlock("/l")
    local hold = assert(rw:write(200))
    for i, method in ipairs { "read", "read", "write" } do
      waits[i] = env.start(rw[method], rw)
      env.queue_of(session, "/l", i + 1)
    end
    knows(rw, "1 2 3")
    stop(rw, waits)
    hold:release()
    session:close()
  end))

  it("a cohort behind other contenders: the place of its znode, and the places of its members", run(function()
    local session, waits = env.session(), {}
    local hold, cohort = assert(session:lock("/l"):acquire()), session:lock("/l", { cohort = true })
    for i = 1, 3 do waits[i] = env.start(cohort.acquire, cohort) end
    local given_up = env.start(cohort.acquire, cohort, 0.01)
    waits[4] = env.start(cohort.acquire, cohort)
    env.late(given_up())
    knows(cohort, "1 2 3 4")
    assert.are.equal(2, #cohort:contenders())
    hold:release()
    local turn = assert(waits[1]())
    knows(cohort, "1 2 3")
    turn:release()
    turn = assert(waits[2]())
    knows(cohort, "1 2")
    stop(cohort, { waits[3], waits[4] })
    turn:release()
    session:close()
  end))

  it("an election by rank without a leader: contenders in order of their ranks", run(function()
    local session, candidates = env.session(), {}
    for i, rank in ipairs { 5, 7, 5, 9 } do
      local election = session:election("/l", { rank = rank, quorum = 5 })
      candidates[i] = { election = election, wait = env.start(election.campaign, election) }
      env.queue_of(session, "/l", i)
    end
    for i, expected in ipairs { "2", "1", "3", "0" } do knows(candidates[i].election, expected) end
    assert(candidates[1].election:update_rank(8))
    for i, expected in ipairs { "1", "2", "3", "0" } do knows(candidates[i].election, expected) end
    for i = 1, 4 do stop(candidates[i].election, { candidates[i].wait }) end
    session:close()
  end))
end)
