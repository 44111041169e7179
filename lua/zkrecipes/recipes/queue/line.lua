-- The line of waiters for items of one queue in this process. First come, first served. A waiter that leaves is removed at once. A waiter
-- whose worker found nothing returns to its old position. The cost of an operation does not depend on the length of the line.
--
-- A waiter is { try = true if it does not wait, ... }. The line adds its ticket and, while it is in the line, its neighbours `ahead` and
-- `behind`.

local core = require "zkrecipes.core"
local wait = require "zkrecipes.host.wait"

local M = {}
M.__index = M

-- The line is a ring. The line itself stands between the last and the first waiter.
function M.new()
  local line = setmetatable({ count = 0, tickets = 0, tries = {}, try_count = 0 }, M)
  line.ahead, line.behind = line, line
  return line
end

local function insert(line, waiter, ahead)
  local behind = ahead.behind
  waiter.ahead, waiter.behind = ahead, behind
  ahead.behind, behind.ahead = waiter, waiter
  line.count = line.count + 1
  if waiter.try then line.tries[waiter], line.try_count = waiter.ticket, line.try_count + 1 end
end

function M:push(waiter)
  self.tickets = self.tickets + 1
  waiter.ticket = self.tickets
  insert(self, waiter, self.ahead)
end

-- Does nothing if the waiter is not in the line.
function M:remove(waiter)
  local ahead, behind = waiter.ahead, waiter.behind
  if not ahead then return end
  waiter.ahead, waiter.behind = nil, nil
  ahead.behind, behind.ahead = behind, ahead
  self.count = self.count - 1
  if waiter.try then self.tries[waiter], self.try_count = nil, self.try_count - 1 end
end

-- Removes and returns the first waiter, or nil.
function M:pop()
  local first = self.behind
  if first == self then return nil end
  self:remove(first)
  return first
end

-- Returns the waiter to its old position. That is near the beginning; when many come back, it is usually just behind the one before.
function M:put_back(waiter)
  local ahead, last = self, self.last_back
  if last and last.ahead and last.ticket < waiter.ticket then ahead = last end
  while ahead.behind ~= self and ahead.behind.ticket < waiter.ticket do ahead = ahead.behind end
  insert(self, waiter, ahead)
  self.last_back = waiter
end

-- Removes the waiters that only try, and returns a list of them.
function M:pop_tries()
  if self.try_count == 0 then return {} end
  local tries = wait.in_order(self.tries)
  for i = 1, #tries do self:remove(tries[i]) end
  return tries
end

core.own(debug.getinfo(1, "S").source)
return M
