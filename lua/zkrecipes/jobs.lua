-- The queue: session:queue(path, options). The layout on the servers is told in jobs/layout.lua, how items are put and moved in
-- jobs/store.lua, claimed in jobs/item.lua, found in jobs/fetch.lua, and waited for in jobs/desk.lua; all of them are read in
-- jobs/walk.lua.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local desks = require "zkrecipes.jobs.desk"
local failure = require "zkrecipes.jobs.failure"
local fetch = require "zkrecipes.jobs.fetch"
local items = require "zkrecipes.jobs.item"
local layout = require "zkrecipes.jobs.layout"
local simple = require "zkrecipes.jobs.simple"
local stores = require "zkrecipes.jobs.store"
local wait = require "zkrecipes.wait"
local walks = require "zkrecipes.jobs.walk"

local Session = core.classes.session.methods

local Queue = { __name = "zkrecipes.queue" }
Queue.__index = Queue

local OPTIONS = { capacity = "number", attempts = "number", format = "string" }
local ATTEMPTS = 5
local PUT = { priority = "number", delay = "number", id = "string", timeout = "number" }
local ENTRY = { priority = "number", delay = "number", id = "string", data = "string" }
local CHUNK, CHUNK_BYTES = 100, 500000

-- ---- Making ------------------------------------------------------------------------------------

local function integer(value, name, method, argument, least, most)
  if value ~= nil and (value % 1 ~= 0 or value < least or value > most) then
    check.bad(argument, method, ("option '%s': integer from %d to %d expected, got %s"):format(name, least, most,
      tostring(value)))
  end
  return value
end

function Session:queue(path, options)
  check.self(self, core.classes.session.meta, "queue")
  options = check.options(options, OPTIONS, 2, "queue")
  integer(options.capacity, "capacity", "queue", 2, 1, 2 ^ 31 - 1)
  integer(options.attempts, "attempts", "queue", 2, 1, 2 ^ 31 - 1)
  if options.format ~= nil and options.format ~= "simple" then
    check.bad(2, "queue", "option 'format': only 'simple' is known, got '" .. options.format .. "'")
  end
  check.below_root(path, 1, "queue")
  local seat, message, code = self:lock(options.format and path or path .. "/seat")
  if not seat then return nil, failure.say("session:queue", path, message), code end
  if options.format then return simple.new(self, path, options) end
  local store = stores.new(self, path)
  return setmetatable({ path = path, store = store, capacity = options.capacity, credit = 0,
    desk = desks.new(store, seat, options.attempts or ATTEMPTS) }, Queue)
end

-- ---- Room --------------------------------------------------------------------------------------

-- For how many of so many is there room? Asks the servers when what we were told last is used up: the nearer to the limit, the
-- sooner.
local function room_for(queue, count)
  if queue.credit >= count then
    queue.credit = queue.credit - count
    return count
  end
  local size, message, code = queue:size()
  if not size then return nil, message, code end
  local left = math.max(queue.capacity - size, 0)
  local room = math.min(left, count)
  queue.credit = math.max(math.min(math.floor(left / 10), 100) - room, 0)
  return room
end

local function clock(queue) return core.host(queue.store.session).adapter.now() end

-- Waits for room; for how many there is some, at most count; or nil, message, code.
local function find_room(queue, count, deadline, method)
  local ready, problem, why = queue.store:ready()
  if not ready then return nil, problem, why end
  if not queue.capacity then return count end
  local pause = 0.02
  while true do
    local room, message, code = room_for(queue, count)
    if room ~= 0 then return room, message, code end
    local left = deadline and deadline - clock(queue)
    if left and left <= 0 then
      return nil, ("queue:%s %s: it is full (%d items)"):format(method, queue.path, queue.capacity), "full"
    end
    wait.pause(core.host(queue.store.session), wait.record(), math.min(pause, left or pause))
    pause = math.min(pause * 2, 0.5)
  end
end

-- ---- Put ---------------------------------------------------------------------------------------

local function check_id(id, name, method, argument)
  if #id > 0 and #id <= layout.ID_MAX then return end
  check.bad(argument, method, ("%s1 to %d bytes expected, got %d"):format(name, layout.ID_MAX, #id))
end

local function check_entry(given, method, argument)
  integer(given.priority, "priority", method, argument, 0, layout.PRIORITIES)
  check.seconds(given.delay, argument, method, true)
  if given.id ~= nil then check_id(given.id, "option 'id': ", method, argument) end
end

local function check_data(data, method, argument)
  if type(data) ~= "string" then check.bad(argument, method, "string expected, got " .. type(data)) end
end

-- The id is known by our tag: it was us.
local function put_done(store, entry)
  return function()
    local place, message, code = store.session:get((layout.id_path(store.path, entry.id)))
    if code == "no_node" then return false end
    if code then return nil, message, code end
    return place ~= nil and place:match("%S+$") == entry.tag
  end
end

local function put_one(store, data, given)
  local entry = { attempts = 0, priority = given.priority or 0, id = given.id, data = data, tag = store:new_tag() }
  local lane, list = store:lane(entry.priority), { entry }
  if given.delay and given.delay > 0 then
    local now, message, code = store:now()
    if not now then return nil, message, code end
    lane, entry.due = store.later, math.ceil(now + given.delay * 1000)
  end
  if entry.id then list.ids = list end
  local ok, message, code = store:append(lane, list, nil, entry.id and put_done(store, entry))
  if code == "node_exists" and entry.id then return true, "known" end
  return ok, message, code
end

function Queue:put(data, options)
  check.self(self, Queue, "put")
  check_data(data, "put", 1)
  local given = check.options(options, PUT, 2, "put")
  check_entry(given, "put", 2)
  check.seconds(given.timeout, 2, "put", true)
  local ok, message, code = find_room(self, 1, given.timeout and clock(self) + given.timeout, "put")
  if not ok then return nil, message, code end
  local put, problem, why = put_one(self.store, data, given)
  self.desk:more_urgent(given.priority or 0)
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
    check_data(given.data, "put_all", 1)
    check_entry(given, "put_all", 1)
    entries[i] = given
  end
  return entries
end

-- How many from `from` on go together into one multi: they have one lane, no delay and no id.
local function chunk(entries, from)
  local priority, bytes, at = entries[from].priority or 0, 0, from
  while entries[at] and at - from < CHUNK do
    local each = entries[at]
    bytes = bytes + #each.data + 200
    if each.id or each.delay or (each.priority or 0) ~= priority or bytes > CHUNK_BYTES then break end
    at = at + 1
  end
  return math.max(at - from, 1)
end

local function put_chunk(store, entries, from, count)
  if count == 1 then return put_one(store, entries[from].data, entries[from]) end
  local list, priority = {}, entries[from].priority or 0
  for i = 1, count do
    list[i] = { attempts = 0, priority = priority, data = entries[from + i - 1].data, tag = store:new_tag() }
  end
  return store:append(store:lane(priority), list)
end

function Queue:put_all(list, timeout)
  check.self(self, Queue, "put_all")
  check.seconds(timeout, 2, "put_all", true)
  local entries = check_all(list)
  local at, deadline = 1, timeout and clock(self) + timeout
  while at <= #entries do
    local ok
    local count, message, code = find_room(self, chunk(entries, at), deadline, "put_all")
    if count then ok, message, code = put_chunk(self.store, entries, at, count) end
    if not ok then return nil, message, code, at - 1 end
    at = at + count
  end
  return #entries
end

-- ---- Claim, take -------------------------------------------------------------------------------

function Queue:claim(timeout)
  check.self(self, Queue, "claim")
  check.seconds(timeout, 1, "claim", true)
  return self.desk:wait_for("claim", timeout)
end

function Queue:take(timeout)
  check.self(self, Queue, "take")
  check.seconds(timeout, 1, "take", true)
  local item, message, code = self.desk:wait_for("take", timeout)
  if not item then return nil, message, code end
  return item.data, item
end

-- ---- Looking -----------------------------------------------------------------------------------

function Queue:size()
  check.self(self, Queue, "size")
  local store = self.store
  local lanes, message, code = store:list_lanes()
  if not lanes then return nil, message, code end
  lanes[#lanes + 1] = store.later
  local sum = 0
  for i = 1, #lanes do
    local length
    length, message, code = store:length(lanes[i])
    if not length then return nil, message, code end
    sum = sum + length
  end
  return sum
end

function Queue:peek()
  check.self(self, Queue, "peek")
  while true do
    local places, message, code = fetch.look(self.desk)
    if not places then return nil, message, code end
    if #places == 0 then return false end
    for i = 1, #places do
      local entry, version, why = items.read(self.desk, places[i])
      if entry then return items.view(self.desk, places[i], entry, version, false) end
      if why then return nil, version, why end
      if version == items.UNREADABLE then fetch.leave_out(self.desk, places[i]) end
    end
  end
end

-- For `for`: the next item of the walk that begin() begins; raises what it cannot read.
local function each(queue, what, begin)
  local next_item, message, code
  return function()
    local view
    if not next_item then next_item, message, code = begin() end
    if next_item then view, message, code = next_item() end
    if view == nil and code then error(failure.say(what, queue.path, message), 0) end
    return view
  end
end

function Queue:items()
  check.self(self, Queue, "items")
  return each(self, "queue:items", function()
    local lanes, message, code = self.store:list_lanes()
    if not lanes then return nil, message, code end
    lanes[#lanes + 1] = self.store.later
    return walks.new(self.desk, lanes)
  end)
end

-- ---- Dead letters, ids -------------------------------------------------------------------------

function Queue:dead()
  check.self(self, Queue, "dead")
  return each(self, "queue:dead", function() return walks.new(self.desk, { self.store.dead }) end)
end

function Queue:dead_size()
  check.self(self, Queue, "dead_size")
  return self.store:length(self.store.dead)
end

-- Puts dead letters back, as new items, until this many (nil: all) are.
function Queue:redrive(limit)
  check.self(self, Queue, "redrive")
  if limit ~= nil and limit ~= 0 then check.count(limit, 2 ^ 31 - 1, 1, "redrive") end
  local ready, problem, why = self.store:ready()
  if not ready then return nil, problem, why end
  local count, next_item = 0, walks.new(self.desk, { self.store.dead })
  while not limit or count < limit do
    local view, place, entry, version = next_item()
    if not view and entry then return nil, place, entry end -- a message and a code
    if not view then break end
    entry.attempts = 0
    local ok, message, code = items.move(self.desk, place, entry, version, self.store:lane(entry.priority))
    if ok then
      count = count + 1
    elseif code ~= "no_node" and code ~= "bad_version" then
      return nil, message, code
    end
  end
  return count
end

local function lane_of(store, name)
  if name == "dead" or name == "later" then return store[name] end
  local priority = layout.priority_number(name)
  return priority and store:lane(priority)
end

-- Where the item with this id is: place, version; or false; or nil, message, code.
local function find_id(queue, id)
  local store = queue.store
  local data, message, code = store.session:get((layout.id_path(store.path, id)))
  if code == "no_node" then return false end
  if code then return nil, message, code end
  local name, bucket, tag = (data or ""):match("^(%S+) (%d+) (%S+)$")
  local place = { lane = name and #bucket <= 10 and lane_of(store, name), bucket = tonumber(bucket) }
  if not place.lane then return false end
  local names, problem, why = fetch.list_bucket(store, place.lane, place.bucket)
  if not names then return nil, problem, why end
  for i = 1, #names do
    if layout.tag(names[i]) == tag then
      place.name = names[i]
      return place
    end
  end
  return false
end

function Queue:remove(id)
  check.self(self, Queue, "remove")
  check_data(id, "remove", 1)
  check_id(id, "", "remove", 1)
  local store, desk = self.store, self.desk
  local place, message, code = find_id(self, id)
  if not place then return place, message, code end
  local parts = items.unclaimed(desk, place)
  parts[#parts + 1] = { "delete", layout.item_path(place) }
  parts[#parts + 1] = { "set", place.lane.out, "" }
  parts[#parts + 1] = { "delete", (layout.id_path(store.path, id)) }
  local done
  done, message, code = store.session:multi(parts)
  if done then return true end
  if code == "no_node" then return false end
  if code == "node_exists" then
    return nil, ("queue:remove %s: the item '%s' is claimed"):format(self.path, id), "conflict"
  end
  return nil, message, code
end

check.class("queue", Queue, Queue)
failure.name(Queue, "queue")

core.own(debug.getinfo(1, "S").source)
return Queue
