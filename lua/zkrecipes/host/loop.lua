-- A loop of our own, for the built-in host and for simulated worlds. One turn of it: coroutines whose time has come,
-- coroutines that were woken, both in bounded batches; sleep until something is due or arrives; let the core work; see
-- which timers are over.
--
-- It knows a coroutine by its record { co, parked, queued }; a record without a coroutine is somebody who drives the
-- loop until it is `queued`. Coroutines are resumed here alone, never from inside another one.
--
-- Who has a loop of his own steps this one: `kick`, if it is there, is called when timeout() may have become less. With
-- `resume` somebody else resumes the coroutines.
--
-- What it asks of its client is in host.lua; a client that has holds(record) may keep a coroutine that could go on, and
-- gives it back with `release`.

local core = require "zkrecipes.core"
local fifo = require "zkrecipes.host.fifo"
local timers_of = require "zkrecipes.host.timers"

local M = {}

local BATCH = 64  -- coroutines in one turn
local STEPS = 256 -- steps of the core in one turn

local Loop = {}
Loop.__index = Loop

function M.new(resume)
  return setmetatable({
    resume = resume or coroutine.resume,
    client = nil,                                  -- of the host, see host.lua
    woken = fifo.new(), late = fifo.new(),         -- records: woken; whose time is over
    timers = timers_of.new(),
    records = setmetatable({}, { __mode = "kv" }), -- coroutine > its record, which refers to it: Lua 5.1 would keep both
    current = nil,                                 -- the record that is being resumed
    driving = false,
  }, Loop)
end

function Loop:now() return self.client.now() end

local function enqueue(list, record)
  if record.queued then return end
  record.queued = true
  if record.co then list:push(record) end
end

function Loop:wake(record)
  enqueue(self.woken, record)
  if self.kick then self.kick() end
end

-- Wakes it at that time, unless it is stopped before.
function Loop:wake_at(record, at)
  self.timers:start(record, at)
  if self.kick then self.kick() end
end

function Loop:stop(record) self.timers:stop(record) end

-- What the client has held may go on.
function Loop:release(record) self.woken:push(record) end

local function resume(self, record)
  local client = self.client
  if client.holds and client.holds(record) then return end
  record.queued = false
  if not record.parked or coroutine.status(record.co) ~= "suspended" then return end
  self.current, record.parked = record, false -- what it yields for from now on may be none of our business
  local ok, problem = self.resume(record.co)
  self.current = nil
  if not ok then client.report(debug.traceback(record.co, tostring(problem))) end
end

local function run(self, list)
  for _ = 1, BATCH do
    local record = list:pop()
    if not record then return end
    resume(self, record)
  end
end

-- Seconds until there is something to do; nil: only the core can bring it.
function Loop:timeout()
  if not (self.woken:empty() and self.late:empty()) then return 0 end
  local due = self.timers:next()
  return due and math.max(due - self.client.now(), 0)
end

-- How long the loop may sleep before it looks after `record` again.
local function idle_time(self, record)
  if record.queued then return 0 end
  local left = self:timeout()
  if not left and self.client.pending() == 0 then
    core.misuse("every coroutine waits for another one, nothing can wake them")
  end
  return left
end

local function run_all(self)
  run(self, self.late)
  run(self, self.woken)
end

-- What has come, and whose time is over.
local function advance(self)
  local client, timers = self.client, self.timers
  client.dispatch(STEPS)
  local now = client.now()
  local over = timers:expire(now)
  while over do
    enqueue(self.late, over)
    over = timers:expire(now)
  end
end

local function turn(self, record)
  local client = self.client
  run_all(self)
  local left = idle_time(self, record)
  if left ~= 0 then client.wait(left) end
  if client.interrupt then client.interrupt() end
  advance(self)
end

-- One turn that does not wait; it ends with the coroutines, which need not wait for the next poll.
function Loop:step()
  if self.driving then core.misuse("the loop is running already; it must not be driven from inside") end
  advance(self)
  run_all(self)
end

local function turns(self, record)
  repeat turn(self, record) until record.queued
end

-- Turns until the record is queued.
function Loop:drive(record)
  if self.driving then core.misuse("cannot wait here: the loop is running already") end
  self.driving = true
  local ok, problem = pcall(turns, self, record)
  self.driving, self.current = false, nil
  record.queued = false
  if not ok then error(problem, 0) end
end

core.own(debug.getinfo(1, "S").source)
return M
