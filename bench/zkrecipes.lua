-- zkrecipes as a contestant: lua bench/zkrecipes.lua HOSTS PATH SCENARIO ARGUMENTS; see bench/README.md.
-- With the word `simulated` for HOSTS it runs in a simulated world, always in the same way.

local zk = require "zkrecipes"
local core = require "zkrecipes.core"

local hosts, path, scenario = arg[1], arg[2], arg[3]
if hosts == "simulated" then zk, hosts = require("zkrecipes.sim").new().zk, nil end
local clock = os.clock -- CPU of all threads
local WARM_UP, FIRST_TURNS = 100, 10 -- operations, of them hand-overs
local LONG = 60 -- seconds: no busy machine loses such a session
local session

local function report(ops, seconds, cpu, more)
  print(("{\"ops\":%.0f,\"seconds\":%.6f,\"cpu\":%.6f%s}"):format(ops, seconds, cpu, more or ""))
  io.stdout:flush()
end

-- Runs fn() and prints how long it took for so many operations.
local function measure(ops, fn)
  local from, cpu = zk.now(), clock()
  fn()
  report(ops, zk.now() - from, clock() - cpu)
end

local others = {} -- kept open

local function second_session()
  local other = zk.session { hosts = hosts, timeout = LONG }
  assert(other:connected(LONG))
  others[#others + 1] = other
  return other
end

-- fn(i) in so many coroutines.
local function together(count, fn)
  local tasks = {}
  for i = 1, count do
    tasks[i] = zk.spawn(fn, i)
  end
  for i = 1, count do
    tasks[i]:wait()
  end
end

-- Waits until so many contenders are in the queue, and everything before has been answered.
local function queued(dir, count)
  repeat
    zk.sleep(0.005)
  until #(session:children(dir) or {}) >= count
  zk.sleep(0.2)
end

local function turns_of(acquire, turns)
  for _ = 1, turns do
    assert(acquire()):release()
  end
end

-- Runs turns one after another; `acquire` is the function that gives a hold.
local function in_turn(acquire, turns)
  turns_of(acquire, WARM_UP)
  measure(turns, function() turns_of(acquire, turns) end)
end

local function acquire_of(lock)
  return function() return lock:acquire() end
end

-- Runs this many coroutines, each with its turns, after two turns to warm up.
local function crowd(count, turns, acquire_at)
  together(count, function(i) turns_of(acquire_at(i), 2) end)
  measure(count * turns, function()
    together(count, function(i) turns_of(acquire_at(i), turns) end)
  end)
end

-- From the first grant to the last: idle threads have woken up by then. The waiters of a directory can be counted. contest.acquire gets the
-- number of the waiter, or 0.
local function drain(contest, waiters)
  local hold, tasks, first, last = assert(contest.acquire(0)), {}, nil, nil
  for i = 1, waiters do
    tasks[i] = zk.spawn(function()
      local mine = assert(contest.acquire(i))
      last = zk.now()
      first = first or last
      contest.release(mine)
    end)
  end
  queued(path, contest.queued and waiters + 1 or 0)
  local cpu = clock()
  contest.release(hold)
  for i = 1, waiters do
    tasks[i]:wait()
  end
  return last - first, clock() - cpu
end

-- Resident memory in bytes.
local function resident()
  local file = assert(io.open("/proc/self/statm"))
  local _, pages = file:read("*n", "*n")
  file:close()
  return pages * 4096
end

local scenarios = {}

function scenarios.free(turns) in_turn(acquire_of(session:lock(path)), turns) end

-- ... while other sessions of the process have nothing to do.
function scenarios.beside(count, turns)
  for _ = 1, count do second_session() end
  scenarios.free(turns)
end

function scenarios.at_once(count, turns)
  local locks = {}
  for i = 1, count do
    locks[i] = acquire_of(session:lock(path .. "/" .. i))
  end
  crowd(count, turns, function(i) return locks[i] end)
end

function scenarios.loop(count, turns)
  local acquire = acquire_of(session:lock(path))
  crowd(count, turns, function() return acquire end)
end

-- What is handed over.
local contests = {}

local function of_lock(lock, queues)
  return { acquire = acquire_of(lock), release = function(hold) hold:release() end, queued = queues }
end

local function of_election(election)
  return { acquire = function() return election:campaign() end, release = function(term) term:resign() end, queued = true }
end

function contests.fair() return of_lock(session:lock(path), true) end
function contests.unfair() return of_lock(session:lock(path, { fair = false })) end
function contests.reentrant() return of_lock(session:lock(path, { reentrant = true }), true) end
function contests.cohort() return of_lock(session:lock(path, { cohort = true })) end
function contests.writer() return of_lock(session:rwlock(path):writer(), true) end
function contests.permit() return of_lock(session:semaphore(path, 1), true) end
function contests.multilock() return of_lock(session:multilock { session:lock(path), session:lock(path .. "-other") }, true) end
function contests.term() return of_election(session:election(path)) end
function contests.ranked() return of_election(session:election(path, { rank = 1 })) end

local function hand_over(contest, waiters, rounds)
  local seconds, cpu = 0, 0
  drain(contest, waiters)
  for _ = 1, rounds do
    local took, spent = drain(contest, waiters)
    seconds, cpu = seconds + took, cpu + spent
  end
  report((waiters - 1) * rounds, seconds, cpu)
end

function scenarios.handoff(waiters, rounds) hand_over(contests[arg[6] or "fair"](), waiters, rounds) end

-- As `handoff`, with a session for each waiter.
function scenarios.across(waiters, rounds)
  local locks, contest = { [0] = session:lock(path) }, of_lock(nil, true)
  for i = 1, waiters do locks[i] = second_session():lock(path) end
  function contest.acquire(i) return locks[i]:acquire() end
  hand_over(contest, waiters, rounds)
end

function scenarios.contend(first, last)
  local lock, count = session:lock(path), 0
  local from, cpu
  while os.time() < last do
    assert(lock:acquire()):release()
    if not from and os.time() >= first then from, cpu, count = zk.now(), clock(), 0 end
    count = count + 1
  end
  report(count, last - first, clock() - cpu)
end

scenarios["try"] = function(turns)
  local hold = assert(second_session():lock(path):acquire())
  local lock = session:lock(path)
  assert(session:connected(LONG)) -- a try waits for no connection
  measure(turns, function()
    for _ = 1, turns do
      local _, message, code = lock:acquire(0)
      assert(code == "timeout", message) -- without a link it would fail without a request
    end
  end)
  hold:release()
end

-- Fills, and reports by how much the process has grown for each of so many.
local function growth(count, fill)
  collectgarbage() collectgarbage()
  local bytes, rss, heap = core.alloc_bytes(), resident(), collectgarbage("count")
  fill()
  zk.sleep(0.5)
  rss = resident() - rss
  collectgarbage() collectgarbage()
  report(count, 0, 0, (",\"rss\":%.0f,\"c\":%.0f,\"lua\":%.0f"):format(rss / count, (core.alloc_bytes() - bytes) / count,
    (collectgarbage("count") - heap) * 1024 / count))
end

function scenarios.memory(waiters)
  local hold, lock = assert(second_session():lock(path):acquire()), session:lock(path)
  assert(lock:acquire(0.05) == nil)
  growth(waiters, function()
    for i = 1, waiters do
      zk.spawn(function() lock:acquire() end)
      if i % 100 == 0 then zk.sleep(0) end
    end
    queued(path, waiters + 1)
  end)
  hold:release()
  os.exit(0) -- do not wait until all are served
end

-- Idle sessions that hold a lock each.
function scenarios.sessions(count)
  local holds = {}
  local function open(from, to)
    for i = from, to do holds[i] = assert(second_session():lock(("%s/%d"):format(path, i)):acquire()) end
  end
  open(1, 5)
  growth(count, function() open(6, 5 + count) end)
  for _, hold in ipairs(holds) do hold:release() end
end

function scenarios.start()
  assert(session:lock(path):acquire())
  report(1, 0, 0)
end

local function median(list)
  table.sort(list)
  return list[math.ceil(#list / 2)]
end

-- Candidates of a session each, which lead in turn.
function scenarios.handover(turns, candidates)
  candidates = math.max(candidates, 2)
  local options, tasks, took = arg[6] == "ranked" and { rank = 1 } or nil, {}, {}
  local led
  local function stand(i)
    tasks[i] = tasks[i] or { election = (i == 1 and session or second_session()):election(path, options) }
    tasks[i].wait = zk.spawn(function()
      local term = assert(tasks[i].election:campaign())
      led = zk.now()
      return term
    end)
  end
  for i = 1, candidates do
    stand(i)
    queued(path, i)
  end
  for i = 1 - FIRST_TURNS, turns do
    local leader = (i + FIRST_TURNS - 1) % candidates + 1
    local term = tasks[leader].wait:wait()
    local from = zk.now()
    term:resign()
    tasks[leader % candidates + 1].wait:wait()
    if i > 0 then took[i] = led - from end
    stand(leader)
    queued(path, candidates)
  end
  report(turns, turns * median(took), 0)
  os.exit(0) -- candidates wait still
end

function scenarios.candidate()
  local election = session:election(path)
  assert(session:connected(LONG))
  if #(session:children(path) or {}) > 0 then
    zk.spawn(function()
      queued(path, 2)
      print("stands")
      io.stdout:flush()
    end)
  end
  local term = assert(election:campaign())
  print(("leads %d"):format(session.timeout * 1000))
  io.stdout:flush()
  zk.sleep(1e6)
  term:resign()
end

function scenarios.semaphore(count, turns, leases)
  local semaphore = session:semaphore(path, leases)
  crowd(count, turns, function() return acquire_of(semaphore) end)
end

-- Each coroutine writes in every tenth turn.
function scenarios.read_mostly(count, turns)
  local rw = session:rwlock(path)
  local function acquire_at(i)
    local turn = i
    return function()
      turn = turn + 1
      if turn % 10 == 0 then return rw:write() end
      return rw:read()
    end
  end
  crowd(count, turns, acquire_at)
end

-- ---- Queues ------------------------------------------------------------------------------------

local ITEM = ("x"):rep(100)

local function fill(queue, items)
  local missing = items - queue:size()
  while missing > 0 do
    local list = {}
    for i = 1, math.min(missing, 100) do
      list[i] = ITEM
    end
    missing = missing - assert(queue:put_all(list))
  end
end

-- As `measure`, while another coroutine wants to run each millisecond: the longest stall is the most time of the processor that this
-- process used between two of its turns.
local function measure_stall(ops, fn)
  local over, last, stall = false, clock(), 0
  local ticker = zk.spawn(function()
    while not over do
      zk.sleep(0.001)
      stall, last = math.max(stall, clock() - last), clock()
    end
  end)
  fn()
  over = true
  ticker:wait()
  report(ops, 0, 0, (",\"stall\":%.3f"):format(stall * 1000))
end

-- Runs `work` on the queue this often, by this many coroutines, with this many items in the queue.
local function queueing(work, measured)
  measured = measured or measure
  return function(operations, items, count)
    local queue = session:queue(path)
    fill(queue, items)
    local function share(total)
      local left = total
      together(count, function()
        while left > 0 do
          left = left - 1
          work(queue)
        end
      end)
    end
    share(WARM_UP)
    measured(operations, function() share(operations) end)
  end
end

local LIST = 100

-- Puts lists; the operations are items.
function scenarios.put_all(operations, items)
  local queue, list = session:queue(path), {}
  fill(queue, items)
  for i = 1, LIST do list[i] = ITEM end
  local function put(count)
    for _ = 1, count / LIST do assert(queue:put_all(list)) end
  end
  put(WARM_UP)
  measure(operations, function() put(operations) end)
end

scenarios.put = queueing(function(queue) assert(queue:put(ITEM)) end)
scenarios.take = queueing(function(queue) assert(queue:take()) end)
local function claim_one(queue) assert(queue:claim():ack()) end
scenarios.claim, scenarios.stall = queueing(claim_one), queueing(claim_one, measure_stall)

local function number(index) return tonumber(arg[index]) or 0 end

zk.run(function()
  session = zk.session { hosts = hosts, timeout = scenario == "candidate" and 2 or LONG, tick = 0.5, guardian = arg[4] == "guardian" }
  scenarios[scenario](number(4), number(5), number(6))
end)
