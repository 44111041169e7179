-- The rounds of each recipe. begin(soak, zk) makes the sessions and returns a function(number) that plays one round and returns at its end;
-- zk: a client process. If a recipe has waiters, in each round a waiter waits with success and another one in vain.

local handles = require "spec.soak.handles"
local parts = require "spec.soak.parts"
local requests = require "spec.soak.requests"

local M = {}
local SOON, fails, hand_off, let_go, together = parts.SOON, parts.fails, parts.hand_off, parts.let_go, parts.together

local function recipe(name, begin, more)
  local one = more or {}
  one.name, one.begin = name, begin
  M[#M + 1] = one
end

local function locks(name, options, path_of, more)
  recipe(name, function(soak, zk)
    local sessions = { soak:session(zk), soak:session(), soak:session() }
    local made
    return function(number)
      local path = path_of and path_of(number) or "/lock"
      if not made or path_of then
        made = {}
        for i = 1, 3 do made[i] = sessions[i]:lock(path, options) end
      end
      hand_off(zk, function(limit) return made[1]:acquire(limit) end, function(limit) return made[2]:acquire(limit) end,
        function(limit) return made[3]:acquire(limit) end, let_go)
    end
  end, more)
end

locks("lock", nil)
locks("lock, unfair", { fair = false })
locks("lock, reentrant", { reentrant = true })
locks("lock, cohort", { cohort = true })
-- Waits until the servers have removed the directories, which are containers.
locks("lock, many paths", nil, function(number) return "/locks/" .. number end, { reap = 1000 })
locks("lock, many, unfair", { fair = false }, function(number) return "/locks/" .. number end, { reap = 1000 })

recipe("lock, one session", function(soak, zk)
  local lock = soak:session(zk):lock "/lock"
  local function acquire(limit) return lock:acquire(limit) end
  return function()
    hand_off(zk, acquire, acquire, acquire, let_go)
    local waits = { assert(lock:acquire(1)) }
    local task = zk.spawn(function() return lock:acquire() end)
    zk.sleep(SOON)
    lock:cancel()
    fails("canceled", task:wait())
    waits[1]:release()
  end
end)

recipe("lock, strangers", (require "spec.soak.strangers"))

recipe("lock, revocable", function(soak, zk)
  local holder = soak:session(zk):lock("/lock", { data = "mine", on_request = function(hold) hold:release() end })
  local asker = soak:session():lock "/lock"
  return function()
    local hold = assert(holder:acquire(10))
    repeat
      assert(asker:request())
    until hold:lost(0.05)
    local other = assert(asker:acquire(10))
    other:release()
  end
end)

recipe("rwlock", function(soak, zk)
  local one, other, third = soak:session(zk):rwlock "/rw", soak:session():rwlock "/rw", soak:session():rwlock "/rw"
  return function()
    hand_off(zk, function(limit) return one:write(limit) end, function(limit) return other:read(limit) end,
      function(limit) return third:write(limit) end, let_go)
    hand_off(zk, function(limit) return one:read(limit) end, function(limit) return other:write(limit) end,
      function(limit) return third:read(limit) end, let_go)
  end
end)

recipe("rwlock, downgrade", function(soak, zk)
  local one, other, third = soak:session(zk):rwlock "/rw", soak:session():rwlock "/rw", soak:session():rwlock "/rw"
  return function()
    local hold = assert(one:write(10))
    local reader = zk.spawn(function() assert(other:read(10)):release() end)
    fails("timeout", third:read(SOON))
    assert(hold:downgrade())
    reader:wait()
    fails("timeout", third:write(SOON))
    hold:release()
  end
end)

recipe("semaphore", function(soak, zk)
  local one, other, third = soak:session(zk):semaphore("/pool", 2), soak:session():semaphore("/pool", 2),
    soak:session():semaphore("/pool", 2)
  return function()
    local kept = assert(third:acquire(10))
    hand_off(zk, function(limit) return one:acquire(limit) end, function(limit) return other:acquire(limit) end,
      function(limit) return third:acquire(limit) end, let_go)
    kept:release()
  end
end)

recipe("semaphore, resized", function(soak, zk)
  local first, second = soak:session(zk), soak:session()
  return function()
    local one, other = first:semaphore("/pool", 1), second:semaphore("/pool", 1)
    local hold = assert(one:acquire(10))
    local waiter = zk.spawn(function() assert(other:acquire(10)):release() end)
    zk.sleep(SOON)
    assert(one:resize(2))
    waiter:wait()
    assert(one:available())
    hold:release()
    assert(one:resize(1))
  end
end)

local function multilock_of(session)
  return session:multilock { session:lock "/a", session:lock "/b", session:rwlock("/c"):writer() }
end

recipe("multilock", function(soak, zk)
  local all = {}
  for i = 1, 3 do all[i] = multilock_of(i == 1 and soak:session(zk) or soak:session()) end
  return function()
    hand_off(zk, function(limit) return all[1]:acquire(limit) end, function(limit) return all[2]:acquire(limit) end,
      function(limit) return all[3]:acquire(limit) end, let_go)
  end
end)

recipe("multilock, handles", function(soak, zk)
  local one, other, third = soak:session(zk), soak:session(), soak:session()
  return function()
    hand_off(zk, function(limit) return multilock_of(one):acquire(limit) end,
      function(limit) return multilock_of(other):acquire(limit) end,
      function(limit) return multilock_of(third):acquire(limit) end, let_go)
  end
end)

-- ---- Elections ---------------------------------------------------------------------------------

local function resign(term) term:resign() end

local function elections(name, options)
  recipe(name, function(soak, zk)
    local all = {}
    for i = 1, 3 do all[i] = (i == 1 and soak:session(zk) or soak:session()):election("/e", options) end
    return function()
      hand_off(zk, function(limit) return all[1]:campaign(limit) end, function(limit) return all[2]:campaign(limit) end,
        function(limit) return all[3]:campaign(limit) end, resign)
    end
  end)
end

elections("election", { value = "v" })
elections("election, unfair", { value = "v", fair = false })
elections("election, by rank", { value = "v", rank = 1 })

-- There are always four candidates and one observer. In a round the leader resigns and campaigns again.
local function stand(process, election, state)
  return process.spawn(function()
    while not state.over do
      local term = assert(election:campaign())
      local turn = state.turn
      while state.turn == turn and not state.over do process.sleep(SOON) end
      term:resign()
    end
  end)
end

local function observe(process, election, state)
  return process.spawn(function()
    for leader in election:observe() do
      state.seen = leader and leader.token
      if state.over and not (state.by_rank and leader) then return end -- a handle keeps what was seen last
    end
  end)
end

local function standing(name, options)
  recipe(name, function(soak, zk)
    local all, state, tasks = {}, { turn = 0, by_rank = options.rank }, nil
    for i = 1, 4 do
      local process = i == 1 and zk or soak:process()
      all[i] = { process, soak:session(process):election("/e", options) }
    end
    local function start()
      state.over, tasks = false, {}
      for i = 1, 4 do tasks[i] = stand(all[i][1], all[i][2], state) end
      tasks[5] = observe(all[1][1], all[1][2], state)
    end
    function soak.rest()
      state.over = true
      for i = 1, 5 do tasks[i]:wait() end
      tasks, state.seen = nil, nil
    end
    return function()
      if not tasks then start() end
      local before = state.seen
      state.turn = state.turn + 1
      repeat zk.sleep(SOON) until state.seen and state.seen ~= before
    end
  end)
end

standing("election, observe", { value = "v" })
standing("by rank, observe", { value = "v", rank = 1 })

-- Two processes lead in turn: run(election, count) leads until it is stopped, and calls count() in each term.
local function in_turn(name, turns, run)
  recipe(name, function(soak, zk)
    local first, second = soak:session(zk), soak:session()
    return function()
      local one, other, served = first:election "/e", second:election "/e", 0
      local function count()
        served = served + 1
        return served
      end
      local tasks = { zk.spawn(run, one, count), zk.spawn(run, other, count) }
      while served < turns do zk.sleep(SOON) end
      one:stop()
      other:stop()
      tasks[1]:wait()
      tasks[2]:wait()
    end
  end)
end

in_turn("election, lead", 3, function(election, count)
  election:lead(function(term)
    count()
    term:ready()
    term:sleep(SOON)
  end)
end)

in_turn("election, timer", 6, function(election, count)
  election:every(SOON, function(term)
    if count() % 3 == 0 then term:resign() end
  end, { remember = true })
end)

local function handed_over(name, options)
  recipe(name, function(soak, zk)
    local all = {}
    for i = 1, 3 do all[i] = (i == 1 and soak:session(zk) or soak:session()):election("/e", options) end
    return function()
      local term = assert(all[1]:campaign(10))
      local tasks = {}
      for i = 2, 3 do
        tasks[i] = zk.spawn(function()
          local next_term = assert(all[i]:campaign(10))
          zk.sleep(SOON)
          next_term:resign()
        end)
      end
      local candidates
      repeat
        zk.sleep(SOON)
        candidates = assert(all[1]:candidates())
      until #candidates == 3
      assert(term:resign(candidates[3], 10))
      for i = 2, 3 do tasks[i]:wait() end
    end
  end)
end

handed_over("successor", { value = "v" })
handed_over("successor, by rank", { value = "v", rank = 1 })

-- ---- Barriers and latches ----------------------------------------------------------------------

recipe("barrier", function(soak, zk)
  local one, other = soak:session(zk):barrier "/b", soak:session():barrier "/b"
  return function()
    assert(one:close())
    local waiter = zk.spawn(function() return other:wait() end)
    fails("timeout", one:wait(SOON))
    assert(one:open())
    assert(waiter:wait())
  end
end)

recipe("barrier, cyclic", function(soak, zk)
  local all = { soak:session(zk):cyclic_barrier("/b", 2), soak:session():cyclic_barrier("/b", 2) }
  return function()
    fails("timeout", all[1]:wait(SOON))
    together(zk, 2, function(i) return all[i]:wait() end)
  end
end)

recipe("barrier, double", function(soak, zk)
  local sessions, all = { soak:session(zk), soak:session() }, {}
  return function()
    for i = 1, 2 do all[i] = sessions[i]:double_barrier("/b", 2) end
    fails("timeout", all[1]:enter(SOON))
    together(zk, 2, function(i) return all[i]:enter() end)
    together(zk, 2, function(i) return all[i]:leave() end)
  end
end)

recipe("latch", function(soak, zk)
  local one, other = soak:session(zk), soak:session()
  return function(number)
    local path = "/latch/" .. number
    local waiter = zk.spawn(function() return other:latch(path, 2):wait() end)
    local latch = one:latch(path, 2)
    assert(latch:count_down() == 1)
    fails("timeout", latch:wait(SOON))
    assert(latch:count_down() == 0)
    assert(waiter:wait())
    assert(one:delete_tree(path))
  end
end)

-- ---- Queues ------------------------------------------------------------------------------------

recipe("queue", function(soak, zk)
  local one, other = soak:session(zk):queue "/jobs", soak:session():queue "/jobs"
  return function(number)
    fails("timeout", other:claim(SOON))
    local waiter = zk.spawn(function() return other:claim(10) end)
    assert(one:put("job " .. number))
    local item = assert(waiter:wait())
    if number % 3 == 0 then
      assert(item:nack())
      item = assert(one:claim(10))
    end
    assert(item:ack())
    assert(one:put_all { "a", "b" })
    assert(one:take(10))
    assert(other:take(10))
  end
end)

recipe("queue, prefetch", function(soak, zk)
  local one, other = soak:session(zk):queue("/jobs", { prefetch = 4 }), soak:session():queue "/jobs"
  return function(number)
    assert(other:put_all { "1", "2", "3", "4", "5" })
    local items = { assert(one:claim(60)), assert(one:claim(60)), assert(one:claim(60)) }
    if number % 3 == 0 then zk.sleep(2) end -- the others go back
    assert(one:ack_all(items))
    for _ = 4, 5 do assert(assert(one:claim(60)):ack()) end
    fails("timeout", one:claim(SOON))
  end
end)

recipe("queue, simple", function(soak, zk)
  local one, other = soak:session(zk):queue("/jobs", { format = "simple" }), soak:session():queue("/jobs", { format = "simple" })
  return function(number)
    fails("timeout", other:take(SOON))
    local waiter = zk.spawn(function() return other:take(10) end)
    assert(one:put("job " .. number))
    assert(waiter:wait())
  end
end)

handles.add(M, recipe)

requests.add(recipe, fails)

for _, one in ipairs(require "spec.soak.numbers") do M[#M + 1] = one end

return M
