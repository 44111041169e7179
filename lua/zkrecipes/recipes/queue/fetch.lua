-- Lists buckets and their items, for iterators. (src/recipes/queue/look.c lists for claims.)

local core = require "zkrecipes.core"
local layout = require "zkrecipes.recipes.queue.layout"

local M = {}

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
  local ours, order, due = {}, {}, {}
  for i = 1, #names do
    local name = names[i]
    if layout.is_item(name, delayed) then
      ours[#ours + 1], order[name], due[name] = name, layout.sequence(name), delayed and layout.due_of(name) or 0
    end
  end
  table.sort(ours, function(a, b)
    if due[a] ~= due[b] then return due[a] < due[b] end
    return order[a] < order[b]
  end)
  return ours
end

-- Returns the names of the items in a bucket, in order, and whether the bucket is sealed; an empty list if there is no such bucket.
function M.list_bucket(store, lane, number)
  local names, stat, code = store.session:children(layout.bucket_path(lane, number))
  if code == "no_node" then return {}, true end
  if not names then return nil, stat, code end
  return in_order(names, lane == store.later), stat.version > 0
end

core.own(debug.getinfo(1, "S").source)
return M
