-- Checks ids in a history of the queue (histories.lua). Producers put items under a few ids again and again, some within a minute, some
-- later. An observer reads the servers' znodes directly, twice a second, and records which items exist. If an item is put and done between
-- two reads, before the put is answered, the znode of its id shows it.
--
--   early       an item comes while another item with the same id exists, or less than a minute after that was done
--   forgotten   a put is told that the id is known, but no item with this id has existed for more than a minute: the item is lost
--   kept        in the end the queue still stores ids that have expired

local layout = require "spec.support.queue_layout"

local M = {}

local LOOK = 0.5    -- seconds between two reads
local MINUTE = 60
local LATE = 10     -- seconds after which no request arrives any more
local SLACK = 30    -- seconds by which a process's view of the server's time may lag: after a late answer or a pause

local violation

-- ---- The observer ------------------------------------------------------------------------------

local function each_item(world, path, delayed, fn)
  for _, bucket in ipairs(world:children(path) or {}) do
    for _, name in ipairs(layout.bucket_number(bucket) and world:children(path .. "/" .. bucket) or {}) do
      local entry = layout.is_item(name, delayed) and layout.decode((world:get(path .. "/" .. bucket .. "/" .. name)))
      if entry and entry.id then fn(entry.id, layout.tag(name)) end
    end
  end
end

-- id > the tags of its existing items.
local function look(world)
  local there = {}
  local function note(id, tag)
    there[id] = there[id] or {}
    table.insert(there[id], tag)
  end
  for _, lane in ipairs(world:children "/jobs/lanes" or {}) do each_item(world, "/jobs/lanes/" .. lane, false, note) end
  each_item(world, "/jobs/dead", false, note)
  each_item(world, "/jobs/later", true, note)
  return there
end

-- The state of one id: { seen = tag > when the item was seen last; last = when any item was; written = zxid of the last write to the id's
-- znode; removing = removes under way }. A remove clears `seen`: the id may be new from then on.
local function of(history, id)
  history.ids[id] = history.ids[id] or { seen = {}, last = -math.huge, removing = 0 }
  return history.ids[id]
end

local function check_new(history, id, tag, count)
  local now, seen = history.world:now(), of(history, id).seen
  if count > 1 then violation(history, "early", id .. ": two items are there") end
  for other, last in pairs(seen) do
    if other ~= tag and now < last + MINUTE then
      violation(history, "early", ("%s: %s came %.3f s after %s"):format(id, tag, now - last, other))
    end
  end
end

-- The queue writes the znode of an id when an item with the id is put, and when that item is done.
local function watch_written(history)
  for id, one in pairs(history.ids) do
    local _, stat = history.world:get((layout.id_path("/jobs", id)))
    if stat and stat.mzxid ~= one.written then one.written, one.last = stat.mzxid, history.world:now() end
  end
end

local function watch(history)
  watch_written(history)
  for id, tags in pairs(look(history.world)) do
    local one = of(history, id)
    if one.removing > 0 then one.seen = {} end
    for i = 1, #tags do
      if not one.seen[tags[i]] then check_new(history, id, tags[i], #tags) end
    end
    one.last = history.world:now()
    for i = 1, #tags do one.seen[tags[i]] = one.last end
  end
end

function M.begin(history, of_violation)
  violation = of_violation
  history.ids = {}
  history.world.zk.spawn(function()
    while not history.stop do
      watch(history)
      history.world.zk.sleep(LOOK)
    end
  end)
end

-- ---- Producers ---------------------------------------------------------------------------------

-- Checks a put that began at `from` and was told that the id is known.
local function check_known(history, id, from)
  local one = of(history, id)
  local slack = history.mode == "calm" and 1 or SLACK
  watch(history)
  if one.last + MINUTE + LOOK + slack < from then
    violation(history, "forgotten", ("%s is known %.3f s after the last item"):format(id, from - one.last))
  end
end

local function remove(history, queue, id)
  local one = of(history, id)
  one.removing, one.seen = one.removing + 1, {}
  local done, _, code = queue:remove(id)
  local function over() one.removing, one.seen = one.removing - 1, {} end
  if code ~= "connection_loss" then
    over()
  else
    history.world.zk.spawn(function() -- its request may still arrive
      history.world.zk.sleep(LATE)
      over()
    end)
  end
  if done then
    history.unlisted = true -- it is unknown which of the items was removed
  elseif code == "connection_loss" then
    history.unlisted = true
  elseif code and code ~= "conflict" then
    violation(history, "remove", code)
  end
end

-- Puts some items under few ids. Calls note(history, name, ok, code) for each.
function M.produce(history, zk, queue, number, note)
  local roll = history.roll
  for i = 1, 4 + roll(5) do
    local id, name, from = "id" .. roll(2), ("%d:%03d"):format(number, i), history.world:now()
    local delay, one = roll(5) == 0 and roll(40) or nil, of(history, id)
    local ok, word, code = queue:put(name, { id = id, priority = roll(2), delay = delay })
    if word == "known" then
      check_known(history, id, from)
    else
      note(history, name, ok, code)
      one.last = history.world:now() -- it may be done before the next read
    end
    zk.sleep(roll(3) == 0 and 60 + roll(200) / 100 or roll(8000) / 100)
    if history.removes and roll(6) == 0 then remove(history, queue, id) end
  end
end

-- ---- The end -----------------------------------------------------------------------------------

-- The znodes that store ids.
local function kept(world)
  local ids, tombstones = 0, 0
  for _, folder in ipairs(world:children "/jobs/ids" or {}) do ids = ids + #world:children("/jobs/ids/" .. folder) end
  for _, bucket in ipairs(world:children "/jobs/done" or {}) do
    if layout.bucket_number(bucket) then tombstones = tombstones + #world:children("/jobs/done/" .. bucket) end
  end
  return ids, tombstones
end

-- Call it when no item is left. Ids of dead letters stay known. `queue` belongs to a process without faults.
function M.check_end(history, zk, queue, dead)
  local world = history.world
  for _ = 1, 3 do
    zk.sleep(MINUTE + SLACK + 5)
    queue:put("0:0", { id = "last" })
    queue:take(5)
  end
  local known = 1
  for _ in pairs(dead) do known = known + 1 end
  local ids, tombstones = kept(world)
  if ids > known or tombstones > 1 then violation(history, "kept", ("%d ids, %d tombstones"):format(ids, tombstones)) end
end

return M
