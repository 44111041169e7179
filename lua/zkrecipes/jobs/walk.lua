-- A walk through some lanes, item by item, bucket by bucket: one listing at a time, and one read for each item.
--
-- What can go wrong: what was listed is gone when it is read, or is no item (the next one comes); the servers cannot be asked.

local core = require "zkrecipes.core"
local fetch = require "zkrecipes.jobs.fetch"
local items = require "zkrecipes.jobs.item"
local later = require "zkrecipes.jobs.later"
local layout = require "zkrecipes.jobs.layout"
local places = require "zkrecipes.jobs.place"

local M = {}

local function list(store, lane, bucket)
  if lane == store.later then return later.list(store, bucket) end
  return fetch.list_bucket(store, lane, bucket)
end

-- The next place; nothing at the end; or nil, message, code.
local function advance(walk)
  local store = walk.store
  walk.at = walk.at + 1
  while not walk.names[walk.at] do
    walk.b = walk.b + 1
    while not walk.buckets[walk.b] do
      walk.lane, walk.b = walk.lane + 1, 1
      if not walk.lanes[walk.lane] then return nil end
      local buckets, message, code = fetch.list_buckets(store, walk.lanes[walk.lane])
      if not buckets then return nil, message, code end
      walk.buckets = buckets
    end
    local names, message, code = list(store, walk.lanes[walk.lane], walk.buckets[walk.b])
    if not names then return nil, message, code end
    walk.names, walk.at = names, 1
  end
  return { lane = walk.lanes[walk.lane], bucket = walk.buckets[walk.b], name = walk.names[walk.at] }
end

local function view(desk, place, entry, version)
  local key = layout.claim_name(place.lane, place.bucket, place.name)
  local claimed = version > 0 and desk.store.session:exists(desk.store.path .. "/claims/" .. key) ~= false
  local seen = items.view(desk, place, entry, version, claimed)
  seen.due = layout.due_of(place.name)
  return seen
end

-- A function that gives the next item: what it looks like, its place, entry and version; nothing at the end; or nil, message,
-- code.
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
