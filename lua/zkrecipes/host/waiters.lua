-- Coroutines that wait for the same thing. They are woken in the order in which they came.
--
-- A coroutine that waits enters the list and waits with the record that it gets (wait.pause, called directly: each frame of ours
-- below it costs memory in every waiter). It leaves the list when it is woken or gives up.

local core = require "zkrecipes.core"
local wait = require "zkrecipes.host.wait"

local M = {}
M.__index = M

-- on_empty, if given: called when the last one has given up.
function M.new(host, on_empty)
  return setmetatable({ host = host, on_empty = on_empty, numbers = {}, came = 0 }, M)
end

local function leave(waiters, record)
  if not waiters.numbers[record] then return end
  waiters.numbers[record] = nil
  if waiters.on_empty and waiters:empty() then waiters.on_empty() end
end

-- The record to wait with. What it closes over is not of the frame that waits: where that is killed (in nginx), it is lost.
function M:enter()
  local record = wait.record(function(record) leave(self, record) end)
  self.came = self.came + 1
  self.numbers[record] = self.came
  return record
end

function M:empty() return next(self.numbers) == nil end

-- Wakes those of the first `came` (nil: all) that still wait. Gives their number.
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
