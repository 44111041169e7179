-- Waiting, on any host: a coroutine starts a task of the core, parks, and takes the results when it is resumed.
--
-- A record stands for one wait: `done` means that the wait is over, `token` identifies the coroutine for the adapter. To end a
-- wait, set `done`, then unpark. Every wait is `while not done do park() end`, so an unpark that comes too early, twice or for
-- another wait does no harm.
--
-- What can go wrong: the waiting task is canceled (the wait is given up and zk.canceled is raised); the coroutine is closed or found
-- dead (the wait is given up, and its result, for example a lock, is released); the process forks (in the child every wait of the
-- parent ends with `forked`).

local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.host.coroutines"
local scopes = require "zkrecipes.host.scopes"

local M = {}

local running, scope = coroutines.running, coroutines.scope

-- The error that is raised in a canceled task.
M.canceled = setmetatable({}, { __tostring = function() return "the task was canceled" end })

-- Coroutine > the task that runs in it. Weak values too: a waiting task refers to its coroutine, and Lua 5.1 would keep both.
M.task_of = setmetatable({}, { __mode = "kv" })
local task_of = M.task_of

-- The task that runs in this coroutine, or nil. nginx may have ended the task's coroutine and reused it for something else.
function M.task()
  local co = running()
  local task = task_of[co]
  if not task or not task.life or task.host.adapter.lives(task.life) then return task end
  task_of[co] = nil
end

-- Raises in a canceled task. Call it before anything is started.
function M.check()
  local task = M.task()
  if task and task.canceled then error(M.canceled, 0) end
end

local MAIN = {} -- stands for the main thread

-- Identifies the running coroutine, as a key for what it holds.
function M.self(host)
  local adapter = host.adapter
  return adapter.self and adapter.self() or running() or MAIN
end

-- True if `other` is over and `self` must now release what it held.
function M.follows(host, self, other)
  local follows = host.adapter.follows
  return follows ~= nil and follows(self, other)
end

-- A time limit for several waits that begins now: returns a function that returns the seconds left, at least 0; nil: no limit.
function M.limit(host, timeout)
  local now = host.adapter.now
  local deadline = timeout and now() + timeout
  return function() return deadline and math.max(deadline - now(), 0) end
end

-- ---- One wait ----------------------------------------------------------------------------------

local Record = {}
Record.__index = Record

-- The end of the scope of a wait. `awake` is not set if the wait did not end normally: its coroutine was closed, or the wait tried to
-- yield across a C function that cannot be yielded across, which raised an error.
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
  pcall(record.engine.drop, record.engine, record.slot) -- its results may have been taken just now
end

local function nothing() end

-- Creates a record for a wait that M.wake ends, not the core.
function M.record(give_up)
  return setmetatable({ done = false, give_up = give_up or nothing }, Record)
end

-- A record for a wait for a slot. These records are reused.
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

-- If the task still has another wait, an error threw it out of that wait (Lua 5.1 cannot yield across pcall): gives that wait up.
local function begin(task, record)
  if task.waiting then task.waiting:give_up() end
  task.waiting = record
end

-- If the whole process was stopped for a while, the reason for a task may be over before any code has noticed: so ask over().
local function canceled(task)
  if not task then return false end
  local over = task.how.over
  if over and not task.canceled and over() then task.canceled = true end
  return task.canceled
end

M.is_canceled = canceled

-- True if the host is shutting down and this coroutine must end with it.
local function at_an_end(adapter, token) return adapter.stopped and adapter.stopped(token) end

-- Prepares the record's coroutine for parking; returns its task. It is a separate function to save memory in each waiter: the locals
-- of the functions below the parked one stay on the Lua stack, which doubles when it is full.
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

-- Parks until the wait is done, the timeout (seconds) has passed, or the task is canceled; returns true if canceled. For a slot the
-- results follow as further return values: a debug hook of the user may raise an error between any two lines, and until `awake` is
-- set, the end of the scope releases the results. A timeout above 0 parks at least once, however slow the machine is: a short sleep
-- too lets others run.
local function suspend(host, record, timeout)
  local task = settle(host, record)
  local left, deadline = timeout, timeout and host.adapter.now() + timeout
  while not record.done and not canceled(task) and not at_an_end(host.adapter, record.token) do
    if left and left <= 0 then break end
    host.adapter.park(record.token, left)
    left = deadline and deadline - host.adapter.now()
  end
  if task then task.waiting = nil end
  if host.parked then host.parked[record.token] = nil end
  local stopped = canceled(task) or not record.done and at_an_end(host.adapter, record.token)
  if record.slot and not stopped then return taken(record, record.engine:take(record.slot)) end
  if not record.slot then record.awake = true end
  return stopped
end

-- True if a task of the host `other` that waits on this host would never be resumed. A host that runs its own loop while it waits is
-- no problem.
local function misfits(adapter, other)
  if adapter == other or adapter.loop and adapter.loop == other.loop then return false end
  return not adapter.runs or adapter.loop.driving
end

-- The adapter's token of the running coroutine; or nil and the reason why no coroutine can wait here.
local function token_of(host)
  local task = M.task()
  if task and task.host ~= host and misfits(host.adapter, task.host.adapter) then
    return nil, ("cannot wait here: this coroutine runs on the host '%s', and what it waits for belongs to the host '%s'; " ..
      "use both on the same one"):format(task.host.name, host.name)
  end
  return host.adapter.token()
end

-- Sets the record's token; raises if no coroutine can wait here.
local function set_token(host, record)
  local token, problem = token_of(host)
  if not token then
    record:give_up()
    core.misuse(problem)
  end
  record.token = token
end

-- Waits until the record is done or the timeout (seconds; nil: no limit) has passed. Raises if canceled.
function M.pause(host, record, timeout)
  set_token(host, record)
  if scope(record, suspend, host, record, timeout) then
    if not record.done then record:give_up() end
    error(M.canceled, 0)
  end
  return record.done
end

-- Begins a wait of the running coroutine, which must call await at once. Keeps `object`, whose method waits: if it were collected
-- meanwhile, a presence would leave, and a reader would end.
function M.slot(host, slot, object)
  local record = slot_record(host, slot)
  record.kept = object
  return record
end

-- Begins a wait whose coroutine comes later; await or give_up ends it. Without it a quick task of the core could end before a
-- coroutine waits for it, and its slot could be given to another task.
function M.expect(host, slot)
  local record = slot_record(host, slot)
  record.expected = true
  return record
end

-- The end of a wait for a slot.
local function brought(host, record, quiet, stopped, ...)
  if not record.awake then record:give_up() end
  record.co, record.task, record.token, record.object = nil, nil, nil, nil -- the pooled record must not keep them alive
  record.expected, record.kept = nil, nil
  host.pool[#host.pool + 1] = record
  if not stopped then return ... end
  if quiet then return M.canceled end
  error(M.canceled, 0)
end

-- Waits for the core and returns the results. `record`: the record from expect, if it was called. In a canceled task it raises, or,
-- if `quiet`, returns M.canceled.
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

-- The keys of a table whose values are numbers, ordered by these numbers: behaviour must not depend on addresses.
function M.in_order(numbers)
  local keys = {}
  for key in pairs(numbers) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return numbers[a] < numbers[b] end)
  return keys
end

-- Lets other coroutines run first.
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
