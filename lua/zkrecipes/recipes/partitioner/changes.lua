-- partitioner:changes(): what a reader is told of the parts that are held.
--
-- A reader has one entry for each part whose state has changed since it was told, so a slow reader gets the latest state of each part and
-- no backlog. If a part has ended and was gained again meanwhile, it is told both.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local failure = require "zkrecipes.failure"
local limits = require "zkrecipes.limit"
local wait = require "zkrecipes.host.wait"
local waiters = require "zkrecipes.host.waiters"

local M = {}

local Changes = { __name = "zkrecipes.partitioner_changes" }
Changes.__index = Changes

-- ---- What is told ------------------------------------------------------------------------------

-- note(reader, part): its state has changed.
function M.note(reader, part)
  if not reader.queued[part] then
    reader.queued[part] = true
    reader.last = reader.last + 1
    reader.queue[reader.last] = part
  end
  reader.waiters:wake()
end

-- wake(reader): which members have another set has changed, or the partitioner is closed.
function M.wake(reader) reader.waiters:wake() end

local function next_part(reader)
  if reader.first > reader.last then return nil end
  local part = reader.queue[reader.first]
  reader.queue[reader.first], reader.queued[part] = nil, nil
  reader.first = reader.first + 1
  return part
end

-- The change of this part; nil: none any more.
local function judge(reader, part)
  local known, now = reader.known[part], reader.work:own_of(part)
  if known == now then return nil end
  if known then
    reader.known[part] = nil
    if now then M.note(reader, part) end
    return { kind = "ended", part = part, why = known.why, token = known.hold.token }
  end
  reader.known[part] = now
  return { kind = "gained", part = part, hold = now.hold, token = now.hold.token }
end

local function copy(list)
  local made = {}
  for i = 1, #list do made[i] = list[i] end
  return made
end

-- The next change that there is already; nil: none.
local function present(reader)
  local differing = reader.work.differing
  if differing ~= reader.differing then
    reader.differing = differing
    return { kind = "differs", members = copy(differing) }
  end
  local part = next_part(reader)
  while part do
    local change = judge(reader, part)
    if change then return change end
    part = next_part(reader)
  end
end

-- ---- Methods -----------------------------------------------------------------------------------

local function ended(reader)
  local over = reader.work.over
  if over and not reader.closed then return nil, over[1], over[2] end
  return nil, "the reader was closed", "closed"
end

-- partitioner_changes:next([timeout])
function Changes:next(timeout)
  check.seconds(timeout, 1, "next", true)
  local work = self.work
  local left = wait.limit(work.host, timeout)
  while true do
    local change = not self.closed and present(self)
    if change then return change end
    if self.closed or work.over and not next(work.keepers) then return ended(self) end
    local record = self.waiters:enter()
    if left() == 0 or not wait.pause(work.host, record, left()) then
      record:give_up()
      return limits.passed(work.session, "next")
    end
  end
end

-- partitioner_changes:close()
function Changes:close()
  self.closed = true
  self.work.readers[self] = nil
  self.waiters:wake()
  return true
end

failure.name(Changes, "partitioner_changes")
check.selves("partitioner_changes", Changes, Changes)
Changes.__call = function(changes) return changes:next() end
Changes.__close = function(changes) changes:close() end

-- new(work): a reader, which first tells all parts that are held.
function M.new(work)
  local reader = setmetatable({ work = work, path = work.path, known = {}, queued = {}, queue = {}, first = 1, last = 0,
    differing = work.NONE, waiters = waiters.new(work.host) }, Changes)
  return reader
end

core.own(debug.getinfo(1, "S").source)
return M
