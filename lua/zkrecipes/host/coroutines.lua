-- The coroutine functions that differ between the versions of Lua:
--
--   running()                  the coroutine that the scheduler knows; nil on the main thread
--   pcall(fn, ...)             a pcall whose fn may wait. In Lua 5.1 pcall cannot be yielded across, so fn runs in a
--                              separate coroutine there, and its yields are passed on
--   protected(fn, ...)         like pcall, and adds the traceback to an error that is a string
--   scope(guard, fn, ...)      fn(...); Lua 5.4 closes the guard however fn ends, also if its coroutine is closed
--   guarded(stop, fn, ...)     fn(...); calls stop() if fn raises or, in Lua 5.4, its coroutine is closed
--   pack, unpack               lists that may hold nil; unpack from the first entry on, or from a later one

local core = require "zkrecipes.core"

local M = {}

-- The names of this file's chunks; wait.lua marks them as parts of the library.
M.sources = { debug.getinfo(1, "S").source, "=zkrecipes.host.coroutines" }

local TRACEBACK = "\nstack traceback:\n"

function M.pack(...) return { n = select("#", ...), ... } end

local unpack_n = table.unpack or unpack -- luacheck: ignore 113 143
function M.unpack(list, from) return unpack_n(list, from or 1, list.n) end

-- Lua 5.1: coroutine that was created here > coroutine that it runs in.
local outer = setmetatable({}, { __mode = "kv" })

-- True if a coroutine can yield across pcall. In LuaJIT it can. In nginx this runs inside a require and cannot be tried.
local yieldable = rawget(_G, "jit") ~= nil or pcall(coroutine.wrap(function() assert(pcall(coroutine.yield)) end))

function M.running()
  local co, is_main = coroutine.running()
  if is_main then return nil end
  while outer[co] do co = outer[co] end
  return co
end

local function explain(message)
  if type(message) ~= "string" or message:find(TRACEBACK, 1, true) then return message end
  return debug.traceback(message, 2)
end

local function same(message) return message end

-- ---- Lua 5.1 ---------------------------------------------------------------------------------

local function step(inner, describe, ok, ...)
  if not ok then return false, describe(inner, (...)) end
  if coroutine.status(inner) == "dead" then return true, ... end
  return step(inner, describe, coroutine.resume(inner, coroutine.yield(...)))
end

local function explain_inner(inner, message)
  if type(message) ~= "string" or message:find(TRACEBACK, 1, true) then return message end
  return debug.traceback(inner, message)
end

local function same_inner(_, message) return message end

local function forwarding(handler, describe)
  return function(fn, ...)
    local current = coroutine.running()
    if not current then
      local arguments = M.pack(...)
      return xpcall(function() return fn(M.unpack(arguments)) end, handler)
    end
    local inner = coroutine.create(function(...) return fn(...) end)
    outer[inner] = current
    return step(inner, describe, coroutine.resume(inner, ...))
  end
end

-- ---- The choice ------------------------------------------------------------------------------

if yieldable then
  M.pcall = pcall
  function M.protected(fn, ...) return xpcall(fn, explain, ...) end
else
  M.pcall = forwarding(same, same_inner)
  M.protected = forwarding(explain, explain_inner)
end

local SCOPE = [[
  return function(guard, fn, ...)
    local scope <close> = guard
    return fn(...)
  end
]]

local loads, chunk = pcall(load, SCOPE, "=zkrecipes.host.coroutines")
M.closes = loads and chunk ~= nil

-- For Luas without <close>. Guards only the main thread, where a signal may interrupt a wait.
local function plain_scope(guard, fn, ...)
  if M.running() then return fn(...) end
  local results = M.pack(pcall(fn, ...))
  debug.getmetatable(guard).__close(guard)
  if not results[1] then error(results[2], 0) end
  return unpack_n(results, 2, results.n)
end

M.scope = M.closes and chunk() or plain_scope

-- ---- Being stopped ---------------------------------------------------------------------------

local Guard = {}

function Guard.__close(guard)
  local stop = guard.stop
  guard.stop = nil
  if stop then stop() end
end

local function run(guard, fn, ...)
  local results = M.pack(M.pcall(fn, ...))
  if results[1] then guard.stop = nil end
  return results
end

function M.guarded(stop, fn, ...)
  local guard = setmetatable({ stop = stop }, Guard)
  local results = M.scope(guard, run, guard, fn, ...)
  Guard.__close(guard)
  if not results[1] then error(results[2], 0) end
  return M.unpack(results, 2)
end

core.own("=zkrecipes.host.coroutines")
core.own(debug.getinfo(1, "S").source)
return M
