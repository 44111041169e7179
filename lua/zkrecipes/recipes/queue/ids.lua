-- Ids. The znode of an id says where its item is: lane, bucket and tag. When an item with an id is acked, taken or removed, a tombstone
-- with the same id takes its place: an entry without data in the lane `done`. One request does both, so the znode of an id always says
-- where its item or its tombstone is, and its mtime is the time at which the item was done. If the item was removed, the znode says
-- `removed` in place of the lane.
--
-- A put creates the znode. If the znode exists, the id is known, unless the item was removed, or the znode has named a tombstone for a
-- minute. Then the put removes the tombstone and writes the znode again. The name of a tombstone is never used again, so the put fails if
-- another process was faster.
--
-- Why a removed item leaves a tombstone, too: a client gives up its session before the servers do, and repeats a put in the next session.
-- The first put may still arrive, after the item was put, and removed. It must find the znode.
--
-- The tombstones are in their lane in the order in which they were made. Consumers, and producers that use ids, remove the old ones from
-- its beginning, with the znodes of their ids. Only the servers' memory depends on that.
--
-- Times are the server's, for the ack and for the present; store.lua says how exactly a process knows the server's time.

local core = require "zkrecipes.core"
local fetch = require "zkrecipes.recipes.queue.fetch"
local layout = require "zkrecipes.recipes.queue.layout"
local paths = require "zkrecipes.path"
local tasks = require "zkrecipes.host.tasks"

local M = {}

local REMEMBER = 60 -- seconds for which the id of a done item is known
local TIDY = 30     -- seconds between two removals of old tombstones by one handle
local TOGETHER = 100 -- tombstones that one request removes

-- ---- Tidying up --------------------------------------------------------------------------------

-- Returns the parts of a request that removes the tombstone at this path, if it is older than `limit`; false if the tombstone is too young;
-- nothing if it is gone, or is no tombstone.
local function removal(store, path, limit)
  local blob, stat = store.session:get(path)
  local entry = stat and type(stat) == "table" and layout.decode(blob)
  if not (entry and entry.id) then return nil end
  if stat.ctime > limit then return false end
  return { { "delete", path }, { "delete", (layout.id_path(store.path, entry.id)) } }
end

-- Removes each tombstone in a request of its own, so that a tombstone whose id has no znode does not keep the others from being removed.
local function remove_each(store, all)
  if not store.session:exists(all[1][1][2]) then return false end -- another process is removing the same tombstones
  for i = 1, #all do store.session:multi(all[i]) end
  return true
end

-- Removes these tombstones. True; or false if there is nothing more to do for now.
local function remove_together(store, those)
  local now = store:exact_now()
  if not now then return false end
  local fns, all, parts, young = {}, {}, {}, false
  for i = 1, #those do
    fns[i] = function()
      local found = removal(store, those[i], now - REMEMBER * 1000)
      if found == false then young = true end
      all[#all + 1] = found or nil
    end
  end
  tasks.all(core.host(store.session), fns)
  for i = 1, #all do
    parts[2 * i - 1], parts[2 * i] = all[i][1], all[i][2]
  end
  if #all == 0 then return not young end
  return (store.session:multi(parts) or remove_each(store, all)) and not young
end

-- Removes the tombstones of one bucket. True if it has removed all of them.
local function empty(store, bucket, names)
  local path = layout.bucket_path(store.done, bucket)
  for from = 1, #names, TOGETHER do
    local those = {}
    for i = from, math.min(from + TOGETHER - 1, #names) do those[#those + 1] = paths.child(path, names[i]) end
    if not remove_together(store, those) then return false end
  end
  return true
end

local function remove_tombstones(store)
  local buckets = fetch.list_buckets(store, store.done) or {}
  for i = 1, #buckets do
    local names, sealed = fetch.list_bucket(store, store.done, buckets[i])
    if not (names and empty(store, buckets[i], names) and sealed) then return end
    store.session:delete(layout.bucket_path(store.done, buckets[i]))
  end
end

-- Producers that use ids call it, and consumers when they claim or take.
function M.tidy(store)
  local host = core.host(store.session)
  local now = host.adapter.now()
  if store.tidied and now - store.tidied < TIDY then return end
  store.tidied = now
  tasks.behind(host, { quiet = true }, remove_tombstones, store)
end

core.own(debug.getinfo(1, "S").source)
return M
