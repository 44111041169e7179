-- An item on the servers: how it is read and moved. A place is { lane, bucket, name }.

local core = require "zkrecipes.core"
local layout = require "zkrecipes.recipes.queue.layout"

local M = {}

M.GONE = "gone"
M.UNREADABLE = "unreadable" -- the znode is no item

-- Returns entry, version; or nil and GONE or UNREADABLE; or nil, message, code.
function M.read(desk, place)
  local blob, stat, code = desk.store.session:get(layout.item_path(place))
  if code == "no_node" then return nil, M.GONE end
  if code then return nil, stat, code end
  local entry = layout.decode(blob)
  if not entry then return nil, M.UNREADABLE end
  return entry, stat.version
end

-- True if another process has moved, claimed or deleted the item since we read it.
function M.faster(code) return code == "no_node" or code == "node_exists" or code == "bad_version" end

-- True if the request may have been done: its answer was lost, or there was no memory for it.
function M.uncertain(code) return code == "connection_loss" or code == "no_memory" end

-- Returns the desk for one step of a method, see store.lua.
function M.for_now(desk)
  return setmetatable({ store = desk.store:for_now() }, { __index = desk, __newindex = desk })
end

-- Appends the entry to another lane, and deletes it here. It keeps its tag, which identifies it if the answer is lost. True; or nil,
-- message, code: no_node or bad_version if another process was faster.
function M.move(desk, place, entry, version, lane, claim_parts)
  local store, path = desk.store, layout.item_path(place)
  local extra = claim_parts or {}
  extra[#extra + 1] = { "delete", path, version }
  extra[#extra + 1] = { "set", place.lane.out, "" }
  local moved = { tag = layout.tag(place.name), attempts = entry.attempts, priority = entry.priority, id = entry.id,
    data = entry.data, due = entry.due }
  local list = { moved }
  if entry.id then list.ids, list.known = { moved }, true end
  return store:append(lane, list, extra, function()
    local stat, message, code = store.session:exists(path)
    if stat == nil then return nil, message, code end
    return not stat
  end)
end

function M.claim_path(desk, place)
  return desk.store.path .. "/claims/" .. layout.claim_name(place.lane, place.bucket, place.name)
end

-- Returns parts that fail if the item is claimed.
function M.unclaimed(desk, place)
  local path = M.claim_path(desk, place)
  return { { "create", path, "", { ephemeral = true } }, { "delete", path } }
end

core.own(debug.getinfo(1, "S").source)
return M
