-- Puts items into a queue: one item, or a list of items in as few requests as possible.
--
-- What can go wrong: the queue is full (the producer waits, and asks the servers now and then). The answer is lost (store.lua finds out the
-- outcome; with an id, the id's znode shows it). The id is known, or was known until a minute ago (ids.lua).

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local arguments = require "zkrecipes.recipes.queue.arguments"
local ids = require "zkrecipes.recipes.queue.ids"
local layout = require "zkrecipes.recipes.queue.layout"
local limits = require "zkrecipes.limit"
local wait = require "zkrecipes.host.wait"

local M = {}

local PUT = { priority = "number", delay = "number", id = "string", timeout = "number" }
local ENTRY = { priority = "number", delay = "number", id = "string", data = "string" }
local CHUNK, CHUNK_BYTES = 100, 500000
local ROUNDS = 20 -- how often a put begins again because other clients put and remove the same id
local SHORTEST = 0.02 -- seconds between two checks for room

-- ---- Room --------------------------------------------------------------------------------------

-- Returns for how many of `count` items there is room. Asks the servers when the credit of the last answer is used up; the credit is
-- smaller if the queue is nearly full.
local function room_for(queue, store, count)
  if queue.credit >= count then
    queue.credit = queue.credit - count
    return count
  end
  local size, message, code = store:size()
  if not size then return nil, message, code end
  local left = math.max(queue.capacity - size, 0)
  local room = math.min(left, count)
  queue.credit = math.max(math.min(math.floor(left / 10), 100) - room, 0)
  return room
end

-- The time limit passed while the queue was full.
local function no_room(queue, method)
  local session, what = queue.store.session, ("queue:%s %s"):format(method, queue.path)
  if session.state ~= "connected" then return limits.passed(session, what) end
  return nil, ("%s: the queue is full (%d items)"):format(what, queue.capacity), "full"
end

-- Shortens the pause so that there is time for another check.
local function shorter(pause, left)
  if not left then return pause end
  return math.min(pause, math.max(left / 2, SHORTEST), left)
end

-- Waits for room. Returns for how many items there is room, `count` at most; or nil, message, code. It does not wait if this id, of the one
-- item, is known: then the put needs no room.
local function find_room(queue, store, count, limit, method, id)
  local ready, problem, why = store:ready()
  if not ready then return nil, problem, why end
  if not queue.capacity then return count end
  local pause, full = SHORTEST, false
  while true do
    local asked = store:for_now()
    local room, message, code = room_for(queue, asked, count)
    if room and room > 0 then return room end
    full = full or room == 0
    if room and id then
      local known
      known, message, code = ids.known(asked, id)
      if known then return 1 end
      if known == nil then room = nil else message, code = nil, nil end
    end
    if full and limit:over(code) then return no_room(queue, method) end
    if not room then return nil, message, code end
    wait.pause(core.host(queue.store.session), wait.record(), shorter(pause, limit.left()))
    pause = math.min(pause * 2, 0.5)
  end
end

-- ---- Put ---------------------------------------------------------------------------------------

local function check_entry(given, method, argument)
  arguments.integer(given.priority, "priority", method, argument, 0, layout.PRIORITIES)
  check.seconds(given.delay, argument, method, true)
  if given.id ~= nil then arguments.id(given.id, "option 'id': ", method, argument) end
end

-- Returns a function that tells whether the id's znode has our tag: then our put was done.
local function put_done(store, entry)
  return function()
    local place, message, code = store.session:get((layout.id_path(store.path, entry.id)))
    if code == "no_node" then return false end
    if code then return nil, message, code end
    return place ~= nil and ids.tag(place) == entry.tag
  end
end

-- Puts an item with an id. Returns true; or true, "known"; or nil, message, code.
local function put_with_id(store, lane, list)
  local entry, extra, alone = list[1], nil, nil
  ids.tidy(store:unlimited())
  for _ = 1, ROUNDS do
    local ok, message, code = store:append(lane, list, extra, put_done(store, entry))
    local beaten = extra and (code == "no_node" or code == "bad_version")
    if code ~= "node_exists" and not beaten then return ok, message, code end
    local known, said, stat = ids.known(store, entry.id)
    if known then return true, "known" end
    if known == nil then return nil, said, stat end -- said, stat: a message and a code
    extra, list.known = nil, nil
    if said then
      extra, message, code = ids.forget_parts(store, said)
      if extra == nil then return nil, message, code end
      -- A tombstone and the id's znode change together: the same znode twice without a tombstone: a client has deleted it.
      if not extra and stat.mzxid == alone then return ids.no_tombstone(store, entry.id) end
      alone = not extra and stat.mzxid
      if alone and not store:settle() then return nil, ("put %s: the connection was lost"):format(store.path), "connection_loss" end
      extra, list.known = extra or nil, extra and true
    end
  end
  return nil, ("put %s: other clients keep putting and removing the id '%s'; try again"):format(store.path, entry.id), "conflict"
end

-- Checks the size. True; or nil, message, code.
local function fits(store, data)
  if #data <= layout.DATA_MAX then return true end
  return nil, ("put %s: an item has at most %d bytes, not %d"):format(store.path, layout.DATA_MAX, #data), "too_large"
end

local function put_one(store, data, given)
  local entry = { attempts = 0, priority = given.priority or 0, id = given.id, data = data, tag = store:new_tag() }
  local lane, list = store:lane(entry.priority), { entry }
  if given.delay and given.delay > 0 then
    local now, message, code = store:now()
    if not now then return nil, message, code end
    lane, entry.due = store.later, math.ceil(now + given.delay * 1000)
  end
  if not entry.id then return store:append(lane, list) end
  list.ids = { entry }
  return put_with_id(store, lane, list)
end

function M.put(queue, data, options)
  arguments.data(data, "put", 1)
  local given = check.options(options, PUT, 2, "put")
  check_entry(given, "put", 2)
  check.seconds(given.timeout, 2, "put", true)
  local limit = limits.new(queue.store.session, given.timeout)
  local store = queue.store:within(limit)
  local ok, message, code = fits(store, data)
  if ok then ok, message, code = find_room(queue, store, 1, limit, "put", given.id) end
  if not ok then return limit:told(nil, message, code) end
  local put, problem, why = limit:told(put_one(store:for_now(), data, given))
  queue.desk:more_urgent(given.priority or 0)
  return put, problem, why
end

local function check_all(list)
  check.list(list, 1, "put_all")
  local entries = {}
  for i = 1, #list do
    local given = list[i]
    if type(given) == "string" then given = { data = given } end
    if type(given) ~= "table" then
      check.bad(1, "put_all", ("entry %d: string or table expected, got %s"):format(i, type(given)))
    end
    given = check.options(given, ENTRY, 1, "put_all")
    arguments.data(given.data, "put_all", 1)
    check_entry(given, "put_all", 1)
    entries[i] = given
  end
  return entries
end

-- Returns how many entries, from `from` on, fit into one multi: they have the same lane, no delay and no id.
local function chunk(queue, entries, from)
  local priority, bytes, at = entries[from].priority or 0, 0, from
  local overhead = 2 * #queue.store.path + 200 -- for the parts of the item and of the lane's counter
  while entries[at] and at - from < CHUNK do
    local each = entries[at]
    bytes = bytes + #each.data + overhead
    if each.id or each.delay or (each.priority or 0) ~= priority or bytes > CHUNK_BYTES then break end
    at = at + 1
  end
  return math.max(at - from, 1)
end

local function put_chunk(store, entries, from, count)
  if count == 1 then
    local ok, message, code = fits(store, entries[from].data)
    if not ok then return nil, message, code end
    return put_one(store, entries[from].data, entries[from])
  end
  local list, priority = {}, entries[from].priority or 0
  for i = 1, count do
    list[i] = { attempts = 0, priority = priority, data = entries[from + i - 1].data, tag = store:new_tag() }
  end
  return store:append(store:lane(priority), list)
end

function M.put_all(queue, list, timeout)
  check.seconds(timeout, 2, "put_all", true)
  local entries = check_all(list)
  local at, known, limit = 1, 0, limits.new(queue.store.session, timeout)
  local store = queue.store:within(limit)
  while at <= #entries do
    local ok
    local count, message, code = find_room(queue, store, chunk(queue, entries, at), limit, "put_all", entries[at].id)
    if count then ok, message, code = put_chunk(store:for_now(), entries, at, count) end
    if not ok then return limit:told(nil, message, code, at - 1) end
    if message == "known" then known = known + 1 end
    at = at + count
  end
  return #entries, known
end

core.own(debug.getinfo(1, "S").source)
return M
