-- Walks through the items of some lanes, bucket by bucket: one listing at a time, and one read per item.
--
-- What can go wrong: a listed item is gone when it is read, or is no item: the walk continues with the next one. No server answers: the
-- step fails.

local core = require "zkrecipes.core"
local fetch = require "zkrecipes.recipes.queue.fetch"
local items = require "zkrecipes.recipes.queue.item"
local layout = require "zkrecipes.recipes.queue.layout"
local places = require "zkrecipes.recipes.queue.place"

local M = {}

local function lanes_of(walk, store)
  if walk.lanes then return walk.lanes end
  local lanes, message, code = walk.list_lanes(store)
  walk.lanes = lanes
  return lanes, message, code
end

-- Returns the next place; nothing at the end; or nil, message, code. It stores its progress only when the place is known, because another
-- coroutine may use the same walk meanwhile.
local function advance(walk, store)
  if walk.over then return nil end
  local lanes, message, code = lanes_of(walk, store)
  if not lanes then return nil, message, code end
  local lane, buckets, b, names, at = walk.lane, walk.buckets, walk.b, walk.names, walk.at + 1
  while not names[at] do
    b = b + 1
    while not buckets[b] do
      lane, b = lane + 1, 1
      walk.over = not lanes[lane]
      if walk.over then return nil end
      buckets, message, code = fetch.list_buckets(store, lanes[lane])
      if not buckets then return nil, message, code end
    end
    names, message, code = fetch.list_bucket(store, lanes[lane], buckets[b])
    if not names then return nil, message, code end
    at = 1
  end
  walk.lane, walk.buckets, walk.b, walk.names, walk.at = lane, buckets, b, names, at
  return { lane = lanes[lane], bucket = buckets[b], name = names[at] }
end

local function view(store, place, entry, version)
  local claimed = version > 0 and store.session:exists(places.claim_path(store, place)) ~= false
  local seen = items.view(entry.data, entry.id, entry.attempts, entry.priority, layout.item_path(place), claimed)
  seen.due = layout.due_of(place.name)
  return seen
end

-- Returns a function that gives the next item: its view, place, entry and version; nothing at the end; or nil, message, code. Each call
-- takes no longer than one request may, or as long as the store that it is given allows. list_lanes(store): the lanes; or nil, message,
-- code.
function M.new(store, list_lanes)
  local walk = { list_lanes = list_lanes, lane = 0, buckets = {}, b = 0, names = {}, at = 0 }
  return function(now)
    now = now or store:for_now()
    while true do
      local place, message, code = advance(walk, now)
      if not place then return nil, message, code end
      local entry, version, why = places.read(now, place)
      if entry then return view(now, place, entry, version), place, entry, version end
      if why then return nil, version, why end
    end
  end
end

core.own(debug.getinfo(1, "S").source)
return M
