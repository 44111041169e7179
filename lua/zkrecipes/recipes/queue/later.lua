-- Delayed items. They wait in /jobs/later, in one bucket per minute, under the time when they are due. Then a process that looks for items
-- moves them into their lane, behind the items that are there already. Several processes may try; one succeeds.
--
-- The clock is the server's: the times of changes, as it writes them into stats. We know it with an error of up to one round trip, and the
-- clocks of two servers may differ when another one becomes the leader. So an item may come that much too early or too late, but is never
-- lost.

local core = require "zkrecipes.core"
local fetch = require "zkrecipes.recipes.queue.fetch"
local layout = require "zkrecipes.recipes.queue.layout"
local places = require "zkrecipes.recipes.queue.place"

local M = {}

local function by_due(names)
  table.sort(names, function(a, b)
    local due_a, due_b = layout.due_of(a), layout.due_of(b)
    if due_a ~= due_b then return due_a < due_b end
    return layout.sequence(a) < layout.sequence(b)
  end)
  return names
end

-- Returns the delayed items of one bucket, in order.
function M.list(store, slot)
  local names, _, code = fetch.list_bucket(store, store.later, slot)
  if not names then return nil, _, code end
  return by_due(names)
end

local function release(consumer, slot, name)
  local store = consumer.store
  local place = { lane = store.later, bucket = slot, name = name }
  local entry, version, code = places.read(consumer, place)
  if not entry then return code == nil, version, code end
  local ok, message, why = places.move(consumer, place, entry, version, store:lane(entry.priority))
  if ok or why == "no_node" or why == "bad_version" then return true end
  return nil, message, why
end

-- Moves the due items of one minute. Returns when the next one is due (false: there is none); or nil, message, code.
local function release_slot(consumer, slot, now)
  local names, message, code = M.list(consumer.store, slot)
  if not names then return nil, message, code end
  for i = 1, #names do
    local due = layout.due_of(names[i])
    if due > now then return due end
    local ok, problem, why = release(consumer, slot, names[i])
    if not ok then return nil, problem, why end
  end
  if layout.slot_begins(slot + 2) < now then consumer.store.session:delete(layout.bucket_path(consumer.store.later, slot)) end
  return false
end

local function release_due(consumer, now)
  local slots, message, code = fetch.list_buckets(consumer.store, consumer.store.later)
  if not slots then return nil, message, code end
  for i = 1, #slots do
    local begins = layout.slot_begins(slots[i])
    if begins > now then return begins end
    local due
    due, message, code = release_slot(consumer, slots[i], now)
    if due == nil then return nil, message, code end
    if due then return due end
  end
  return false
end

-- Moves the due items into their lanes. True; or nil, message, code. consumer.next_due says when to look again.
function M.look(consumer)
  local store = consumer.store
  local puts, message, code = store.session:exists(store.later.put_count)
  if puts == nil then return nil, message, code end
  if not puts then return true end
  local now
  now, message, code = store:now()
  if not now then return nil, message, code end
  if puts.version == consumer.later_seen and not (consumer.next_due and consumer.next_due <= now) then return true end
  local due
  due, message, code = release_due(consumer, now)
  if due == nil then return nil, message, code end
  consumer.later_seen, consumer.next_due = puts.version, due
  return true
end

core.own(debug.getinfo(1, "S").source)
return M
