-- An item on the servers: how it is read. A place is { lane, bucket, name }.

local core = require "zkrecipes.core"
local layout = require "zkrecipes.recipes.queue.layout"

local M = {}

-- Returns entry, version; nil if there is no item; or nil, message, code.
function M.read(store, place)
  local blob, stat, code = store.session:get(layout.item_path(place))
  if code == "no_node" then return nil end
  if code then return nil, stat, code end
  local entry = layout.decode(blob)
  if entry then return entry, stat.version end
end

function M.claim_path(store, place)
  return store.path .. "/claims/" .. layout.claim_name(place.lane, place.bucket, place.name)
end

core.own(debug.getinfo(1, "S").source)
return M
