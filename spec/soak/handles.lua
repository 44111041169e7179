-- The soak's recipes once more, with a new handle for each call, as handlers of web servers make them.

local M = {}

local unpack = table.unpack or unpack -- luacheck: ignore 113

local KINDS = {}
for kind in ("lock rwlock semaphore election barrier cyclic_barrier latch counter ids queue"):gmatch "%S+" do KINDS[kind] = true end

-- A stand-in for a handle: each call makes a new handle and drops it.
local function handle(session, kind, ...)
  local arguments, count = { ... }, select("#", ...)
  return setmetatable({}, { __index = function(_, method)
    return function(_, ...)
      local new = session[kind](session, unpack(arguments, 1, count))
      return new[method](new, ...)
    end
  end })
end

-- A session that returns such stand-ins.
local function dropping(session)
  return setmetatable({}, { __index = function(_, name)
    return function(_, ...)
      if KINDS[name] then return handle(session, name, ...) end
      return session[name](session, ...)
    end
  end })
end

-- These recipes already make new handles for each round, or need a handle that stays, for example to cancel.
local STAY = { ["lock, one session"] = true, ["lock, many paths"] = true, ["lock, many, unfair"] = true,
  ["semaphore, resized"] = true, multilock = true, ["multilock, handles"] = true, ["election, lead"] = true, ["election, timer"] = true,
  ["barrier, double"] = true }

-- recipe(name, begin, more): as in recipes.lua, which this adds to.
function M.add(recipes, recipe)
  for i = 1, #recipes do
    local one = recipes[i]
    if not STAY[one.name] then
      recipe(one.name .. ", handles", function(soak, zk)
        local with = { session = function(_, process) return dropping(soak:session(process)) end }
        return one.begin(setmetatable(with, { __index = soak, __newindex = soak }), zk)
      end, { part = 10 })
    end
  end
end

return M
