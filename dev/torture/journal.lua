-- Reads the logs of the torture run (worker.lua): which coroutine held which lock, at least from when until when, and what it wrote.
-- check.lua judges it.
--
-- The hold was certainly valid between the times `first` and `last`.

local queue = require "dev.torture.queue"
local meetings = require "dev.torture.meetings"

local journal = {}
journal.__index = journal

local function new()
  return setmetatable({ turns = {}, holds = {}, writes = {}, given_up = {}, refused = 0, unread = 0, unknown = 0,
    ended = 0, expiries = {}, losses = {}, trouble = {}, reads = 0, downgrades = 0, most_permits = 0, torn = {},
    queue = queue.new(), meetings = meetings.new() }, journal)
end

local effects = {}

function effects.waits(_, turn, time, lock)
  turn.lock, turn.asked, turn.hold, turn.write = lock, time, nil, nil
end

function effects.holds(self, turn, time, token)
  turn.hold = { lock = turn.lock, token = token, worker = turn.worker, asked = turn.asked, granted = time }
  turn.asked = nil
  table.insert(self.holds, turn.hold)
end

-- The hold has this many permits of a semaphore that may have other holders.
function effects.permits(_, turn, _, count) turn.hold.permits = tonumber(count) end

function effects.downgrades(self) self.downgrades = self.downgrades + 1 end

function effects.valid(_, turn, time)
  turn.hold.first = turn.hold.first or time
  turn.hold.last = time
end

function effects.invalid(_, turn) turn.hold.lost = true end

function effects.unread(self) self.unread = self.unread + 1 end

function effects.releases(_, turn, time)
  turn.hold.released, turn.hold = time, nil
end

function effects.writes(self, turn, time, value)
  turn.write = { lock = turn.lock, token = turn.hold.token, value = tonumber(value), begun = time }
  table.insert(self.writes, turn.write)
end

function effects.wrote(_, turn, _, rest)
  turn.write.zxid = rest:match("^%d+ (%x+)$")
end

-- The write did not happen, by the server's answer or because the session knows that the hold is lost; or its outcome is unknown.
local certain = { lost = true, no_node = true }
local uncertain = { connection_loss = true, closed = true }

function effects.refused(self, turn, _, rest)
  local code = rest:match("(%S+)$")
  turn.write.refused = certain[code]
  if certain[code] then
    self.refused = self.refused + 1
  elseif not uncertain[code] then
    self:complain("a write failed with " .. rest)
  end
end

local expected = { timeout = true, canceled = true, lost = true, connection_loss = true }

function effects.gives_up(self, turn, _, code)
  self.given_up[code] = (self.given_up[code] or 0) + 1
  turn.asked = nil
  if not expected[code] then self:complain("an acquire failed with " .. code) end
end

function effects.read(self) self.reads = self.reads + 1 end

function effects.torn(self, turn, time, rest)
  table.insert(self.torn, { worker = turn.worker, time = time, what = rest })
end

function effects.put(self, _, _, rest) queue.add(self.queue, "put", rest) end

function effects.job(self, _, _, rest) queue.add(self.queue, "job", rest) end

function effects.arrives(self, turn, time, rest) meetings.arrives(self.meetings, turn.worker, time, rest) end

local parted = { passed = true, timeout = true, lost = true, connection_loss = true }

function effects.parts(self, _, time, rest)
  meetings.parts(self.meetings, time, rest)
  if not parted[rest:match("(%S+)$")] then self:complain("a barrier's wait ended with " .. rest) end
end

function effects.leaves(self, _, time, rest) meetings.leaves(self.meetings, time, rest) end

function effects.left(self, _, time, rest)
  meetings.left_it(self.meetings, time, rest)
  if not rest:find(" passed$") then self:complain("a barrier was left with " .. rest) end
end

function effects.ends(self) self.ended = self.ended + 1 end

function effects.pid() end
effects.status = effects.pid

function effects.state(self, turn, time, rest)
  if rest:find("^lost") then table.insert(self.losses, { worker = turn.worker, time = time }) end
end

function journal:complain(text)
  table.insert(self.trouble, text)
end

function journal:turn_of(worker, name)
  local turns = self.turns[worker] or {}
  self.turns[worker] = turns
  turns[name] = turns[name] or { worker = worker }
  return turns[name]
end

-- Reads a line of a worker's log. Any other line is trouble.
function journal:add(worker, line)
  local time, name, what, rest = line:match("^(%S+) (%d+) (%S+) ?(.*)$")
  local effect = effects[what]
  if not effect then return self:complain("worker " .. worker .. " said: " .. line) end
  local ok = pcall(effect, self, self:turn_of(worker, name), tonumber(time), rest)
  if not ok then self:complain("worker " .. worker .. " said out of turn: " .. line) end
end

-- Whether one of the worker's coroutines holds a lock, as far as is known.
function journal:holding(worker)
  for _, turn in pairs(self.turns[worker] or {}) do
    if turn.hold then return true end
  end
  return false
end

-- A worker was killed: its waits are over, and the write that it was about to make may have been made.
function journal:died(worker, time)
  for _, turn in pairs(self.turns[worker] or {}) do
    if turn.hold then turn.hold.killed = time end
  end
  self.turns[worker] = nil
  table.insert(self.losses, { worker = worker, time = time })
end

-- A worker's session was killed. Until the worker learns of this, it trusts its lease, while other sessions may be granted its locks.
---@param limit number when the lease must have ended
function journal:expired(worker, time, limit)
  table.insert(self.expiries, { worker = worker, time = time, limit = limit })
end

-- When the worker learned that the session was over.
local function noticed(self, expiry)
  local first = math.huge
  for _, loss in ipairs(self.losses) do
    if loss.worker == expiry.worker and loss.time >= expiry.time then first = math.min(first, loss.time) end
  end
  return first
end

-- Counts holds only up to the time at which their session was killed. Returns the longest time after that for which a worker took its hold
-- for valid.
function journal:cut_expired()
  local longest = 0
  for _, expiry in ipairs(self.expiries) do
    local known = noticed(self, expiry)
    for _, hold in ipairs(self.holds) do
      local concerned = hold.worker == expiry.worker and hold.first and hold.granted <= known
      if concerned and hold.last > expiry.time and hold.last <= expiry.limit then
        longest = math.max(longest, hold.last - expiry.time)
        hold.last = expiry.time
        if hold.first > hold.last then hold.first, hold.last = nil, nil end
      end
    end
  end
  return longest
end

-- What readers saw change under them, except readers whose session had been ended from outside without their knowledge.
function journal:torn_reads()
  local found = {}
  for _, torn in ipairs(self.torn) do
    local excused = false
    for _, expiry in ipairs(self.expiries) do
      local until_then = math.min(expiry.limit, noticed(self, expiry))
      excused = excused or torn.worker == expiry.worker and torn.time >= expiry.time and torn.time <= until_then
    end
    if not excused then found[#found + 1] = ("worker %d at %.6f: %s"):format(torn.worker, torn.time, torn.what) end
  end
  return found
end

return { new = new }
