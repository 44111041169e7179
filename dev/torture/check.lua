-- Judges the journal of the torture run: checks that each rule holds, and gives an example of each violation.
--
-- A token is the czxid of a znode, and a write has its mzxid from the server. So the server orders what the server did; only the times at
-- which a hold was valid come from our clock.

local queue = require "dev.torture.queue"
local kinds = require "dev.torture.kinds"
local meetings = require "dev.torture.meetings"

local unpack = table.unpack or unpack -- luacheck: ignore 113 143

local M = {}

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

-- A failed check keeps its first example.
local function finding()
  return { count = 0, note = function(self, ...)
    self.count = self.count + 1
    self.example = self.example or string.format(...)
  end }
end

local function describe(hold)
  return ("worker %d, token %s, valid from %.6f to %.6f"):format(hold.worker, hold.token, hold.first, hold.last)
end

-- Holds in the order in which they were first seen valid: none may begin before all those before it have ended.
local function check_holds(journal)
  local overlaps, falling = finding(), finding()
  for lock, holds in pairs(by_lock(journal.holds, function(hold) return hold.first and not hold.permits end,
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

-- Beginnings and ends of holds with permits, in order; at the same time, ends come first.
local function changes(journal)
  local list = {}
  for _, hold in ipairs(journal.holds) do
    if hold.permits and hold.first then
      table.insert(list, { time = hold.first, count = hold.permits, hold = hold })
      table.insert(list, { time = hold.last, count = -hold.permits })
    end
  end
  table.sort(list, function(a, b) return a.time < b.time or a.time == b.time and a.count < b.count end)
  return list
end

local function check_permits(journal)
  local found, sum, most = finding(), 0, math.max(unpack(kinds.LIMITS))
  for _, change in ipairs(changes(journal)) do
    sum = sum + change.count
    journal.most_permits = math.max(journal.most_permits, sum)
    if change.hold and sum > most then found:note("%d permits; the last to come: %s", sum, describe(change.hold)) end
  end
  return found
end

local function acknowledged(write) return write.zxid end

-- By token: when a hold with a larger token was first seen valid. A write that a hold with a smaller token begins after that is stale.
local function successors(holds)
  local since, earliest = {}, math.huge
  for i = #holds, 1, -1 do
    since[holds[i].token] = earliest
    earliest = math.min(earliest, holds[i].first or math.huge)
  end
  return since
end

local function check_stale(journal)
  local stale = finding()
  local holds = by_lock(journal.holds, function() return true end, function(a, b) return a.token < b.token end)
  for lock, writes in pairs(by_lock(journal.writes, acknowledged, function(a, b) return a.zxid < b.zxid end)) do
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

-- Writes of unknown outcome, by value.
local function open_writes(journal, lock)
  local values, count = {}, 0
  for _, write in ipairs(journal.writes) do
    if write.lock == lock and not write.zxid and not write.refused then
      values[write.value], count = true, count + 1
    end
  end
  journal.unknown = journal.unknown + count
  return values
end

-- Every value from 1 to the one in the register must have been written once, in this order. A value that no worker has acknowledged must be
-- one of unknown outcome.
local function check_updates(journal, registers)
  local lost = finding()
  local lists = by_lock(journal.writes, acknowledged, function(a, b) return a.zxid < b.zxid end)
  journal.unknown = 0
  for lock, final in pairs(registers) do
    local open, last = open_writes(journal, lock), 0
    local function fill(upto)
      for value = last + 1, upto do
        if not open[value] then lost:note("lock %s: no holder wrote %d", lock, value) end
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

local function check_waits(journal)
  local open = finding()
  for worker, turns in pairs(journal.turns) do
    for name, turn in pairs(turns) do
      if turn.asked then open:note("worker %d.%s since %.6f", worker, name, turn.asked) end
    end
  end
  return open
end

-- Counts that must be zero, and lists that must be empty.
local function check_facts(facts)
  local seen = {}
  for name, what in pairs(facts) do
    local found = finding()
    for _, text in ipairs(what) do found:note("%s", text) end
    seen[name] = found
  end
  return seen
end

-- All checks, in the order in which they are printed: { what, whether it holds, what was seen }.
---@param journal table see journal.lua; holds of sessions that were ended from outside are cut there
---@param registers table<string, integer> what each lock's register has at the end
---@param facts table<string, string[]> what else is wrong: crashed, deserted, left, processes; each may be empty; and
---`items`: what is in the queue at the end
function M.checks(journal, registers, facts)
  journal.outlived = journal:cut_expired()
  local overlaps, falling = check_holds(journal)
  local lost, again = queue.judge(journal.queue, facts.items)
  local alone, early = meetings.judge(journal.meetings, journal.losses)
  local also = check_facts { lost = lost, again = again, crashed = facts.crashed, deserted = facts.deserted, left = facts.left,
    processes = facts.processes, trouble = journal.trouble, torn = journal:torn_reads(),
    alone = alone, early = early }
  local checks = {}
  for i, entry in ipairs {
    { "no two valid holds of a lock at once", overlaps },
    { "tokens grow from hold to hold", falling },
    { "no more permits than the limit", check_permits(journal) },
    { "no write of a stale holder", check_stale(journal) },
    { "no update lost or done twice", check_updates(journal, registers) },
    { "no reader saw a write", also.torn },
    { "no item of the queue lost", also.lost },
    { "no item done twice", also.again },
    { "no member passed a barrier alone", also.alone },
    { "no member left a barrier before the others", also.early },
    { "every wait got an answer", check_waits(journal) },
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

return M
