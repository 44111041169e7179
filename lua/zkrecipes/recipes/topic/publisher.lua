-- The publisher: what the coroutines of one process share that publish to one topic. See topic.lua for the story.
--
-- The calls wait in a line. One task takes up to MOST messages from it and publishes them in one transaction (a batch), then the next
-- ones, so the calls of one process do not compete with each other.
--
-- What can go wrong:
-- * Another publisher was faster: the head has another version. Read it, and send the batch again, after a random pause that grows with
--   the failures in a row, so that many publishers do not fail together.
-- * The answer is lost. The message at the first position of the batch shows whether it was done: it has the batch's tag. Until that is
--   known the batch is sent only as it is. An earlier transaction that arrives late has the same positions and expects the same version,
--   so it and the repetition cannot both be done.
-- * An id is known: its call gets the position from the id's znode, and the other messages are published without it.
-- * A directory is missing, because this is the first message, or the first one with an id in its shard: make it.
-- * Another client has set the head back while the outcome of a batch is not known: that is a failure, because the head shows nothing then.
-- * A caller leaves. If its message is in flight it may be published; otherwise it is taken out.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local fifo = require "zkrecipes.host.fifo"
local layout = require "zkrecipes.recipes.topic.layout"
local limits = require "zkrecipes.limit"
local random = require "zkrecipes.random"
local requests = require "zkrecipes.lost_answers"
local retentions = require "zkrecipes.recipes.topic.retention"
local store = require "zkrecipes.recipes.topic.store"
local tasks = require "zkrecipes.host.tasks"
local wait = require "zkrecipes.host.wait"

local M = {}
M.__index = M

local MOST, BYTES = 100, 200000    -- messages of a batch, and their bytes, unless one is larger
local ROUNDS = 6                   -- repetitions of a batch for a reason that should not come again
local SHORTEST, LONGEST = 0.001, 1 -- seconds of the longest pause after a conflict
local CONFLICTS = 10

function M.new(session, path, count, age)
  return setmetatable({ session = session, host = core.host(session), path = path, line = fifo.new(), most = math.min(MOST, count or MOST),
    retention = retentions.new(session, path, count, age), tag = random.hex(8), batches = 0, conflicts = 0, answers = 0,
    took = SHORTEST }, M)
end

-- ---- Callers -----------------------------------------------------------------------------------

local function tell(publisher, call, position, message, code)
  call.position, call.message, call.code = position, message, code
  if not call.gone then wait.wake(publisher.host, call.record) end
end

local function tell_all(publisher, list, message, code)
  for _, call in ipairs(list) do tell(publisher, call, nil, message, code) end
end

-- The calls that still wait.
local function waiting(list)
  local left = {}
  for _, call in ipairs(list) do
    if not call.gone then left[#left + 1] = call end
  end
  return left
end

-- ---- The batch ---------------------------------------------------------------------------------

local function next_call(publisher)
  local call = publisher.put_back or publisher.line:pop()
  publisher.put_back = nil
  return call
end

-- True if the call must wait for the next batch.
local function fits_not(batch, call)
  return #batch.calls > 0 and (batch.bytes + #call.data > BYTES or call.id and batch.ids[call.id])
end

local function add(batch, call)
  batch.calls[#batch.calls + 1] = call
  batch.bytes = batch.bytes + #call.data
  if call.id then batch.ids[call.id] = true end
  call.batch = batch
end

-- The next calls; nil: none waits.
local function next_batch(publisher)
  local batch = { calls = {}, ids = {}, bytes = 0, rounds = 0 }
  while #batch.calls < publisher.most do
    local call = next_call(publisher)
    if not call then break end
    if not call.gone then
      if fits_not(batch, call) then
        publisher.put_back = call
        break
      end
      add(batch, call)
    end
  end
  if #batch.calls == 0 then return nil end
  publisher.batches = publisher.batches + 1
  batch.tag = ("%s.%d"):format(publisher.tag, publisher.batches)
  return batch
end

local function parts_of(publisher, batch, head, due)
  local path, parts = publisher.path, {}
  local version = head.version ~= -1 and head.version or nil -- to ZooKeeper -1 means any; the creates fail, too
  parts[1] = { "set", layout.head(path), layout.encode_head(head.last + #batch.calls, head.first + #due), version }
  for i, call in ipairs(batch.calls) do
    local position = head.last + i
    if position % layout.BUCKET == 0 then parts[#parts + 1] = { "create", layout.bucket(path, position), "" } end
    parts[#parts + 1] = { "create", layout.message(path, position), layout.encode_message(batch.tag, call.id, call.data) }
    if call.id then parts[#parts + 1] = { "create", layout.id(path, call.id), ("%.0f"):format(position) } end
  end
  publisher.retention:add_parts(parts, due)
  return parts
end

-- ---- After a failure ---------------------------------------------------------------------------

-- False: again; or nil, message, code: that was tried often enough.
local function again(batch, message, code)
  batch.rounds = batch.rounds + 1
  if batch.rounds < ROUNDS then return false end
  return nil, message, code
end

local function pause(publisher, seconds) wait.pause(publisher.host, wait.record(), seconds) end

-- Another publisher was faster.
local function back_off(publisher)
  publisher.conflicts = math.min(publisher.conflicts + 1, CONFLICTS)
  local longest = math.min(math.max(publisher.took, SHORTEST) * 2 ^ publisher.conflicts, LONGEST)
  pause(publisher, random.number() * longest)
  return false
end

-- Tells a call what the znode of its id says. True if there is one; or nil, message, code.
local function tell_known(publisher, call, data, stat, code)
  if code == "no_node" then return false end
  if code then return nil, stat, code end
  local position = tonumber((data or ""):match "^%d+$")
  if position then
    tell(publisher, call, position)
  else
    tell(publisher, call, nil, ("topic:publish: the znode of the id '%s' holds no position; delete it"):format(call.id), "conflict")
  end
  return true
end

-- Tells the calls whose ids are known, and takes them out. True if there is one; or nil, message, code.
local function find_ids(publisher, batch)
  local reads, found, left = store.reads(publisher.session), false, {}
  publisher.reads = reads
  for _, call in ipairs(batch.calls) do
    if call.id then reads:ask(layout.id(publisher.path, call.id)) end
  end
  local problem, why
  for _, call in ipairs(batch.calls) do
    local known, message, code = false, nil, nil
    if call.id then known, message, code = tell_known(publisher, call, reads:take()) end
    if known == nil then problem, why = message, code end
    if known then found = true else left[#left + 1] = call end
  end
  batch.calls = left
  if found or why == "connection_loss" then return true end
  if why then return nil, problem, why end
  return false
end

-- Something that the batch creates exists. The head had the version that the batch expects, so an earlier transaction of it was not done,
-- and cannot be done any more: an id is only removed together with a new version.
local function exists(publisher, batch, message)
  batch.doubt = false
  local found, problem, why = find_ids(publisher, batch)
  if found == nil then return nil, problem, why end
  if found then return false end
  return again(batch, message .. "; the topic is damaged: delete it, or use another path", "conflict")
end

-- Something that the batch writes or deletes is missing.
local function is_missing(publisher, batch, message)
  local session = publisher.session
  publisher.retention:forget()
  for _, call in ipairs(batch.calls) do
    if call.id then
      local made, problem, code = requests.sure(session.create, session, layout.shard(publisher.path, call.id), "")
      if not made and code ~= "node_exists" and code ~= "no_node" then return nil, problem, code end
    end
  end
  return again(batch, message .. "; the topic is damaged: delete it, or use another path", "conflict")
end

-- Was the batch done, whose answer is lost? nil, message, code: that cannot be known.
local function was_done(publisher, batch)
  local session, path = publisher.session, publisher.path
  batch.doubt = true
  local head, message, code = store.head(session, path)
  if code == "no_node" or head and head.last < batch.first then return false end
  if not head then return nil, message, code end
  local data, stat, why = requests.sure(session.get, session, layout.message(path, batch.first))
  if why == "no_node" then
    return nil, "topic:publish: the answer was lost, and other publishers have already removed that position", "connection_loss"
  end
  if why then return nil, stat, why end
  batch.done = layout.decode_message(data) == batch.tag
  batch.doubt = batch.done
  return batch.done
end

-- ---- Publishing --------------------------------------------------------------------------------

-- The position of the first message is known: tells the calls theirs.
local function done(publisher, batch)
  publisher.conflicts = math.max(publisher.conflicts - 1, 0)
  for i, call in ipairs(batch.calls) do tell(publisher, call, batch.first + i - 1) end
  return true
end

local function failed(publisher, batch, due, message, code)
  if code == "bad_version" then return back_off(publisher) end
  if code == "node_exists" then return exists(publisher, batch, message) end
  if code == "no_node" then return is_missing(publisher, batch, message) end
  if code == "not_empty" then
    publisher.retention:leave(due)
    return again(batch, message, code)
  end
  return nil, message, code
end

-- The head that the transaction has written. If other publishers write it too, it is read before the next batch.
local function new_head(publisher, head, batch, due, stat)
  if publisher.conflicts > 0 then return nil end
  return { last = head.last + #batch.calls, first = head.first + #due, version = stat.version, born = head.born,
    time = stat.mtime / 1000, told = publisher.host.adapter.now() }
end

-- The messages to be removed with this batch, without the calls that have left.
local function due_with(publisher, batch, head)
  local due, number
  repeat
    if not batch.doubt then batch.calls = waiting(batch.calls) end
    number = #batch.calls
    due = batch.rounds < ROUNDS / 2 and publisher.retention:due(head, number) or {}
  until batch.doubt or number == #waiting(batch.calls)
  return due
end

local function send(publisher, batch, head)
  local now = publisher.host.adapter.now
  local due = due_with(publisher, batch, head)
  if #batch.calls == 0 then return true end
  publisher.head, batch.first, batch.born, batch.flying = nil, head.last + 1, head.born, true
  local began = now()
  local results, message, code = requests.transact(publisher.session, parts_of(publisher, batch, head, due), was_done, publisher, batch)
  publisher.took, publisher.answers, batch.flying = now() - began, publisher.answers + 1, false
  if not results then return failed(publisher, batch, due, message, code) end
  done(publisher, batch)
  if results ~= true then publisher.head = new_head(publisher, head, batch, due, results[1]) end
  return true
end

local function set_back(publisher)
  return nil, ("topic:publish %s: the answer was lost, and another client has set the head back, so it is not known whether it was done; "
    .. "the topic is damaged: delete it, or use another path"):format(publisher.path), "conflict"
end

-- One attempt. True: done; false: again; or nil, message, code.
local function attempt(publisher, batch)
  if batch.doubt then
    local found, message, code = was_done(publisher, batch)
    if found == nil then return nil, message, code end
    if found then return done(publisher, batch) end
  end
  local head, message, code = publisher.head, nil, nil
  if not head then
    head, message, code = store.open(publisher.session, publisher.path)
    publisher.answers = publisher.answers + 1
  end
  if not head then return nil, message, code end
  if batch.doubt and head.born ~= batch.born then batch.doubt = false end -- another topic
  if batch.doubt and head.last + 1 < batch.first then return set_back(publisher) end
  if batch.doubt and head.last + 1 > batch.first then return false end -- it may have been done meanwhile
  return send(publisher, batch, head)
end

local function publish(publisher, batch)
  local ok, message, code
  repeat ok, message, code = attempt(publisher, batch) until ok ~= false or #waiting(batch.calls) == 0
  if ok == nil then tell_all(publisher, batch.calls, message, code) end
end

local function run(publisher)
  local batch = next_batch(publisher)
  while batch do
    publisher.batch = batch
    publish(publisher, batch)
    batch = next_batch(publisher)
  end
end

-- The task has ended, perhaps canceled, killed, or with an error.
local function ended(publisher, task)
  local batch = publisher.batch
  publisher.running, publisher.batch = false, nil
  publisher.retention:drop()
  if publisher.reads then publisher.reads:drop() end
  if task.ok then return end
  local why = task.results[1]
  local code = why == wait.canceled and "canceled" or "error"
  repeat
    tell_all(publisher, batch and batch.calls or {}, "topic:publish: " .. check.text(why), code)
    batch = next_batch(publisher)
  until not batch
end

local function serve(publisher)
  if publisher.running then return end
  publisher.running = true
  tasks.behind(publisher.host, { quiet = true, on_end = function(task) ended(publisher, task) end }, run, publisher)
end

-- ---- Waiting -----------------------------------------------------------------------------------

-- A separate function, so that the closure uses no variable of the frame that waits: if that coroutine is killed (in nginx), its variables
-- are lost.
local function new_call(data, id)
  local call = { data = data, id = id }
  call.record = wait.record(function() call.gone = true end)
  return call
end

-- The results of topic:publish. id: escaped; nil: none.
function M:publish(data, id, timeout)
  wait.check()
  local session, what = self.session, "topic:publish " .. self.path
  if timeout == 0 and limits.away(session) then return limits.unconnected(session, what) end
  local call, limit, answers = new_call(data, id), limits.new(session, timeout), self.answers
  self.line:push(call)
  serve(self)
  if not wait.pause(self.host, call.record, limit:rest()) then
    call.record:give_up()
    local batch = call.batch
    if not batch or not (batch.flying or batch.doubt) then return limits.passed(session, what, self.answers == answers) end
    return nil, what .. ": the time limit passed, and the message may have been published", "connection_loss"
  end
  if call.position then return call.position end
  return nil, call.message, call.code
end

core.own(debug.getinfo(1, "S").source)
return M
