-- Topics: positions have no gaps; a publish that succeeds is in the log once, one that fails certainly is not, one that is doubtful is at
-- most once; with an id a message is published once as long as it is kept. A reader gets what the leader has, in order, none twice, and is
-- told exactly how many were removed unread. A named subscriber begins after its last ack. Only the oldest messages are removed, only if
-- they are too many or too old, with their ids and their buckets. When the faults stop, each reader gets all.

local layout = require "zkrecipes.recipes.topic.layout"
local random = require "zkrecipes.random"
local readers = require "zkrecipes.recipes.topic.reader"

local DIR = "/t"
local SLACK = 0.02 -- seconds: the trace rounds
local BUCKET = 4
local LATE = 5 -- seconds that faults make a server late

-- ---- What the leader had -------------------------------------------------------------------------

local function create(h, log, change, position)
  h:expect(position == #log + 1, "position %d comes after %d", position, #log)
  local tag, id, data = change.data:match "^(%x+%.%d+)%?([^?]*)%?(.*)$"
  h:expect(tag, "position %d holds %s", position, change.data)
  h:expect(id == "" or not log.ids[id], "the id %s is published twice, at %d and %d", id, log.ids[id] or 0, position)
  if id ~= "" then log.ids[id] = position end
  log[position] = { data = data, id = id, created = change.at, position = position }
end

local function delete(h, log, change, position)
  h:expect(position == log.first, "position %d is removed, and %d is the first one", position, log.first)
  local message, keep = log[position], h.keep
  local too_many = keep.count and #log - position >= keep.count
  local too_old = keep.age and change.at >= message.created + keep.age - SLACK
  h:expect(too_many or too_old, "position %d is removed too early, of %d", position, #log)
  log.first, message.deleted = position + 1, change.at
end

local function apply(h, log, change)
  local position = tonumber(change.path:match "^/t/messages/%d+/(%d+)$")
  if position and change.kind == "create" then create(h, log, change, position) end
  if position and change.kind == "delete" then delete(h, log, change, position) end
  local id = change.path:match "^/t/ids/%d+/(.+)$"
  if id and change.kind == "delete" then
    h:expect(log.ids[id] and log[log.ids[id]].deleted, "the id %s is removed before its message", id)
    log.ids[id] = nil
  end
end

-- Position > { data =, id =, created =, deleted = }; first: the first position that is left; ids: id > position.
local function log_of(h)
  local log = { first = 1, ids = {} }
  for _, change in ipairs(h.changes) do apply(h, log, change) end
  for id, position in pairs(log.ids) do h:expect(position >= log.first, "the id %s is kept, and its message is not", id) end
  return log
end

local function last_at(log, time)
  local last = 0
  for position, message in ipairs(log) do
    if message.created <= time + SLACK then last = position end
  end
  return last
end

-- ---- Publishers ----------------------------------------------------------------------------------

local DOUBTFUL = { connection_loss = true, canceled = true, closed = true }

local function publish(h, zk, topic, data, id)
  local call, note = { data = data, id = id, began = h.world:now() }, {}
  h.calls[#h.calls + 1] = call
  local timeout = not h.patient and h:chance(0.4) and (h:chance(0.2) and 0 or h:within(6)) or nil
  local position, message, code = h:attempt(zk, function() return topic:publish(data, { id = id, timeout = timeout }) end, note)
  call.position, call.ended, call.doubtful = position, h.world:now(), DOUBTFUL[code] or code == "no_memory"
  h:expect(position or DOUBTFUL[code] or code == "timeout" and timeout or h.starves and code == "no_memory", "publish: %s",
    tostring(message))
  h:expect(code ~= "canceled" or note.struck, "publish was canceled")
  return position
end

local function publisher(h, zk, topic, name)
  for number = 1, h:below(12) do
    if h:chance(0.4) then zk.sleep(h:within(4)) end
    local data = ("%s.%d"):format(name, number)
    local id = h:chance(0.4) and (h:chance(0.2) and "shared" .. h:below(3) or "i" .. data) or nil
    local tries = 0
    repeat
      local position = publish(h, zk, topic, id or data, id)
      tries = tries + 1
    until not id or position or tries == 5
    if id and h:chance(0.2) then publish(h, zk, topic, id, id) end
  end
  h.publishing = h.publishing - 1
end

-- ---- Subscribers ---------------------------------------------------------------------------------

local function note_message(h, run, message)
  message.at = h.world:now()
  run[#run + 1] = message
end

-- True if the name was taken after this subscription had it. Of two that overlap, nobody knows here which one has it.
local function is_replaced(book, run)
  for _, other in ipairs(book.runs) do
    if other.began > run.ready then return true end
  end
  return false
end

local function ack(h, zk, subscription, message, book, run)
  book.tried = math.max(book.tried, message.position)
  local replaced = is_replaced(book, run)
  local ok, problem, code = h:attempt(zk, function() return subscription:ack(message.position, h:chance(0.4) and h:within(4) or nil) end)
  h:expect(ok or DOUBTFUL[code] or code == "timeout" or h.starves and code == "no_memory" or code == "conflict" and book.users > 1,
    "ack: %s", tostring(problem))
  if not ok then return end
  h:expect(not replaced, "an earlier subscription acks %d", message.position)
  book.acked = math.max(book.acked, message.position)
end

-- True if there will be no more messages.
local function is_over(h, code) return code == "timeout" and h.healed and h.publishing == 0 end

-- Reads; most: how many.
local function read(h, zk, subscription, run, most, book)
  local timeouts = 0
  while #run < most and timeouts < 3 do
    local message, problem, code = h:attempt(zk, function()
      local message, problem, code = subscription:next(h:within(8))
      if message then note_message(h, run, message) end
      return message, problem, code
    end)
    h:expect(message or code == "timeout" or code == "connection_loss" or code == "canceled", "next: %s", tostring(problem))
    timeouts = is_over(h, code) and timeouts + 1 or 0
    if message and book and h:chance(0.5) then ack(h, zk, subscription, message, book, run) end
    if h:chance(0.1) then zk.sleep(h:within(10)) end
  end
  return timeouts == 3
end

local function subscribe(h, zk, topic, options)
  local run = { options = options, began = h.world:now() }
  while true do
    local subscription, problem, code = topic:subscribe(options)
    if subscription then
      run.ready = h.world:now()
      h.runs[#h.runs + 1] = run
      return subscription, run
    end
    h:expect(code == "connection_loss" or code == "timeout" or h.starves and code == "no_memory", "subscribe: %s", tostring(problem))
    run.began = h.world:now()
    if h.healed then options.timeout = nil end -- it may be too short for two requests
    zk.sleep(0.2)
  end
end

local function subscriber(h, zk, topic)
  if h:chance(0.6) then zk.sleep(h:within(20)) end
  local from = h:pick { "now", "now", "start", "start", h:below(5) }
  local subscription, run = subscribe(h, zk, topic, { from = from, timeout = h:chance(0.3) and h:within(5) or nil })
  run.complete = read(h, zk, subscription, run, h:chance(0.3) and h:below(6) or math.huge)
  subscription:close()
end

-- The process of a named subscriber, again and again.
local function named(h, zk, topic, name)
  local book = h.books[name]
  repeat
    local low = book.acked
    local subscription, run = subscribe(h, zk, topic, { from = "start", name = name })
    run.low, run.high, run.book = low, book.tried, book
    table.insert(book.runs, run)
    run.complete = read(h, zk, subscription, run, h:chance(0.7) and h:below(8) or math.huge, book)
    subscription:close()
    if h:chance(0.3) then collectgarbage() end
  until run.complete
end

-- ---- The rules -----------------------------------------------------------------------------------

local function check_calls(h, log)
  local by_data = {}
  for _, message in ipairs(log) do
    by_data[message.data] = by_data[message.data] or {}
    table.insert(by_data[message.data], message)
  end
  for _, call in ipairs(h.calls) do
    local found = by_data[call.data] or {}
    h:expect(call.id or #found <= 1, "%s is published %d times", call.data, #found)
    h:expect(call.id or call.position or call.doubtful or #found == 0, "%s is published, and its call failed", call.data)
    if call.position then
      h:expect(log[call.position] and log[call.position].data == call.data, "%s is not at %d", call.data, call.position)
      h:expect(log[call.position].created <= call.ended + SLACK, "%s is told before it is published", call.data)
    end
  end
end

-- A call that begins after another one has ended gets a later position, unless its id was known.
local function check_order(h)
  for _, call in ipairs(h.calls) do
    for _, other in ipairs(h.calls) do
      if call.position and other.position and other.ended < call.began and not call.id then
        h:expect(other.position < call.position, "%s is at %d, and %s, which came before, at %d", call.data, call.position, other.data,
          other.position)
      end
    end
  end
end

local function check_begin(h, log, run, first)
  local from = run.options.from
  if run.book then
    h:expect(first >= run.low + 1 and (first <= run.high + 1 or run.high == 0), "begins with %d, acked are %d to %d", first, run.low,
      run.high)
  elseif from == "now" then
    h:expect(first > last_at(log, run.began - 2 * SLACK) and first <= last_at(log, run.ready) + 1, "begins with %d", first)
  elseif from == "start" then
    local deleted = log[first] and log[first].deleted
    h:expect(not deleted or deleted > run.began - h.stale - LATE, "begins with %d, which was removed long ago", first)
  else
    h:expect(first == from, "begins with %d, not with %d", first, from)
  end
end

local function check_run(h, log, run)
  local at
  for _, message in ipairs(run) do
    local position = message.position
    if not at then
      at = position - message.missed
      check_begin(h, log, run, at)
    end
    h:expect(position == at + message.missed, "%d with %d missed comes after %d", position, message.missed, at - 1)
    for missed = at, position - 1 do
      h:expect(log[missed].deleted and log[missed].deleted <= message.at + SLACK, "%d is missed, and was not removed", missed)
    end
    h:expect(log[position] and log[position].data == message.data, "position %d gives %s", position, message.data)
    h:expect(math.abs(message.time - log[position].created - h.offset) < 2 * SLACK, "position %d has the time %.3f", position, message.time)
    at = position + 1
  end
  if run.complete and (at or not run.book and run.options.from == "start") then
    h:expect(at == #log - 1 or not at and log.first > #log - 2, "a reader ends at %d of %d", (at or 1) - 1, #log - 2)
  end
end

-- Without faults, nothing is kept that is too much or too old.
local function check_kept(h, log)
  h:expect(not h.keep.count or #log - log.first < h.keep.count, "%d messages are kept", #log - log.first + 1)
  for position = log.first, #log do
    h:expect(not h.keep.age or log[#log].created <= log[position].created + h.keep.age + SLACK, "position %d is kept", position)
  end
end

-- What is on the servers at the end.
local function check_left(h, log, session)
  local buckets = h:expect(session:children(DIR .. "/messages"))
  for _, bucket in ipairs(buckets) do
    local last = (tonumber(bucket) + 1) * BUCKET - 1
    h:expect(last >= log.first, "bucket %s is left, and %d is the first position", bucket, log.first)
    for _, name in ipairs(h:expect(session:children(DIR .. "/messages/" .. bucket))) do
      h:expect(tonumber(name) >= log.first, "position %s is left", name)
    end
  end
  local head = h:expect(session:get(DIR .. "/head"))
  h:expect(head == ("last %d\nfirst %d\n"):format(#log, log.first), "the head is %s", head)
end

local function make_dice(h)
  local count = 0
  function random.hex()
    count = count + 1
    return ("%016x"):format(count)
  end
  function random.number() return h:random() end
end

local function choose_keep(h)
  local keep = {}
  if h:chance(0.6) then keep.count = h:below(12) end
  if h:chance(0.3) then keep.age = h:within(15) end
  return keep
end

return function(h)
  make_dice(h)
  layout.BUCKET, readers.WINDOW = BUCKET, 4
  h.calls, h.runs, h.books, h.publishing, h.starves = {}, {}, {}, 0, h:chance(0.2)
  h.keep, h.offset = choose_keep(h), 1700000000
  local last, final
  for number = 1, 1 + h:below(3) do
    local zk = h:process()
    local session = h:session(zk)
    for place = 1, h:below(3) do
      local topic = session:topic(DIR, { keep = h.keep })
      h.publishing = h.publishing + 1
      h:user(("publisher %d.%d"):format(number, place), zk, function() publisher(h, zk, topic, ("%d.%d"):format(number, place)) end)
    end
    for place = 1, h:below(3) - 1 do
      h:user(("subscriber %d.%d"):format(number, place), zk, function() subscriber(h, zk, session:topic(DIR)) end)
    end
    if h:chance(0.5) then
      local name = "n" .. number
      if h:chance(0.3) then name = "n" end -- others have it too
      h.books[name] = h.books[name] or { acked = 0, tried = 0, users = 0, runs = {} }
      h.books[name].users = h.books[name].users + 1
      h:user("named " .. number, zk, function() named(h, zk, session:topic(DIR), name) end)
    end
    last, final = session, { zk = zk, topic = session:topic(DIR, { keep = h.keep }) }
  end
  function h.check()
    h.patient = true -- a short time limit may pass
    for number = 1, 2 do -- the first one tells the publisher the time
      h:expect(publish(h, final.zk, final.topic, "last" .. number), "cannot publish")
    end
    local log = log_of(h)
    check_kept(h, log)
    check_calls(h, log)
    check_order(h)
    for _, run in ipairs(h.runs) do check_run(h, log, run) end
    check_left(h, log, last)
  end
end
