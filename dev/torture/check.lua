-- What the logs of the torture run (worker.lua) say: who held which lock, from when until when at
-- least, and what was written. At the end it is checked; all that is wrong is told with an example.
--
-- A hold's `first` and `last` are the times between which it was surely valid. A token is the
-- creation zxid of a node and a write has its zxid from the server as well (mzxid), so what the
-- server did is ordered by the server and not by our clocks.

local journal = {}
journal.__index = journal

local function new()
  return setmetatable({ turns = {}, holds = {}, writes = {}, given_up = {}, refused = 0, unread = 0, unknown = 0,
    ended = 0, expiries = {}, losses = {}, trouble = {} }, journal)
end

-- ---- Reading -----------------------------------------------------------------------------------

local effects = {}

function effects.waits(_, turn, time, lock)
  turn.lock, turn.asked, turn.hold, turn.write = lock, time, nil, nil
end

function effects.holds(self, turn, time, token)
  turn.hold = { lock = turn.lock, token = token, worker = turn.worker, asked = turn.asked, granted = time }
  turn.asked = nil
  table.insert(self.holds, turn.hold)
end

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

-- The server, or the session that knows that the hold is lost, says that nothing was written; or nobody knows.
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

---Takes a line of a worker's log. What is no such line is trouble.
function journal:add(worker, line)
  local time, name, what, rest = line:match("^(%S+) (%d+) (%S+) ?(.*)$")
  local effect = effects[what]
  if not effect then return self:complain("worker " .. worker .. " said: " .. line) end
  local ok = pcall(effect, self, self:turn_of(worker, name), tonumber(time), rest)
  if not ok then self:complain("worker " .. worker .. " said out of turn: " .. line) end
end

---Does one of the worker's coroutines hold a lock, as far as is known?
function journal:holding(worker)
  for _, turn in pairs(self.turns[worker] or {}) do
    if turn.hold then return true end
  end
  return false
end

---A worker was killed: what it waited for it waits for no more; what it was about to write may be written.
function journal:died(worker, time)
  for _, turn in pairs(self.turns[worker] or {}) do
    if turn.hold then turn.hold.killed = time end
  end
  self.turns[worker] = nil
  table.insert(self.losses, { worker = worker, time = time })
end

---A worker's session was ended from outside. That is told to nobody: until the worker hears of it, it believes its lease,
---and others may be granted what it held.
function journal:expired(worker, time)
  table.insert(self.expiries, { worker = worker, time = time })
end

-- ---- Checking ----------------------------------------------------------------------------------

local function by_lock(list, wanted, before)
  local lists = {}
  for _, item in ipairs(list) do
    if wanted(item) then
      lists[item.lock] = lists[item.lock] or {}
      table.insert(lists[item.lock], item)
    end
  end
  for _, of_lock in pairs(lists) do table.sort(of_lock, before) end
  return lists
end

-- A check that fails keeps its first example.
local function finding()
  return { count = 0, note = function(self, ...)
    self.count = self.count + 1
    self.example = self.example or string.format(...)
  end }
end

-- When the worker knew that the session was over.
local function noticed(self, expiry)
  local first = math.huge
  for _, loss in ipairs(self.losses) do
    if loss.worker == expiry.worker and loss.time >= expiry.time then first = math.min(first, loss.time) end
  end
  return first
end

---Holds count only up to the time at which their session was ended from outside. → for how long the longest of them
---was believed valid beyond that
function journal:cut_expired()
  local longest = 0
  for _, expiry in ipairs(self.expiries) do
    local known = noticed(self, expiry)
    for _, hold in ipairs(self.holds) do
      if hold.worker == expiry.worker and hold.first and hold.granted <= known and hold.last > expiry.time then
        longest = math.max(longest, hold.last - expiry.time)
        hold.last = expiry.time
        if hold.first > hold.last then hold.first, hold.last = nil, nil end
      end
    end
  end
  return longest
end

local function describe(hold)
  return ("worker %d, token %s, valid from %.6f to %.6f"):format(hold.worker, hold.token, hold.first, hold.last)
end

-- Holds in the order in which they were first seen valid: none may begin before all those before it have ended.
local function check_holds(self)
  local overlaps, falling = finding(), finding()
  for lock, holds in pairs(by_lock(self.holds, function(hold) return hold.first end,
    function(a, b) return a.first < b.first end)) do
    local longest = holds[1]
    for i = 2, #holds do
      local hold, before = holds[i], holds[i - 1]
      if hold.first < longest.last then overlaps:note("lock %s: %s; %s", lock, describe(longest), describe(hold)) end
      if hold.token <= before.token then falling:note("lock %s: %s; %s", lock, describe(before), describe(hold)) end
      if hold.last > longest.last then longest = hold end
    end
  end
  return overlaps, falling
end

local function acknowledged(write) return write.zxid end

-- By token: when a hold with a larger one was first seen valid. What a smaller one begins to write after that is stale.
local function successors(holds)
  local since, earliest = {}, math.huge
  for i = #holds, 1, -1 do
    since[holds[i].token] = earliest
    earliest = math.min(earliest, holds[i].first or math.huge)
  end
  return since
end

local function check_stale(self)
  local stale = finding()
  local holds = by_lock(self.holds, function() return true end, function(a, b) return a.token < b.token end)
  for lock, writes in pairs(by_lock(self.writes, acknowledged, function(a, b) return a.zxid < b.zxid end)) do
    local since, highest = successors(holds[lock] or {}), ""
    for _, write in ipairs(writes) do
      if write.token < highest or write.begun > (since[write.token] or math.huge) then
        stale:note("lock %s: token %s wrote %d after a later holder", lock, write.token, write.value)
      end
      if write.token > highest then highest = write.token end
    end
  end
  return stale
end

-- Writes nobody knows the outcome of, by value.
local function open_writes(self, lock)
  local values, count = {}, 0
  for _, write in ipairs(self.writes) do
    if write.lock == lock and not write.zxid and not write.refused then
      values[write.value], count = true, count + 1
    end
  end
  self.unknown = self.unknown + count
  return values
end

-- Every value from 1 to the register's was written once, in this order; one that nobody has acknowledged
-- must be one of unknown outcome.
local function check_updates(self, registers)
  local lost = finding()
  local lists = by_lock(self.writes, acknowledged, function(a, b) return a.zxid < b.zxid end)
  self.unknown = 0
  for lock, final in pairs(registers) do
    local open, last = open_writes(self, lock), 0
    local function fill(upto)
      for value = last + 1, upto do
        if not open[value] then lost:note("lock %s: nobody wrote %d", lock, value) end
      end
    end
    for _, write in ipairs(lists[lock] or {}) do
      if write.value <= last then
        lost:note("lock %s: %d was written by %s after %d", lock, write.value, write.token, last)
      end
      fill(write.value - 1)
      last = math.max(last, write.value)
    end
    fill(final)
    if final < last then lost:note("lock %s: the register has %d, but %d was written", lock, final, last) end
  end
  return lost
end

local function check_waits(self)
  local open = finding()
  for worker, turns in pairs(self.turns) do
    for name, turn in pairs(turns) do
      if turn.asked then open:note("worker %d.%s since %.6f", worker, name, turn.asked) end
    end
  end
  return open
end

-- Counts that should be zero, and lists that should be empty.
local function check_facts(facts)
  local seen = {}
  for name, what in pairs(facts) do
    local found = finding()
    for _, text in ipairs(what) do found:note("%s", text) end
    seen[name] = found
  end
  return seen
end

---All checks, in the order in which they are told: { what, whether it is so, what was seen }.
---@param registers table<string, integer> what each lock's register has at the end
---@param facts table<string, string[]> what else is wrong: crashed, deserted, left, processes; each may be empty
function journal:checks(registers, facts)
  self.outlived = self:cut_expired()
  local overlaps, falling = check_holds(self)
  local also = check_facts { crashed = facts.crashed, deserted = facts.deserted, left = facts.left,
    processes = facts.processes, trouble = self.trouble }
  local checks = {}
  for i, entry in ipairs {
    { "no two valid holds of a lock at once", overlaps },
    { "tokens grow from hold to hold", falling },
    { "no write of a stale holder", check_stale(self) },
    { "no update lost or done twice", check_updates(self, registers) },
    { "everybody who waited got an answer", check_waits(self) },
    { "every worker was granted after the faults", also.deserted },
    { "every worker lived until it was ended", also.crashed },
    { "nothing unexpected was said", also.trouble },
    { "nothing is left on the servers", also.left },
    { "no process is left", also.processes },
  } do
    local what, found = entry[1], entry[2]
    checks[i] = { what, found.count == 0, ("%d times; %s"):format(found.count, found.example or "") }
  end
  return checks
end

return { new = new }
