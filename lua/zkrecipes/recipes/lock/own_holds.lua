-- Which locks the running coroutine holds, so that it does not wait for itself for ever.
--
-- That is certain only as long as no other coroutine can release them. A coroutine that spawns another one may have given
-- it its holds, so from then on nothing is known of those. On a foreign host nothing is known at all: its own means begin
-- coroutines that we do not hear of.

local core = require "zkrecipes.core"
local wait = require "zkrecipes.host.wait"

local M = {}

local WEAK_KEYS, WEAK_VALUES = { __mode = "k" }, { __mode = "v" }

-- Coroutine > session > path of a lock > hold. Keeps none of them.
local taken = setmetatable({}, WEAK_KEYS)

-- What stands for the running coroutine; nil on a foreign host.
local function me(host)
  return host.adapter.runs and wait.self(host) or nil
end

-- The running coroutine holds it now.
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

-- Does it hold this lock, by whatever handle of the same session?
function M.holds(lock)
  local co = me(core.host(lock))
  local sessions = co and taken[co]
  local paths = sessions and sessions[lock.session]
  local hold = paths and paths[lock.path]
  return hold ~= nil and hold:valid()
end

-- It may have given its holds to another coroutine.
function M.forget(host)
  local co = me(host)
  if co then taken[co] = nil end
end

core.own(debug.getinfo(1, "S").source)
return M
