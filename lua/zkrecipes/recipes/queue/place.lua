-- An item on the servers: how it is read and moved. A place is { lane, bucket, name }.

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

-- Moves the entry to another lane. It keeps its tag, which identifies it if the answer is lost. No process can claim it. True; or nil,
-- message, code: no_node or bad_version if another process was faster.
function M.move(store, place, entry, version, lane)
  return store:append(lane, entry, { from = layout.item_path(place), version = version, out = place.lane.out,
    tag = layout.tag(place.name) })
end

function M.claim_path(store, place)
  return store.path .. "/claims/" .. layout.claim_name(place.lane, place.bucket, place.name)
end

core.own(debug.getinfo(1, "S").source)
return M
