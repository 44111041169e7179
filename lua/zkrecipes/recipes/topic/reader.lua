-- The reader of a subscription: one task, which reads messages ahead. See topic.lua for the story.
--
-- 1. Follow the topic's head with a watched copy. It says which positions there are.
-- 2. Read the messages by their names, in order, up to WINDOW (32) in flight, and put them in a list, from which `next` takes them. While
--    WINDOW messages are in the list or in flight, wait.
-- 3. All are read: wait until the head changes.
--
-- What can go wrong: the link breaks (read again from the first message whose answer is missing). A message is missing: the head, read
-- again, says how many messages were removed, and the next message says it too (`missed`). Another client has deleted the message or
-- written other data: it counts as missed. The topic was deleted: the subscription ends with `no_node`.
--
-- A server that is behind does no harm, so there is no sync: a session never sees less than it has seen, nor does the next one, because to
-- make a session is a write. The head and the messages are written together, so what the head shows is there.

local check = require "zkrecipes.check"
local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.host.coroutines"
local dispatch = require "zkrecipes.host.dispatch"
local fifo = require "zkrecipes.host.fifo"
local layout = require "zkrecipes.recipes.topic.layout"
local requests = require "zkrecipes.lost_answers"
local store = require "zkrecipes.recipes.topic.store"
local tasks = require "zkrecipes.host.tasks"
local wait = require "zkrecipes.host.wait"
local waiters = require "zkrecipes.host.waiters"

local M = { WINDOW = 32 } -- messages that are read ahead
M.__index = M

local session_class, tree_class = core.classes.session, core.classes.tree
local count = tree_class.inner.count
local changed = classes.waiting(tree_class.inner.changed)

local PAUSE = 0.1 -- seconds, after a failure that may pass

local function passes(code) return requests.PASSES[code] or code == "timeout" end

-- ---- What comes next ---------------------------------------------------------------------------

-- Begins again with the message at `at`.
local function drop_reads(reader)
  reader.reads:drop()
  reader.asked = reader.at - 1
end

-- The messages up to this position were removed, or are none.
local function skip(reader, position)
  reader.missed = reader.missed + position - reader.at
  reader.at = position
end

-- As `skip`, while no read is in flight.
local function leap(reader, position)
  skip(reader, position)
  reader.asked = reader.at - 1
end

local function push(reader, text, stat)
  reader.list:push { data = text, position = reader.at, time = stat.ctime / 1000, missed = reader.missed }
  reader.missed, reader.at, reader.count = 0, reader.at + 1, reader.count + 1
  reader.waiters:wake()
end

local function gone(reader)
  return nil, ("topic:subscribe %s: the topic was deleted"):format(reader.path), "no_node"
end

-- ---- Reading -----------------------------------------------------------------------------------

-- Sends reads, while there is room for the messages.
local function ask(reader, last)
  while reader.asked < last and reader.count + reader.asked - reader.at + 1 < M.WINDOW do
    reader.asked = reader.asked + 1
    reader.reads:ask(layout.message(reader.path, reader.asked))
  end
end

local function wait_for_room(reader)
  reader.full = wait.record()
  wait.pause(reader.host, reader.full)
  reader.full = nil
end

-- The head; or nil, message, code.
local function read_head(reader)
  local head, message, code = store.head(reader.session, reader.path)
  if code == "no_node" or head and head.born ~= reader.born then return gone(reader) end
  return head, message, code
end

-- The first position behind a directory of messages that does not exist; or nil, message, code. Without this list a reader would never
-- reach a head that another client has set far ahead.
local function next_bucket(reader, last)
  local names, message, code = requests.sure(reader.session.children, reader.session, layout.buckets(reader.path))
  if not names then return nil, message, code end
  local nearest = last + 1
  for _, name in ipairs(names) do
    local first = (tonumber(name:match "^%d+$") or 0) * layout.BUCKET
    if first > reader.at and first < nearest then nearest = first end
  end
  return nearest
end

-- Another client has deleted the message at `at`, and perhaps more. True; or nil, message, code.
local function pass_over(reader, last)
  local stat, message, code = requests.sure(reader.session.exists, reader.session, layout.bucket(reader.path, reader.at))
  if stat == nil then return nil, message, code end
  local position = reader.at + 1
  if not stat then position, message, code = next_bucket(reader, last) end
  if not position then return nil, message, code end
  leap(reader, position)
  return true
end

-- There is no message at `at`. The head; or nil, message, code.
local function is_missing(reader)
  drop_reads(reader)
  local head, message, code = read_head(reader)
  if not head or head.first > reader.at then return head, message, code end
  local stat, problem, why = requests.sure(reader.session.exists, reader.session, layout.message(reader.path, reader.at))
  if stat == nil then return nil, problem, why end
  if stat then return head end
  stat, problem, why = pass_over(reader, head.last)
  if not stat then return nil, problem, why end
  return head
end

local function is_unreadable(reader)
  dispatch.tell(reader.host, "warning", ("topic:subscribe %s: the znode of position %.0f holds no message; it is left out"):format(
    reader.path, reader.at), reader.session)
  skip(reader, reader.at + 1)
end

-- Takes the oldest answer. The head that is known now; or nil, message, code.
local function take(reader, head)
  local data, stat, code = reader.reads:take()
  if code == "no_node" then return is_missing(reader) end
  if code == "connection_loss" then
    drop_reads(reader)
    return head
  end
  if code then return nil, stat, code end
  local _, _, text = layout.decode_message(data)
  if text then push(reader, text, stat) else is_unreadable(reader) end
  return head
end

-- Reads up to the last message. True; or nil, message, code.
local function read_all(reader, head)
  while reader.at <= head.last do
    local message, code
    if head.first > reader.at then leap(reader, head.first) end
    ask(reader, head.last)
    if reader.asked < reader.at then
      if reader.at <= head.last then wait_for_room(reader) end
    else
      head, message, code = take(reader, head)
      if not head then return nil, message, code end
    end
  end
  return true
end

-- ---- Following ---------------------------------------------------------------------------------

-- The head that the copy shows; or nil, message, code.
local function head_in(reader, tree)
  local data, stat = tree:get()
  local head = stat and stat.czxid == reader.born and store.head_of(reader.session, data, stat)
  if head then return head end
  return read_head(reader)
end

-- Reads what the copy shows. True; or nil, message, code.
local function read_shown(reader, tree)
  local head, message, code = head_in(reader, tree)
  if head then return read_all(reader, head) end
  return nil, message, code
end

local function follow_once(reader)
  local tree, message, code = session_class.core.tree(reader.session, layout.head(reader.path), 0)
  if not tree then return nil, message, code end
  reader.tree = tree
  local ok
  ok, message, code = tree_class.core.ready(tree)
  while ok do
    local seen = count(tree)
    ok, message, code = read_shown(reader, tree)
    if ok then ok, message, code = changed(tree, seen) end
  end
  tree_class.core.close(tree)
  reader.tree = nil
  return nil, message, code
end

local function follow(reader)
  while true do
    local _, message, code = follow_once(reader)
    if not passes(code) then return nil, message, code end
    drop_reads(reader)
    wait.pause(reader.host, wait.record(), PAUSE)
  end
end

-- ---- The task ----------------------------------------------------------------------------------

local function ended(reader, task)
  reader.reads:drop()
  if reader.tree then tree_class.core.close(reader.tree) end
  reader.tree = nil
  if not reader.over then
    local _, message, code = coroutines.unpack(task.results)
    if not task.ok then message, code = "topic:subscribe: " .. check.text(task.results[1]), "error" end
    reader.over = { message, code }
  end
  reader.waiters:wake()
end

-- at: the position of the first message that it gives.
function M.start(session, path, born, at)
  local host = core.host(session)
  local reader = setmetatable({ session = session, host = host, path = path, born = born, at = at, asked = at - 1, missed = 0, count = 0,
    list = fifo.new(), reads = store.reads(session), waiters = waiters.new(host) }, M)
  reader.task = tasks.behind(host, { quiet = true, on_end = function(task) ended(reader, task) end }, follow, reader)
  return reader
end

-- The next message that was read; nil: none.
function M:pop()
  local message = self.list:pop()
  if not message then return nil end
  self.count = self.count - 1
  if self.full and self.count <= M.WINDOW / 2 then wait.wake(self.host, self.full) end
  return message
end

-- Ends it.
function M:shut(message, code)
  if self.over then return end
  self.over = { message, code }
  self.task:cancel()
  self.waiters:wake()
end

core.own(debug.getinfo(1, "S").source)
return M
