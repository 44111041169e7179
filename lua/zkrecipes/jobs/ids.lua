-- Ids: while an item that has one is in the queue, its id's znode says where (layout.lua); once it is done, that it was.

local core = require "zkrecipes.core"
local fetch = require "zkrecipes.jobs.fetch"
local layout = require "zkrecipes.jobs.layout"

local M = {}

local REMEMBERED = 1000 -- ids of acked items, by one process
local REMEMBER = 60     -- seconds

-- ---- Of what is there --------------------------------------------------------------------------

local function lane_of(store, name)
  if name == "dead" or name == "later" then return store[name] end
  local priority = layout.priority_number(name)
  return priority and store:lane(priority)
end

-- What its znode says; or false when there is none, or nil, message, code.
function M.read(store, id)
  local said, message, code = store.session:get((layout.id_path(store.path, id)))
  if code == "no_node" then return false end
  if code then return nil, message, code end
  return said or ""
end

-- Where the item is of which the znode says this: its place; or false; or nil, message, code.
function M.find(store, said)
  local name, bucket, tag = said:match("^(%S+) (%d+) (%S+)$")
  local place = { lane = name and #bucket <= 10 and lane_of(store, name), bucket = tonumber(bucket) }
  if not place.lane then return false end
  local names, message, code = fetch.list_bucket(store, place.lane, place.bucket)
  if not names then return nil, message, code end
  for i = 1, #names do
    if layout.tag(names[i]) == tag then
      place.name = names[i]
      return place
    end
  end
  return false
end

-- ---- Of what is done ---------------------------------------------------------------------------

-- Forgets what was acked long ago. The check makes sure that they are the session's own.
local function forget_old(desk)
  local store, list, now = desk.store, desk.remembered, desk.host.adapter.now()
  local presence = desk.presence.path
  if #list == 0 or not presence or #list < REMEMBERED and now - list[1].at < REMEMBER then return end
  local parts = { { "check", presence } }
  while list[1] and #parts < 100 and (now - list[1].at >= REMEMBER or #list > REMEMBERED / 2) do
    local old = table.remove(list, 1)
    if old.presence == presence then parts[#parts + 1] = { "delete", old.path } end
  end
  if #parts > 1 then store.session:multi(parts) end
end

-- Parts of the request that ends an item: the id stays known for a while, as long as this session lives.
function M.add_parts(desk, parts, entry)
  if not entry.id then return end
  local path = layout.id_path(desk.store.path, entry.id)
  parts[#parts + 1] = { "delete", path }
  parts[#parts + 1] = { "create", path, "done", { ephemeral = true } }
end

function M.remember(desk, entry)
  if not entry.id then return end
  local path = layout.id_path(desk.store.path, entry.id)
  table.insert(desk.remembered, { path = path, at = desk.host.adapter.now(), presence = desk.presence.path })
  forget_old(desk)
end

core.own(debug.getinfo(1, "S").source)
return M
