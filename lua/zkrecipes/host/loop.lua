-- Our own loop, for the built-in host and for simulated worlds. One turn: resume coroutines whose timers are over and coroutines that
-- were woken, both in bounded batches; sleep until a timer is due or the core has work; let the core work; collect the timers that
-- are over.
--
-- A record { co, parked, queued } stands for a coroutine. A record without a coroutine stands for code on the main thread that drives
-- the loop until the record is `queued`. Only the loop resumes coroutines, never from inside another coroutine.
--
-- A foreign loop runs this one by step(). It sets `kick`, which is called when timeout() may have become shorter. If `resume` is
-- given, it is called instead of coroutine.resume.
--
-- host.lua lists the functions of the client. A client with holds(record) may keep back a coroutine that could continue; it gives the
-- coroutine back with `release`.

local check = require "zkrecipes.check"
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
    woken = fifo.new(), late = fifo.new(),         -- records: woken; with timers that are over
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

-- Wakes the record at that time, unless it is stopped before.
function Loop:wake_at(record, at)
  self.timers:start(record, at)
  if self.kick then self.kick() end
end

function Loop:stop(record) self.timers:stop(record) end

-- Continues a record that the client has kept back.
function Loop:release(record) self.woken:push(record) end

local function resume(self, record)
  local client = self.client
  if client.holds and client.holds(record) then return end
  record.queued = false
  if not record.parked or coroutine.status(record.co) ~= "suspended" then return end
  self.current, record.parked = record, false -- from now on it may yield for other reasons than ours
  local ok, problem = self.resume(record.co)
  self.current = nil
  if not ok then client.report(debug.traceback(record.co, check.text(problem))) end
end

local function run(self, list)
  for _ = 1, BATCH do
    local record = list:pop()
    if not record then return end
    resume(self, record)
  end
end

-- Seconds until there is something to do; nil: only the core can bring work.
function Loop:timeout()
  if not (self.woken:empty() and self.late:empty()) then return 0 end
  local due = self.timers:next()
  return due and math.max(due - self.client.now(), 0)
end

-- How long the loop may sleep before it looks after `record` again.
local function idle_time(self, record)
  if record.queued then return 0 end
  local left = self:timeout()
  if not left and self.client.outstanding() == 0 then
    core.misuse("every coroutine waits for another one, so nothing can wake them")
  end
  return left
end

local function run_all(self)
  run(self, self.late)
  run(self, self.woken)
end

-- Lets the core work and collects the timers that are over.
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
  if left ~= 0 then client.wait(left, STEPS) end
  if client.interrupt then client.interrupt() end
  advance(self)
end

-- One turn that does not wait. It resumes coroutines last, so they do not wait for the next poll.
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
