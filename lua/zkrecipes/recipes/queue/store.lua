-- What iterators need of the servers: the lanes, and requests with a limit. `core` is the object that puts, gives, moves and ends items
-- (src/recipes/queue).

local core = require "zkrecipes.core"
local layout = require "zkrecipes.recipes.queue.layout"
local limits = require "zkrecipes.limit"

local M = {}
M.__index = M

-- queue: the object of the core.
function M.new(session, path, queue)
  local self = setmetatable({ session = session, path = path, core = queue, lanes = {} }, M)
  self.dead = layout.lane(path .. "/dead", "dead")
  self.later = layout.lane(path .. "/later", "later")
  return self
end

-- Returns the store with requests that share a time limit (limit.lua).
function M:within(limit)
  if limit.session == self.session then return self end
  return setmetatable({ session = limit.session, limit = limit, whole = self }, { __index = self, __newindex = self })
end

-- Returns the store for one step of a method: without a time limit of the caller, the step takes no longer than one request may.
function M:for_now() return self.whole and self or self:within(limits.request(self.session)) end

function M:lane(priority)
  local name = layout.priority_name(priority)
  self.lanes[name] = self.lanes[name] or layout.lane(self.path .. "/lanes/" .. name, name)
  return self.lanes[name]
end

-- ---- Lanes -------------------------------------------------------------------------------------

-- Returns the lanes of all priorities, the most urgent first.
function M:list_lanes()
  local names, message, code = self.session:children(self.path .. "/lanes")
  if code == "no_node" then return {} end
  if not names then return nil, message, code end
  table.sort(names)
  local lanes = {}
  for i = 1, #names do
    local priority = layout.priority_number(names[i])
    if priority then lanes[#lanes + 1] = self:lane(priority) end
  end
  return lanes
end

core.own(debug.getinfo(1, "S").source)
return M
