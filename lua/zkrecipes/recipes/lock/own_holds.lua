-- Stores which locks the running coroutine holds, so that it does not wait for itself forever.
--
-- This is certain only while no other coroutine can release these locks. A coroutine that spawns another one may have passed its
-- holds to it, so we forget its holds then. On a foreign host we store nothing: its event loop starts coroutines that we do not know
-- of.

local core = require "zkrecipes.core"
local wait = require "zkrecipes.host.wait"

local M = {}

local WEAK_KEYS, WEAK_VALUES = { __mode = "k" }, { __mode = "v" }

-- Coroutine > session > path of a lock > hold. Keeps none of them alive.
local taken = setmetatable({}, WEAK_KEYS)

-- Identifies the running coroutine; nil on a foreign host.
local function me(host)
  return host.adapter.runs and wait.self(host) or nil
end

-- Stores that the running coroutine holds this lock now.
function M.note(lock, hold)
  local co = me(core.host(lock))
  if not co then return end
  local sessions = taken[co]
  if not sessions then
    sessions = setmetatable({}, WEAK_KEYS)
    taken[co] = sessions
  end
  local paths = sessions[lock.session]
  if not paths then
    paths = setmetatable({}, WEAK_VALUES)
    sessions[lock.session] = paths
  end
  paths[lock.path] = hold
end

-- True if the running coroutine holds this lock, through any handle of the same session.
function M.holds(lock)
  local co = me(core.host(lock))
  local sessions = co and taken[co]
  local paths = sessions and sessions[lock.session]
  local hold = paths and paths[lock.path]
  return hold ~= nil and hold:valid()
end

-- Forgets the holds of the running coroutine: it may have passed them to another one.
function M.forget(host)
  local co = me(host)
  if co then taken[co] = nil end
end

core.own(debug.getinfo(1, "S").source)
return M
