-- Waiting, on any host: a coroutine asks the core, parks, and picks the results up when it is awake again.
--
-- A record stands for one wait: `done` says that it is over, `token` is how the adapter knows the coroutine.
-- Whoever ends a wait sets `done`, then unparks. Every wait is `while not done do park() end`, so a wake-up
-- that comes too early, twice or for something else does no harm.
--
-- What can go wrong: the waiting task is canceled (the wait is given up, and zk.canceled raised); its
-- coroutine is closed or found dead (the wait is given up: what it may have brought, a lock for instance,
-- is let go); the process forks (in the child every wait of the parent ends with `forked`).

local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.host.coroutines"
local scopes = require "zkrecipes.host.scopes"

local M = {}

local running, scope = coroutines.running, coroutines.scope

-- What is raised in a canceled task.
M.canceled = setmetatable({}, { __tostring = function() return "the task was canceled" end })

-- Coroutine > task, for those that a task runs in. A waiting task refers to its coroutine, which Lua 5.1 would keep.
M.task_of = setmetatable({}, { __mode = "kv" })
local task_of = M.task_of

-- The task that runs in this coroutine; nil: none. nginx may have ended the task's coroutine, and uses it for something else.
function M.task()
  local co = running()
  local task = task_of[co]
  if not task or not task.life or task.host.adapter.lives(task.life) then return task end
  task_of[co] = nil
end

-- Raises in a canceled task, before anything is begun.
function M.check()
  local task = M.task()
  if task and task.canceled then error(M.canceled, 0) end
end

local MAIN = {} -- stands for the main thread

-- What stands for the running coroutine, to remember what it holds.
function M.self(host)
  local adapter = host.adapter
  return adapter.self and adapter.self() or running() or MAIN
end

-- Is the other one over, and what it held now this one's to release?
function M.follows(host, self, other)
  local follows = host.adapter.follows
  return follows ~= nil and follows(self, other)
end

-- A time limit that begins now, for several waits: a function that gives the seconds that are left, 0 at least; nil: no limit.
function M.limit(host, timeout)
  local now = host.adapter.now
  local deadline = timeout and now() + timeout
  return function() return deadline and math.max(deadline - now(), 0) end
end

-- ---- One wait ----------------------------------------------------------------------------------

local Record = {}
Record.__index = Record

-- The end of the scope of a wait; `awake` is not set when it did not end by itself: its coroutine was closed, or the
-- wait thrown out of a C function that cannot be yielded across.
function Record.__close(record)
  if record.awake then return end
  record.awake = true
  local task = record.task
  if task and task.waiting == record then task.waiting = nil end
  record:give_up()
end

local function forget_slot(record)
  local host = record.host
  record.awake = true
  if host.waiters[record.slot] == record then host.waiters[record.slot] = false end
  pcall(record.engine.drop, record.engine, record.slot) -- it may just have been taken
end

local function nothing() end

-- A wait that ends by other means than the core: done is set and unpark called by somebody.
function M.record(give_up)
  return setmetatable({ done = false, give_up = give_up or nothing }, Record)
end

-- A wait for a slot; these are used again.
local function slot_record(host, slot)
  local pool = host.pool
  local record = pool[#pool]
  if record then
    pool[#pool] = nil
  else
    record = setmetatable({ host = host, give_up = forget_slot }, Record)
  end
  record.done, record.awake, record.begun, record.slot, record.engine = false, false, false, slot, host.engine
  host.waiters[slot] = record
  return record
end

-- A task that still stands in another wait was thrown out of it: Lua 5.1 cannot yield across pcall.
local function begin(task, record)
  if task.waiting then task.waiting:give_up() end
  task.waiting = record
end

-- The reason for a task may be over before anybody was told: when the whole process was stopped for a while.
local function canceled(task)
  if not task then return false end
  local over = task.how.over
  if over and not task.canceled and over() then task.canceled = true end
  return task.canceled
end

-- The host comes to its end, and this coroutine is to end with it.
local function at_an_end(adapter, token) return adapter.stopped and adapter.stopped(token) end

-- The record's coroutine is about to park; gives its task. What is below the parked function costs each waiter its slots of
-- Lua's stack, which doubles when it is full, so that keeps few.
local function settle(host, record)
  local co, parked = running(), host.parked
  local task = task_of[co] and M.task()
  record.co, record.task, record.begun = co, task, true
  if task then begin(task, record) end
  if parked then parked[record.token] = record end
  return task
end

-- From here on the results are the caller's.
local function taken(record, ...)
  record.awake = true
  return false, ...
end

-- Parks until it is done, late, or canceled; true when canceled. A wait for a slot gives its results behind that: an error of
-- somebody's debug hook may come between any two lines, and until `awake` is set the end of the scope lets go of what came.
local function suspend(host, record, deadline)
  local task = settle(host, record)
  while not record.done and not canceled(task) and not at_an_end(host.adapter, record.token) do
    local left = deadline and deadline - host.adapter.now()
    if left and left <= 0 then break end
    host.adapter.park(record.token, left)
  end
  if task then task.waiting = nil end
  if host.parked then host.parked[record.token] = nil end
  local stopped = canceled(task) or not record.done and at_an_end(host.adapter, record.token)
  if record.slot and not stopped then return taken(record, record.engine:take(record.slot)) end
  if not record.slot then record.awake = true end
  return stopped
end

-- Would nobody of this host resume the task of that one? A host that runs its loop while it waits needs nobody.
local function misfits(adapter, other)
  if adapter == other or adapter.loop and adapter.loop == other.loop then return false end
  return not adapter.runs or adapter.loop.driving
end

-- How the adapter knows who waits; or nil and why nobody can here.
local function token_of(host)
  local task = M.task()
  if task and task.host ~= host and misfits(host.adapter, task.host.adapter) then
    return nil, ("cannot wait here: this coroutine runs on the host '%s', and what it waits for belongs to the host '%s'; " ..
      "use both on the same one"):format(task.host.adapter.name, host.adapter.name)
  end
  return host.adapter.token()
end

-- ... which raises where nobody can.
local function set_token(host, record)
  local token, problem = token_of(host)
  if not token then
    record:give_up()
    core.misuse(problem)
  end
  record.token = token
end

-- Waits until the record is done or the time is over (nil: no limit); raises when canceled.
function M.pause(host, record, timeout)
  set_token(host, record)
  local deadline = timeout and host.adapter.now() + timeout
  if scope(record, suspend, host, record, deadline) then
    if not record.done then record:give_up() end
    error(M.canceled, 0)
  end
  return record.done
end

-- The beginning of a wait of the running coroutine, which awaits it at once.
M.slot = slot_record

-- The beginning of a wait whose coroutine comes later; await or give_up ends it. Without it a task that is quick would be
-- over before anybody waits, and its slot be somebody else's.
function M.expect(host, slot)
  local record = slot_record(host, slot)
  record.expected = true
  return record
end

-- The end of a wait for a slot.
local function brought(host, record, quiet, stopped, ...)
  if not record.awake then record:give_up() end
  record.co, record.task, record.token, record.object = nil, nil, nil, nil -- they would keep them alive in the pool
  record.expected = nil
  host.pool[#host.pool + 1] = record
  if not stopped then return ... end
  if quiet then return M.canceled end
  error(M.canceled, 0)
end

-- Waits for the core, and returns what it brings. `record`: what expect gave, if it was called. In a canceled task it
-- raises, or, when it is to be `quiet`, returns M.canceled.
function M.await(host, slot, record, quiet)
  record = record or slot_record(host, slot)
  set_token(host, record)
  return brought(host, record, quiet, scope(record, suspend, host, record))
end

-- Ends a wait.
function M.wake(host, record)
  record.done = true
  if record.token then host.adapter.unpark(record.token) end
end

-- ---- Several waits in a row --------------------------------------------------------------------

-- Calls fn(...), which waits; see scopes.lua.
function M.within(host, stop, state, fn, ...) return scopes.within(host, M.task(), stop, state, fn, ...) end

-- The keys of a table whose values are numbers, in their order: what happens must not depend on addresses.
function M.in_order(numbers)
  local keys = {}
  for key in pairs(numbers) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return numbers[a] < numbers[b] end)
  return keys
end

-- Lets the others run first.
function M.yield(host)
  local token, problem = token_of(host)
  if not token then core.misuse(problem) end
  if host.adapter.yield then
    host.adapter.yield(token)
  else
    host.adapter.unpark(token)
    host.adapter.park(token)
  end
  M.check()
end

core.own(debug.getinfo(1, "S").source)
for i = 1, #coroutines.sources do core.own(coroutines.sources[i]) end
return M
