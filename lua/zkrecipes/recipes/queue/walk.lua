-- Walks through the items of some lanes, bucket by bucket: one listing at a time, and one read per item.
--
-- What can go wrong: a listed item is gone when it is read, or is no item (the walk goes on to the next one). The servers cannot be asked.

local core = require "zkrecipes.core"
local fetch = require "zkrecipes.recipes.queue.fetch"
local items = require "zkrecipes.recipes.queue.item"
local later = require "zkrecipes.recipes.queue.later"
local layout = require "zkrecipes.recipes.queue.layout"
local places = require "zkrecipes.recipes.queue.place"

local M = {}

local function list(store, lane, bucket)
  if lane == store.later then return later.list(store, bucket) end
  return fetch.list_bucket(store, lane, bucket)
end

-- Returns the next place; nothing at the end; or nil, message, code. It stores its progress only when the place is known, because another
-- coroutine may use the same walk meanwhile.
local function advance(walk)
  if walk.over then return nil end
  local store, lane, buckets, b, names, at = walk.store, walk.lane, walk.buckets, walk.b, walk.names, walk.at + 1
  local message, code
  while not names[at] do
    b = b + 1
    while not buckets[b] do
      lane, b = lane + 1, 1
      walk.over = not walk.lanes[lane]
      if walk.over then return nil end
      buckets, message, code = fetch.list_buckets(store, walk.lanes[lane])
      if not buckets then return nil, message, code end
    end
    names, message, code = list(store, walk.lanes[lane], buckets[b])
    if not names then return nil, message, code end
    at = 1
  end
  walk.lane, walk.buckets, walk.b, walk.names, walk.at = lane, buckets, b, names, at
  return { lane = walk.lanes[lane], bucket = buckets[b], name = names[at] }
end

local function view(desk, place, entry, version)
  local key = layout.claim_name(place.lane, place.bucket, place.name)
  local claimed = version > 0 and desk.store.session:exists(desk.store.path .. "/claims/" .. key) ~= false
  local seen = items.view(desk, place, entry, version, claimed)
  seen.due = layout.due_of(place.name)
  return seen
end

-- Returns a function that gives the next item: its view, place, entry and version; nothing at the end; or nil, message, code.
function M.new(desk, lanes)
  local walk = { store = desk.store, lanes = lanes, lane = 0, buckets = {}, b = 0, names = {}, at = 0 }
  return function()
    while true do
      local place, message, code = advance(walk)
      if not place then return nil, message, code end
      local entry, version, why = places.read(desk, place)
      if entry then return view(desk, place, entry, version), place, entry, version end
      if why then return nil, version, why end
    end
  end
end

core.own(debug.getinfo(1, "S").source)
return M
