-- What a world and its sessions have in use at rest. None of it may grow from round to round.

local collect = require "spec.support.collect"
local core = require "zkrecipes.core"

local M = {}

-- In the order of the table; the last figure is shown but not compared, see main.lua.
M.NAMES = { "watches", "watched", "ephemeral", "in flight", "znodes", "tasks", "waiting", "slots", "C blocks", "C bytes",
  "objects", "Lua KiB" }

-- ---- Lua objects -------------------------------------------------------------------------------

local Walk = {}
Walk.__index = Walk

local VISITED = { table = true, ["function"] = true, userdata = true, thread = true }

function Walk:push(value)
  if not VISITED[type(value)] or self.seen[value] then return end
  self.seen[value] = true
  self.count = self.count + 1
  self.todo[#self.todo + 1] = value
end

local function visit_table(walk, value)
  local meta = debug.getmetatable(value)
  local mode = meta and rawget(meta, "__mode") or ""
  for key, item in next, value do
    if item ~= false then walk.count = walk.count + 1 end -- false: a free slot, which will be used again
    if not mode:find "k" then walk:push(key) end
    if not mode:find "v" then walk:push(item) end
  end
  walk:push(meta)
end

local function visit_function(walk, value)
  local index = 1
  while true do
    local name, upvalue = debug.getupvalue(value, index)
    if not name then return end
    walk:push(upvalue)
    index = index + 1
  end
end

local function visit_frame(walk, thread, level)
  walk:push(debug.getinfo(thread, level, "f").func)
  local index = 1
  while true do
    local name, item = debug.getlocal(thread, level, index)
    if not name then return end
    walk:push(item)
    index = index + 1
  end
end

local function visit_thread(walk, value)
  local level = 0
  while debug.getinfo(value, level, "l") do
    visit_frame(walk, value, level)
    level = level + 1
  end
end

local uservalue = debug.getuservalue or debug.getfenv

local VISIT = {
  table = visit_table, ["function"] = visit_function, thread = visit_thread,
  userdata = function(walk, value)
    walk:push(debug.getmetatable(value))
    walk:push(uservalue(value))
  end,
}

-- Counts the tables, functions, userdata, coroutines and entries of tables that are reachable by strong references.
local function count_objects()
  local walk = setmetatable({ seen = {}, todo = {}, count = 0 }, Walk)
  walk.seen[walk], walk.seen[walk.seen], walk.seen[walk.todo] = true, true, true
  walk:push(debug.getregistry())
  walk:push(_G)
  while #walk.todo > 0 do
    local value = table.remove(walk.todo)
    VISIT[type(value)](walk, value)
  end
  return walk.count
end

-- ---- All figures -------------------------------------------------------------------------------

local function count(list)
  local number = 0
  for _ in pairs(list) do number = number + 1 end
  return number
end

local function count_znodes(world, path)
  local number = 0
  for _, name in ipairs(world:children(path) or {}) do
    number = number + 1 + count_znodes(world, (path == "/" and "" or path) .. "/" .. name)
  end
  return number
end

-- Creates the table before it is filled in, so that every count includes it.
function M.new()
  local sums = {}
  for i = 1, #M.NAMES do sums[M.NAMES[i]] = 0 end
  return sums
end

local function add_session(sums, session)
  local usage, host = session:usage(), core.host(session)
  sums.watched = sums.watched + usage.watched_bytes
  sums.ephemeral = sums.ephemeral + usage.ephemeral_bytes
  sums["in flight"] = sums["in flight"] + usage.in_flight
  sums.tasks = sums.tasks + count(host.tasks)
  sums.waiting = sums.waiting + count(host.activity.waiting)
  sums.slots = sums.slots + #host.waiters
end

-- Fills them in. sessions: of the world, which is at rest.
function M.take(sums, world, sessions)
  collect(4)
  for i = 1, #sessions do add_session(sums, sessions[i]) end
  sums.watches, sums.znodes = world:watches(), count_znodes(world, "/")
  sums["C blocks"], sums["C bytes"] = core.alloc_blocks(), core.alloc_bytes()
  sums.objects = count_objects()
  collect()
  sums["Lua KiB"] = collectgarbage "count"
end

return M
