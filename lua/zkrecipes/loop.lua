-- The loop of the built-in host. One turn of it: coroutines whose time has come, coroutines that were woken, both
-- in bounded batches; sleep until something is due or arrives; let the core work; see which timers are over.
--
-- It knows a coroutine by its record { co, parked, queued }; a record without a coroutine is somebody who drives the
-- loop until it is `queued`. Coroutines are resumed here alone, never from inside another one.

local core = require "zkrecipes.core"
local queue = require "zkrecipes.queue"
local timers_of = require "zkrecipes.timers"

local M = {}

local BATCH = 64  -- coroutines in one turn
local STEPS = 256 -- steps of the core in one turn

local client                                 -- of the host, see host.lua
local woken, late = queue.new(), queue.new() -- records: woken; whose time is over
local timers = timers_of.new()
local driving = false

M.current = nil -- the record that is being resumed

function M.attach(given) client = given end

function M.now() return client.now() end

local function enqueue(list, record)
  if record.queued then return end
  record.queued = true
  if record.co then list:push(record) end
end

function M.wake(record) enqueue(woken, record) end

-- Wakes it at that time, unless it is stopped before.
function M.wake_at(record, at) timers:start(record, at) end

function M.stop(record) timers:stop(record) end

local function resume(record)
  record.queued = false
  if not record.parked or coroutine.status(record.co) ~= "suspended" then return end
  M.current = record
  local co = record.co
  local ok, problem = coroutine.resume(co)
  M.current = nil
  if coroutine.status(co) == "dead" then record.co = nil end
  if not ok then client.report(debug.traceback(co, tostring(problem))) end
end

local function run(list)
  for _ = 1, BATCH do
    local record = list:pop()
    if not record then return end
    resume(record)
  end
end

-- Seconds until there is something to do; nil: only the core can bring it.
function M.timeout()
  if not (woken:empty() and late:empty()) then return 0 end
  local due = timers:next()
  return due and math.max(due - client.now(), 0)
end

-- How long the loop may sleep before it looks after `record` again.
local function idle_time(record)
  if not record or record.queued then return 0 end
  local left = M.timeout()
  if not left and client.pending() == 0 then
    core.misuse("every coroutine waits for another one, nothing can wake them")
  end
  return left
end

local function turn(record)
  run(late)
  run(woken)
  local left = idle_time(record)
  if left ~= 0 then client.wait(left) end
  client.dispatch(STEPS)
  local now = client.now()
  local over = timers:expire(now)
  while over do
    enqueue(late, over)
    over = timers:expire(now)
  end
end

-- One turn that does not wait.
function M.step()
  if driving then core.misuse("the loop is running already; it must not be driven from inside") end
  turn(nil)
end

local function turns(record)
  repeat turn(record) until record.queued
end

-- Turns until the record is queued.
function M.drive(record)
  if driving then core.misuse("cannot wait here: the loop is running already") end
  driving = true
  local ok, problem = pcall(turns, record)
  driving, M.current = false, nil
  record.queued = false
  if not ok then error(problem, 0) end
end

core.own(debug.getinfo(1, "S").source)
return M
