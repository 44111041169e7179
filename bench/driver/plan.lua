-- What is measured. Each row is one scenario of the contestants:
--
--   kind     time (default): `run` in one process; microseconds per operation, and CPU per operation
--            contend: so many processes at once; memory, start, failover: see measure.lua
--            counts: through a proxy; what one more operation costs on the wire
--            consumers: so many processes on one queue, `each` items in each; also the requests of an item
--            stall: the longest stall of the host
--   run      scenario and arguments; of_contestant overrides them, false leaves the contestant out. A fail-over with
--            `candidate guardian` counts from the leader's death, otherwise from the end of the session's timeout
--   kept     the data stay, and each run only adds what is missing; the name identifies them
--
-- Less is better everywhere.

local plan = {
  { id = "free", title = "free lock, acquire + release, one after another", run = "free 2000" },
  { id = "at_once", title = "free locks, 100 different ones at once", run = "at_once 100 50" },
  { id = "handoff_10", title = "hand-off, 10 waiters in a process", run = "handoff 10 10" },
  { id = "handoff_100", title = "hand-off, 100 waiters", run = "handoff 100 5" },
  { id = "handoff_1000", title = "hand-off, 1,000 waiters", run = "handoff 1000 1" },
  { id = "sessions_100", title = "hand-off, 100 waiters with a session each", run = "across 100 3", rounds = 3 },
  { id = "sessions_1000", title = "hand-off, 1,000 waiters with a session each", run = "across 1000 1", rounds = 3,
    of_contestant = { curator = false, kazoo = false } }, -- they have threads for each session
  { id = "loop_10", title = "10 contenders that queue again at once", run = "loop 10 100" },
  { id = "loop_100", title = "100 contenders that queue again at once", run = "loop 100 10" },
  { id = "contend_2", title = "hand-off across 2 processes", kind = "contend", processes = 2, rounds = 2 },
  { id = "contend_4", title = "hand-off across 4 processes", kind = "contend", processes = 4, rounds = 2 },
  { id = "contend_8", title = "hand-off across 8 processes", kind = "contend", processes = 8, rounds = 2 },
  { id = "try", title = "try on a held lock", run = "try 1000" },
  { id = "read_mostly", title = "read/write lock, 10 contenders, 9 of 10 read", run = "read_mostly 10 50",
    rounds = 3, of_contestant = { floor = false, kazoo = false } }, -- kazoo 2.8 never ends in it
  { id = "semaphore", title = "semaphore of 5, 10 contenders", run = "semaphore 10 30 5", rounds = 3, of_contestant = { floor = false } },
  { id = "handover", title = "election, hand-over by resigning", run = "handover 10", rounds = 3 },
  { id = "failover", title = "election, fail-over after kill -9, beyond the session timeout", kind = "failover", run = "candidate",
    unit = "ms", rounds = 3 },
  { id = "failover_guardian", title = "the same with a guardian, from the kill -9 on", kind = "failover", run = "candidate guardian",
    unit = "ms", rounds = 3, of_contestant = { floor = false, curator = false, kazoo = false } },
  { id = "start", title = "process start to first lock held", kind = "start", run = "start", unit = "ms" },
  { id = "memory_1000", title = "resident memory per waiter, 1,000 waiters", kind = "memory", run = "memory 1000", unit = "KiB",
    of_contestant = { floor = false }, rounds = 3 },
  { id = "memory_10000", title = "resident memory per waiter, 10,000 waiters", kind = "memory", run = "memory 10000", unit = "KiB",
    of_contestant = { floor = false, curator = false, kazoo = false }, rounds = 3 },
  { id = "memory_session", title = "resident memory per idle session with a lock", kind = "memory", run = "sessions 40", unit = "KiB",
    of_contestant = { floor = false, curator = false, kazoo = false }, rounds = 3 },
  { id = "wire_free", title = "free lock", kind = "counts", run = { "free %d", 100, 300 }, rounds = 1 },
  { id = "wire_loop_10", title = "10 contenders that queue again", kind = "counts", run = { "loop 10 %d", 10, 30, 10 }, rounds = 1 },
  { id = "wire_loop_100", title = "100 contenders that queue again", kind = "counts", run = { "loop 100 %d", 2, 6, 100 }, rounds = 1 },
  { id = "wire_try", title = "try on a held lock", kind = "counts", run = { "try %d", 100, 300 }, rounds = 1 },
  { id = "wire_read_mostly", title = "read/write lock, 10 contenders, 9 of 10 read", kind = "counts",
    run = { "read_mostly 10 %d", 10, 30, 10 }, rounds = 1, of_contestant = { floor = false, kazoo = false } },
  { id = "wire_semaphore", title = "semaphore of 5, 10 contenders", kind = "counts", run = { "semaphore 10 %d 5", 10, 30, 10 },
    rounds = 1, of_contestant = { floor = false } },
}

-- Every kind of lock, beside the floor's bare delete and event.
for _, kind in ipairs { { "unfair", "an unfair lock" }, { "reentrant", "a reentrant lock" }, { "cohort", "a cohort" },
  { "writer", "a writer" }, { "permit", "a semaphore of 1" }, { "multilock", "a multilock of 2" }, { "term", "a fair election" },
  { "ranked", "an election by rank" } } do
  plan[#plan + 1] = { id = "handoff_" .. kind[1], title = "hand-off of " .. kind[2] .. ", 10 waiters in a process",
    run = "handoff 10 10 " .. kind[1], rounds = 3, of_contestant = { floor = "handoff 10 10", curator = false, kazoo = false } }
end

plan[#plan + 1] = { id = "handover_ranked", title = "election by rank, ten candidates of ten sessions, hand-over by resigning",
  run = "handover 10 10 ranked", rounds = 3, of_contestant = { floor = "handover 10", curator = false, kazoo = false } }

-- Queues that hold so many items. The peers list the whole queue for each item that they take (Curator) or claim (both).
local function add_queue(name, title, items)
  local function add(id, what, scenario, consumers, of_contestant)
    plan[#plan + 1] = { id = ("queue_%s_%s"):format(name, id), title = ("queue of %s: %s"):format(title, what), kept = "queue-" .. name,
      run = ("%s 300 %d %d"):format(scenario, items, consumers), of_contestant = of_contestant, rounds = 3 }
  end
  local function few(scenario, consumers, operations)
    return ("%s %d %d %d"):format(scenario, operations, items, consumers)
  end
  add("put", "put, one after another", "put", 1)
  for _, consumers in ipairs { 1, 4 } do
    local by, huge = (", %d consumer%s"):format(consumers, consumers > 1 and "s" or ""), items >= 100000
    add("take_" .. consumers, "take" .. by, "take", consumers, huge and { curator = few("take", consumers, 20) } or nil)
    add("claim_" .. consumers, "claim + ack" .. by, "claim", consumers,
      huge and { curator = few("claim", consumers, 20), kazoo = few("claim", consumers, 10) } or nil)
  end
end

-- Consumers that wait for each other's answers.
local function add_workers(name, title, items, of_contestant)
  local operations = math.min(items * 0.8, 3000) // 1
  plan[#plan + 1] = { id = ("queue_%s_claim_32"):format(name),
    title = ("queue of %s: claim + ack, 32 coroutines of a process"):format(title), kept = "queue-" .. name,
    run = ("claim %d %d 32"):format(operations, items), of_contestant = of_contestant, rounds = 3 }
end

-- A long row, because the ratio of a short one is that of a server that still compiles.
plan[#plan + 1] = { id = "queue_put", title = "an empty queue: put, one after another", run = "put 3000 0 1", rounds = 3 }
-- Not kept: so many puts would make the queues below longer for the rows that follow.
plan[#plan + 1] = { id = "queue_put_256", title = "an empty queue: put, 256 in flight", run = "put 4000 0 256", rounds = 3 }
plan[#plan + 1] = { id = "queue_put_all", title = "an empty queue: put_all of 100 items, per item", run = "put_all 10000 0 1", rounds = 3,
  of_contestant = { curator = false } }
add_queue("1k", "1,000", 1000)
add_workers("1k", "1,000", 1000)
add_queue("100k", "100,000", 100000)
add_workers("100k", "100,000", 100000, { curator = "claim 40 100000 32", kazoo = false })
plan[#plan + 1] = { id = "queue_four", title = "queue of 10,000: claim + ack, 4 processes of 8 coroutines", kind = "consumers",
  processes = 4, coroutines = 8, each = 1000, items = 10000, rounds = 3, of_contestant = { curator = false, kazoo = false } }
-- The peers would list a million names for each item.
local ONLY_OURS = { curator = false, kazoo = false }
add_workers("1m", "1,000,000", 1000000, ONLY_OURS)
plan[#plan + 1] = { id = "queue_1m_stall", title = "queue of 1,000,000: the longest stall of the host, CPU", kind = "stall", unit = "ms",
  kept = "queue-1m", run = "stall 3000 1000000 32", rounds = 3, of_contestant = { floor = false, curator = false, kazoo = false } }

return plan
