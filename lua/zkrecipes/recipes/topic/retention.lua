-- Which messages a publisher removes: those that are too many, or too old. It removes the oldest ones, in the transaction that publishes
-- new ones and moves `first` in the head. So a reader knows exactly how many it has missed.
--
-- A message is read before it is removed, for its id and its time. That is done ahead, for some messages at a time.
--
-- What can go wrong: the read fails (nothing is removed this time). Another publisher removes the same messages (the transaction fails,
-- because that publisher has written the head). Another client has deleted a message, or its id (it is left out), or has created a znode
-- below a message, below an id or in a bucket (that one stays; the log tells), or has changed the ACL of a message (its id stays).

local core = require "zkrecipes.core"
local dispatch = require "zkrecipes.host.dispatch"
local layout = require "zkrecipes.recipes.topic.layout"
local requests = require "zkrecipes.lost_answers"
local store = require "zkrecipes.recipes.topic.store"

local M = {}
M.__index = M

local MOST = 200 -- messages that one transaction removes: more than it publishes
local AHEAD = 20 -- messages that are read at a time

-- count, age: nil: no limit.
function M.new(session, path, count, age)
  return setmetatable({ session = session, path = path, count = count, age = age, known = {}, left = {}, told = {} }, M)
end

-- ---- Looking -----------------------------------------------------------------------------------

local STAYS = "topic:publish %s: another client has created a znode below %s, so that stays when it is due; delete both"

-- True if there is something below this znode. A server deletes no such znode.
local function stays(retention, path, stat)
  if stat.num_children == 0 then return false end
  if not retention.told[path] then
    retention.told[path] = true
    dispatch.tell(core.host(retention.session), "warning", STAYS:format(retention.path, path), retention.session)
  end
  return true
end

-- What the answer to a read says of the message; nil: nothing.
local function told(retention, position, data, stat, code)
  if code == "no_auth" then -- another client has changed its ACL: it can be deleted, but its id stays
    data, stat, code = nil, requests.sure(retention.session.exists, retention.session, layout.message(retention.path, position))
    if stat == false then code = "no_node" end
  end
  if code == "no_node" then return { position = position, gone = true, time = 0 } end
  if code then return nil end
  local _, id = layout.decode_message(data)
  local message = { position = position, id = id ~= "" and id or nil, time = stat.ctime / 1000,
    stays = stays(retention, layout.message(retention.path, position), stat) }
  if message.stays then retention.left[layout.bucket(retention.path, position)] = true end
  return message
end

-- Reads the messages at these positions.
local function read(retention, from, to)
  local reads, found = retention.reads, {}
  for position = from, to do reads:ask(layout.message(retention.path, position)) end
  for position = from, to do
    local message = told(retention, position, reads:take())
    if message then found[#found + 1] = message end
  end
  return found
end

-- Leaves out the ids that do not exist, or stay.
local function look(retention, from, to)
  local reads, found = retention.reads, read(retention, from, to)
  for _, message in ipairs(found) do
    if message.id then reads:ask(layout.id(retention.path, message.id)) end
  end
  for _, message in ipairs(found) do
    local stat, code
    if message.id then stat, code = select(2, reads:take()) end
    if code == "no_node" then
      message.id, code = nil, nil
    elseif message.id and not code and stays(retention, layout.id(retention.path, message.id), stat) then
      message.id, message.kept_id = nil, true
    end
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
    if not message.gone and not message.stays then parts[#parts + 1] = { "delete", layout.message(self.path, position) } end
    if message.id then parts[#parts + 1] = { "delete", layout.id(self.path, message.id) } end
    local bucket = layout.bucket(self.path, position)
    if (position + 1) % layout.BUCKET == 0 and not self.left[bucket] then parts[#parts + 1] = { "delete", bucket } end
  end
end

-- What is known was not true: looks again.
function M:forget() self.known = {} end

-- One of these, or a bucket, holds a znode of another client: looks again. If it is none of these, the buckets stay.
function M:leave(due)
  local found, last = false, due[#due].position
  self.known = {}
  for _, message in ipairs(due) do
    local now = at(self, message.position, last)
    found = found or not now or now.stays and not message.stays or now.kept_id and not message.kept_id
  end
  if found then return end
  for _, message in ipairs(due) do self.left[layout.bucket(self.path, message.position)] = true end
end

core.own(debug.getinfo(1, "S").source)
return M
