-- Finds the next items. It lists one bucket at a time, however long the queue is.
--
-- 1. Go through the lanes, the most urgent first.
-- 2. In each lane find the first bucket that has an unclaimed item: list the bucket, and list all claims. Delete sealed, empty buckets on
--    the way.
-- 3. Divide the items found into shares, one for each consumer, so that consumers do not compete for the same items. A consumer whose share
--    is empty takes from the other shares.
--
-- What can go wrong: a listed item may be gone when it is claimed; then the next one is tried. A znode that is no item but is named like
-- one is read once; after that, this process's listings leave it out.

local core = require "zkrecipes.core"
local layout = require "zkrecipes.recipes.queue.layout"

local M = {}

local BATCH = 200 -- items that one listing gives out
local FEW = 10    -- the same, while more urgent items may come
local FIRST = layout.priority_name(0)

-- ---- Claims ------------------------------------------------------------------------------------

local function list_claims(consumer)
  local names, message, code = consumer.store.session:children(consumer.store.path .. "/claims")
  if code == "no_node" then return {} end
  if not names then return nil, message, code end
  local claims = {}
  for i = 1, #names do claims[names[i]] = true end
  return claims
end

-- ---- Buckets -----------------------------------------------------------------------------------

function M.list_buckets(store, lane)
  local names, message, code = store.session:children(lane.path)
  if code == "no_node" then return {} end
  if not names then return nil, message, code end
  local numbers = {}
  for i = 1, #names do numbers[#numbers + 1] = layout.bucket_number(names[i]) end
  table.sort(numbers)
  return numbers
end

-- The items among these names, in order.
local function in_order(names, delayed)
  local ours, order = {}, {}
  for i = 1, #names do
    local name = names[i]
    if layout.is_item(name, delayed) then ours[#ours + 1], order[name] = name, layout.sequence(name) end
  end
  table.sort(ours, function(a, b) return order[a] < order[b] end)
  return ours
end

-- Returns the names of the items in a bucket, in order, and whether the bucket is sealed; an empty list if there is no such bucket.
function M.list_bucket(store, lane, number)
  local names, stat, code = store.session:children(layout.bucket_path(lane, number))
  if code == "no_node" then return {}, true end
  if not names then return nil, stat, code end
  return in_order(names, lane == store.later), stat.version > 0
end

-- The item is unreadable: later listings leave it out as long as its znode exists.
function M.leave_out(consumer, place)
  local path = layout.bucket_path(place.lane, place.bucket)
  consumer.unreadable[path] = consumer.unreadable[path] or {}
  consumer.unreadable[path][place.name] = true
end

local function free_of(consumer, lane, bucket, names, claims)
  local path = layout.bucket_path(lane, bucket)
  local places, unreadable, still = {}, consumer.unreadable[path] or {}, nil
  for i = 1, #names do
    local key = layout.claim_name(lane, bucket, names[i])
    if unreadable[names[i]] then
      still = still or {}
      still[names[i]] = true
    elseif not claims[key] and not consumer.working_on[key] then
      places[#places + 1] = { lane = lane, bucket = bucket, name = names[i], key = key }
    end
  end
  consumer.unreadable[path] = still
  return places
end

-- Returns the known buckets of the lane that may hold items, the first one first. Reads them again when the last one is sealed.
local function next_bucket(consumer, lane, after)
  local known = lane.buckets or {}
  for i = 1, #known do
    if known[i] > after then return known[i] end
  end
  local message, code
  known, message, code = M.list_buckets(consumer.store, lane)
  if not known then return nil, message, code end
  lane.buckets = known
  for i = 1, #known do
    if known[i] > after then return known[i] end
  end
  return false
end

local function drop_bucket(consumer, lane, number)
  consumer.store.session:delete(layout.bucket_path(lane, number))
  consumer.unreadable[layout.bucket_path(lane, number)] = nil
  for i = 1, #(lane.buckets or {}) do
    if lane.buckets[i] == number then return table.remove(lane.buckets, i) end
  end
end

-- Returns the first free places of the lane; or nil, message, code.
local function first_free(consumer, lane, found)
  local number, message, code = next_bucket(consumer, lane, -1)
  while number do
    local names, sealed, why = M.list_bucket(consumer.store, lane, number)
    if not names then return nil, sealed, why end
    if #names > 0 then
      if not found.claims then
        found.claims, message, code = list_claims(consumer)
        if not found.claims then return nil, message, code end
      end
      local places = free_of(consumer, lane, number, names, found.claims)
      if #places > 0 then return places end
    elseif sealed then
      drop_bucket(consumer, lane, number)
    end
    if not sealed then return {} end
    number, message, code = next_bucket(consumer, lane, number)
  end
  if number == nil then return nil, message, code end
  return {}
end

-- ---- Shares ------------------------------------------------------------------------------------

-- Returns our share of these places. If it is empty, returns all of them, from a start that differs for each consumer.
local function share(consumer, places, limit)
  local count, rank = consumer.presence:rank(consumer.store)
  local mine = {}
  for i = 1, #places do
    if count == 1 or layout.sequence(places[i].name) % count == rank then mine[#mine + 1] = places[i] end
    if #mine == limit then return mine end
  end
  if #mine > 0 then return mine end
  local from = math.floor(#places * rank / count)
  for i = 1, math.min(#places, limit) do mine[i] = places[(from + i - 1) % #places + 1] end
  return mine
end

-- Returns a list of places, to be claimed in this order; or nil, message, code.
function M.look(consumer)
  local lanes, message, code = consumer.store:list_lanes()
  if not lanes then return nil, message, code end
  local found = {}
  for i = 1, #lanes do
    local places
    places, message, code = first_free(consumer, lanes[i], found)
    if not places then return nil, message, code end
    if #places > 0 then return share(consumer, places, lanes[i].name > FIRST and FEW or BATCH) end
  end
  return {}
end

core.own(debug.getinfo(1, "S").source)
return M
