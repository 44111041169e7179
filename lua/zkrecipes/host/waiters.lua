-- A list of coroutines that wait for the same thing. They are woken in the order in which they came.
--
-- A coroutine enters the list and waits with the record that it gets. It calls wait.pause directly, because each of our frames below
-- it would cost memory in every waiter. It leaves the list when it is woken or gives up.

local core = require "zkrecipes.core"
local wait = require "zkrecipes.host.wait"

local M = {}
M.__index = M

-- on_empty, if given: called when the last waiter has given up.
function M.new(host, on_empty)
  return setmetatable({ host = host, on_empty = on_empty, numbers = {}, came = 0 }, M)
end

local function leave(waiters, record)
  if not waiters.numbers[record] then return end
  waiters.numbers[record] = nil
  if waiters.on_empty and waiters:empty() then waiters.on_empty() end
end

-- Returns the record to wait with. It closes over no variable of the frame that waits: if that coroutine is killed (in nginx), its
-- variables are lost.
function M:enter()
  local record = wait.record(function(record) leave(self, record) end)
  self.came = self.came + 1
  self.numbers[record] = self.came
  return record
end

function M:empty() return next(self.numbers) == nil end

-- Wakes those of the first `came` waiters (nil: all) that still wait. Returns how many it woke.
function M:wake(came)
  local records, count = wait.in_order(self.numbers), 0
  for i = 1, #records do
    if not came or self.numbers[records[i]] <= came then
      self.numbers[records[i]], count = nil, count + 1
      wait.wake(self.host, records[i])
    end
  end
  return count
end

core.own(debug.getinfo(1, "S").source)
return M
