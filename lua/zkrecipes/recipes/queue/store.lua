-- What iterators, and what removes tombstones, need of the servers: time, and the lanes. `core` is the object that puts, gives, moves
-- and ends items (src/recipes/queue).

local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"
local layout = require "zkrecipes.recipes.queue.layout"
local limits = require "zkrecipes.limit"

local M = {}
M.__index = M

local EXACT = 10 -- seconds for which the local clock may carry on a time that a server told, where the time must be exact

local inner = core.classes.queue.inner
local ask_time = classes.waiting(inner.ask_time)

-- queue: the object of the core.
function M.new(session, path, queue)
  local self = setmetatable({ session = session, path = path, core = queue, lanes = {} }, M)
  self.dead = layout.lane(path .. "/dead", "dead")
  self.later = layout.lane(path .. "/later", "later")
  self.done = layout.lane(path .. "/done", "done")
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

-- Calls fn(seconds that are left, or nil), within the store's time limit if it has one.
local function limited(self, what, fn)
  if self.limit then return self.limit:call(what .. " " .. self.path, fn) end
  return fn()
end

-- ---- Time --------------------------------------------------------------------------------------

local function ask(self)
  return limited(self, "ask_time", function(left) return ask_time(self.core, left) end)
end

-- Returns the server's clock now, in milliseconds; or nil, message, code. It writes, unless a server has told the time within the last
-- EXACT seconds. The server's clock is ahead of that by the time that its last answer took, and never behind.
function M:exact_now()
  local now, age = inner.time(self.core)
  if now and age <= EXACT then return now end
  local ok, message, code = ask(self)
  if not ok then return nil, message, code end
  return (inner.time(self.core))
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
