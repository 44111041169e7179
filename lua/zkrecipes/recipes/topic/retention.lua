-- Which messages a publisher removes: those that are too many, or too old. It removes the oldest ones, in the transaction that publishes
-- new ones and moves `first` in the head. So a reader knows exactly how many it has missed.
--
-- A message is read before it is removed, for its id and its time. That is done ahead, for some messages at a time.
--
-- What can go wrong: the read fails (nothing is removed this time). Another publisher removes the same messages (the transaction fails,
-- because that publisher has written the head). Another client has deleted a message, or its id (it is left out), or has created a znode
-- in a bucket (the bucket stays).

local core = require "zkrecipes.core"
local layout = require "zkrecipes.recipes.topic.layout"
local store = require "zkrecipes.recipes.topic.store"

local M = {}
M.__index = M

local MOST = 200 -- messages that one transaction removes: more than it publishes
local AHEAD = 20 -- messages that are read at a time

-- count, age: nil: no limit.
function M.new(session, path, count, age)
  return setmetatable({ session = session, path = path, count = count, age = age, known = {}, left = {} }, M)
end

-- ---- Looking -----------------------------------------------------------------------------------

-- What the answer to a read says of the message; nil: nothing.
local function told(position, data, stat, code)
  if code == "no_node" then return { position = position, gone = true, time = 0 } end
  if code then return nil end
  local _, id = layout.decode_message(data)
  return { position = position, id = id ~= "" and id or nil, time = stat.ctime / 1000 }
end

-- Reads the messages at these positions.
local function read(retention, from, to)
  local reads, found = retention.reads, {}
  for position = from, to do reads:ask(layout.message(retention.path, position)) end
  for position = from, to do
    local message = told(position, reads:take())
    if message then found[#found + 1] = message end
  end
  return found
end

-- Leaves out the ids that do not exist.
local function look(retention, from, to)
  local reads, found = retention.reads, read(retention, from, to)
  for _, message in ipairs(found) do
    if message.id then reads:ask(layout.id(retention.path, message.id)) end
  end
  for _, message in ipairs(found) do
    local code
    if message.id then code = select(3, reads:take()) end
    if code == "no_node" then message.id, code = nil, nil end
    if not code then retention.known[message.position] = message end
  end
end

-- Another topic has other messages, and other publishers have removed some.
local function forget_old(retention, head)
  if retention.born ~= head.born then retention.born, retention.known = head.born, {} end
  for position in pairs(retention.known) do
    if position < head.first then retention.known[position] = nil end
  end
end

-- The message at this position; nil: the read has failed.
local function at(retention, position, last)
  if not retention.known[position] then
    retention.reads = store.reads(retention.session)
    look(retention, position, math.min(position + AHEAD - 1, last))
  end
  return retention.known[position]
end

-- The task that publishes has ended.
function M:drop()
  if self.reads then self.reads:drop() end
end

-- ---- What is due -------------------------------------------------------------------------------

-- The messages that the next transaction removes, if it publishes so many new ones.
function M:due(head, new)
  local due = {}
  if not self.count and not self.age then return due end
  forget_old(self, head)
  local time = head.time + core.host(self.session).adapter.now() - head.told
  for position = head.first, math.min(head.first + MOST - 1, head.last) do
    local too_many = self.count and head.last + new - position >= self.count
    local message = (too_many or self.age) and at(self, position, head.last)
    if not message or not too_many and time < message.time + self.age then break end
    due[#due + 1] = message
  end
  return due
end

-- Adds the parts that remove these messages to a transaction.
function M:add_parts(parts, due)
  for _, message in ipairs(due) do
    local position = message.position
    if not message.gone then parts[#parts + 1] = { "delete", layout.message(self.path, position) } end
    if message.id then parts[#parts + 1] = { "delete", layout.id(self.path, message.id) } end
    local bucket = layout.bucket(self.path, position)
    if (position + 1) % layout.BUCKET == 0 and not self.left[bucket] then parts[#parts + 1] = { "delete", bucket } end
  end
end

-- What is known was not true: looks again.
function M:forget() self.known = {} end

-- A bucket of these holds znodes of another client: it stays.
function M:leave_buckets(due)
  for _, message in ipairs(due) do self.left[layout.bucket(self.path, message.position)] = true end
end

core.own(debug.getinfo(1, "S").source)
return M
