-- The queue: session:queue(path, options). layout.lua says what is where on the servers. put.lua and src/recipes/queue put items,
-- fetch.lua finds them, claim.lua claims them, item.lua acks them, consumer.lua has the waiting callers, and walk.lua lists the items.

local check = require "zkrecipes.check"
local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"
local arguments = require "zkrecipes.recipes.queue.arguments"
local consumers = require "zkrecipes.recipes.queue.consumer"
local failure = require "zkrecipes.failure"
local fetch = require "zkrecipes.recipes.queue.fetch"
local ids = require "zkrecipes.recipes.queue.ids"
local items = require "zkrecipes.recipes.queue.item"
local layout = require "zkrecipes.recipes.queue.layout"
local places = require "zkrecipes.recipes.queue.place"
local puts = require "zkrecipes.recipes.queue.put"
local simple = require "zkrecipes.recipes.queue.simple"
local stores = require "zkrecipes.recipes.queue.store"
local walks = require "zkrecipes.recipes.queue.walk"

local new_engine, engine = core.classes.session.inner.queue, core.classes.queue.inner
local size, dead_size = classes.waiting(engine.size), classes.waiting(engine.dead_size)

local Session = {}

local Queue = { __name = "zkrecipes.queue" }
Queue.__index = Queue

local OPTIONS = { capacity = "number", attempts = "number", format = "string" }
local ATTEMPTS = 5

-- ---- Making ------------------------------------------------------------------------------------

-- A process is one consumer of a queue, even if it asks for several handles: its znodes on the servers, what it knows of the queue, and its
-- waiting callers belong to the session, the path and the options. So the same handle is returned while anything refers to it.
--
-- Lua 5.1 and LuaJIT remove a userdata from a weak table before its finalizer runs, but a table only in the next cycle, if a finalizer can
-- still reach it. So a handle is alive only if what it has in the core is still in the second table.
local function handles(session)
  local queues = core.kept(session, "queues")
  if not queues then
    queues = { all = setmetatable({}, { __mode = "v" }), cores = setmetatable({}, { __mode = "v" }) }
    core.keep(session, "queues", queues)
  end
  return queues.all, queues.cores
end

local function make(session, path, options)
  local idle_lock, message, code = session:lock(options.format and path or path .. "/seat")
  if not idle_lock then return nil, failure.say("session:queue", path, message), code end
  if options.format then return simple.new(session, path) end
  local queue, problem, why = new_engine(session, path, layout.BUCKET, options.capacity)
  if not queue then return nil, problem, why end
  local store = stores.new(session, path, queue)
  local consumer = consumers.new(store, idle_lock, options.attempts or ATTEMPTS)
  consumer.queue = setmetatable({ path = path, store = store, consumer = consumer }, Queue)
  return consumer.queue -- items and tasks that refer to the consumer keep the queue alive
end

function Session:queue(path, options)
  options = check.options(options, OPTIONS, 2, "queue")
  local format, capacity, attempts = options.format, options.capacity, options.attempts
  arguments.integer(capacity, "capacity", "queue", 2, 1, 2 ^ 31 - 1)
  arguments.integer(attempts, "attempts", "queue", 2, 1, 2 ^ 31 - 1)
  if format ~= nil and format ~= "simple" then
    check.bad(2, "queue", "option 'format': only 'simple' is known, got '" .. format .. "'")
  end
  if format and (capacity or attempts) then check.bad(2, "queue", "format 'simple' supports neither capacity nor attempts") end
  check.below_root(path, 1, "queue")
  local key = ("%s %d %d %s"):format(format or "", capacity or 0, attempts or ATTEMPTS, path)
  local queues, cores = handles(self)
  local queue, message, code = cores[key] and queues[key], nil, nil
  if not queue then queue, message, code = make(self, path, options) end
  queues[key], cores[key] = queue, queue and (format and self or queue.store.core)
  return queue, message, code
end

-- ---- Putting -----------------------------------------------------------------------------------

function Queue:put(data, options)
  check.self(self, Queue, "put")
  return puts.put(self, data, options)
end

function Queue:put_all(list, timeout)
  check.self(self, Queue, "put_all")
  return puts.put_all(self, list, timeout)
end

-- ---- Claim, take -------------------------------------------------------------------------------

function Queue:claim(timeout)
  check.self(self, Queue, "claim")
  check.seconds(timeout, 1, "claim", true)
  return self.consumer:wait_for(self, "claim", timeout)
end

function Queue:take(timeout)
  check.self(self, Queue, "take")
  check.seconds(timeout, 1, "take", true)
  local item, message, code = self.consumer:wait_for(self, "take", timeout)
  if not item then return nil, message, code end
  return item.data, item
end

-- ---- Looking -----------------------------------------------------------------------------------

function Queue:size(timeout)
  check.self(self, Queue, "size")
  check.seconds(timeout, 1, "size", true)
  return size(self.store.core, timeout)
end

function Queue:peek()
  check.self(self, Queue, "peek")
  local consumer = places.for_now(self.consumer)
  while true do
    local list, message, code = fetch.look(consumer)
    if not list then return nil, message, code end
    if #list == 0 then return false end
    for i = 1, #list do
      local entry, version, why = places.read(consumer, list[i])
      if entry then return items.view(consumer, list[i], entry, version, false) end
      if why then return nil, version, why end
      if version == places.UNREADABLE then fetch.leave_out(consumer, list[i]) end
    end
  end
end

-- Returns an iterator for `for`: the items of a walk through these lanes. If it cannot read, it raises at the line of the loop.
local function each(queue, what, list_lanes)
  local next_item = walks.new(queue.consumer, list_lanes)
  return function()
    local view, message, code = next_item()
    if view == nil and code then error(failure.say(what, queue.path, message), 2) end
    return view
  end
end

function Queue:items()
  check.self(self, Queue, "items")
  return each(self, "queue:items", function(store)
    local lanes, message, code = store:list_lanes()
    if not lanes then return nil, message, code end
    lanes[#lanes + 1] = store.later
    return lanes
  end)
end

-- ---- Dead letters, ids -------------------------------------------------------------------------

local function dead_only(store) return { store.dead } end

function Queue:dead()
  check.self(self, Queue, "dead")
  return each(self, "queue:dead", dead_only)
end

function Queue:dead_size()
  check.self(self, Queue, "dead_size")
  return dead_size(self.store.core)
end

-- Puts dead letters back as new items, `limit` at most (nil: all). Each takes no longer than one request may; there may be many.
function Queue:redrive(limit)
  check.self(self, Queue, "redrive")
  if limit ~= nil and limit ~= 0 then check.count(limit, 2 ^ 31 - 1, 1, "redrive") end
  local consumer = places.for_now(self.consumer)
  local count, next_item = 0, walks.new(self.consumer, dead_only)
  while not limit or count < limit do
    local view, place, entry, version = next_item(consumer)
    if not view and entry then return nil, place, entry end -- place, entry: a message and a code
    if not view then break end
    entry.attempts = 0
    local ok, message, code = places.move(consumer, place, entry, version, self.store:lane(entry.priority))
    if ok then
      count = count + 1
    elseif code ~= "no_node" and code ~= "bad_version" then
      return nil, message, code
    end
    consumer = places.for_now(self.consumer)
  end
  return count
end

-- True; or nil, message, code; nil alone if there is nothing to remove.
local function remove_from(consumer, place, id)
  if not place then return nil end
  return consumer.store:finish(place, { id = id, priority = 0 }, { version = -1, claim = places.claim_path(consumer, place), once = true,
    removed = true })
end

-- The item may be moved after we have read where it is. Then its id's znode has changed.
function Queue:remove(id)
  check.self(self, Queue, "remove")
  arguments.data(id, "remove", 1)
  arguments.id(id, "", "remove", 1)
  local consumer, before = places.for_now(self.consumer), nil
  while true do
    local said, stat, why = ids.read(consumer.store, id)
    if not said then return said, stat, why end
    if stat.mzxid == before then return false end
    before = stat.mzxid
    local place, message, code = ids.find(consumer.store, said)
    if place == nil then return nil, message, code end
    if place and place.lane == self.store.done then return false end
    local done
    done, message, code = remove_from(consumer, place, id)
    if done then return true end
    if code == "node_exists" then
      return nil, ("queue:remove %s: the item '%s' is claimed"):format(self.path, id), "conflict"
    end
    if code and code ~= "no_node" then return nil, message, code end
  end
end

check.class("queue", Queue, Queue)
failure.name(Queue, "queue")

classes.extend(core.classes.session, Session)

core.own(debug.getinfo(1, "S").source)
return Queue
