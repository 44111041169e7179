-- A list of coroutines that wait for the same event. They are woken in the order of their calls.
--
-- A coroutine enters the list and waits with the record that it gets. It calls wait.pause directly, because each of our frames below
-- it would cost memory in every waiter. It leaves the list when it is woken or gives up.

local core = require "zkrecipes.core"
local wait = require "zkrecipes.host.wait"

local M = {}
M.__index = M

function M.new(host) return setmetatable({ host = host, numbers = {}, came = 0 }, M) end

local function leave(waiters, record) waiters.numbers[record] = nil end

-- Returns the record to wait with. It closes over no variable of the frame that waits: if that coroutine is killed (in nginx), its
-- variables are lost.
function M:enter()
  local record = wait.record(function(record) leave(self, record) end)
  self.came = self.came + 1
  self.numbers[record] = self.came
  return record
end

-- Wakes those that still wait. Returns how many it woke.
function M:wake()
  local records = wait.in_order(self.numbers)
  for i = 1, #records do
    self.numbers[records[i]] = nil
    wait.wake(self.host, records[i])
  end
  return #records
end

core.own(debug.getinfo(1, "S").source)
return M
