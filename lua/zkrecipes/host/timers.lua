-- Timers of the built-in host: a binary heap of records, ordered by `at`, and for the same time by the order in which they were
-- started. A record knows its place in the heap (`index`), so that it can be stopped.

local M = {}
M.__index = M

function M.new()
  return setmetatable({ heap = {}, count = 0, started = 0 }, M)
end

local function before(a, b)
  if a.at ~= b.at then return a.at < b.at end
  return a.order < b.order
end

local function up(heap, record, index)
  while index > 1 do
    local parent = (index - index % 2) / 2
    if not before(record, heap[parent]) then break end
    heap[index] = heap[parent]
    heap[index].index = index
    index = parent
  end
  heap[index] = record
  record.index = index
end

local function down(heap, count, record, index)
  while index * 2 <= count do
    local child = index * 2
    if child < count and before(heap[child + 1], heap[child]) then child = child + 1 end
    if not before(heap[child], record) then break end
    heap[index] = heap[child]
    heap[index].index = index
    index = child
  end
  heap[index] = record
  record.index = index
end

function M:start(record, at)
  self:stop(record)
  self.started = self.started + 1
  self.count = self.count + 1
  record.at, record.order = at, self.started
  up(self.heap, record, self.count)
end

-- Does nothing if the record is not started.
function M:stop(record)
  local index, heap = record.index, self.heap
  if not index then return end
  local last = heap[self.count]
  heap[self.count] = nil
  self.count = self.count - 1
  record.index = nil
  if last == record then return end
  up(heap, last, index)
  down(heap, self.count, last, last.index)
end

-- The time when the next record is due, or nil.
function M:next()
  return self.count > 0 and self.heap[1].at or nil
end

-- Removes and returns one record that is due, or returns nil.
function M:expire(now)
  local record = self.heap[1]
  if not record or record.at > now then return nil end
  self:stop(record)
  return record
end

return M
