-- An item on the servers: how it is read and moved. A place is { lane, bucket, name }.

local core = require "zkrecipes.core"
local layout = require "zkrecipes.recipes.queue.layout"

local M = {}

M.GONE = "gone"
M.UNREADABLE = "unreadable" -- the znode is no item

-- Returns entry, version; or nil and GONE or UNREADABLE; or nil, message, code.
function M.read(consumer, place)
  local blob, stat, code = consumer.store.session:get(layout.item_path(place))
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

-- Returns the consumer for one step of a method, see store.lua.
function M.for_now(consumer)
  return setmetatable({ store = consumer.store:for_now() }, { __index = consumer, __newindex = consumer })
end

-- Moves the entry to another lane. It keeps its tag, which identifies it if the answer is lost. held: its claim is ours, and is deleted;
-- false: it must have no claim; nil: no process can claim it. True; or nil, message, code: no_node, bad_version or node_exists if another
-- process was faster.
function M.move(consumer, place, entry, version, lane, held)
  return consumer.store:append(lane, entry, { from = layout.item_path(place), version = version, out = place.lane.out,
    tag = layout.tag(place.name), claim = held ~= nil and M.claim_path(consumer, place) or nil, held = held })
end

function M.claim_path(consumer, place)
  return consumer.store.path .. "/claims/" .. layout.claim_name(place.lane, place.bucket, place.name)
end

core.own(debug.getinfo(1, "S").source)
return M
