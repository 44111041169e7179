-- The idle lock: a fair lock of all idle processes. The desk (consumers.lua) that holds it watches what comes in.
--
-- What can go wrong: the lock is lost with the session (the desk acquires it again). A watch cannot be set (then the desk does not sleep).

local core = require "zkrecipes.core"
local tasks = require "zkrecipes.host.tasks"
local wait = require "zkrecipes.host.wait"

local M = {}

local AGAIN = 0.1 -- seconds to wait after a failure

local function close_watches(desk)
  for path, watch in pairs(desk.watches) do
    desk.watches[path] = nil
    watch:close()
  end
end

local function watch_path(desk, path)
  if desk.watches[path] then return true end
  local watch, message, code = desk.store.session:watch(path)
  if not watch then return nil, message, code end
  desk.watches[path] = watch
  tasks.behind(desk.host, { quiet = true }, function()
    while desk.watches[path] == watch and watch:wait() do desk:happened() end
    if desk.watches[path] == watch then desk.watches[path] = nil end
  end)
  return true
end

local function watch_paths(desk, paths)
  for i = 1, #paths do
    local ok, message, code = watch_path(desk, paths[i])
    if not ok then return nil, message, code end
  end
  return true
end

-- Sets the watches before the desk looks, so that it learns of all that comes in later. It watches the lanes before it lists them. True; or
-- nil, message, code: then the desk must not sleep.
function M.watch(desk)
  local store = desk.store
  local ok, problem, why = watch_paths(desk, { store.path .. "/lanes", store.later.put_count, store.path .. "/consumers" })
  if not ok then return nil, problem, why end
  local lanes, message, code = store:list_lanes()
  if not lanes then return nil, message, code end
  local counts = {}
  for i = 1, #lanes do counts[i] = lanes[i].put_count end
  return watch_paths(desk, counts)
end

function M.release(desk)
  local hold = desk.hold
  desk.hold = nil
  close_watches(desk)
  if hold then hold:release() end
end

-- Waits until this desk holds the lock.
local function await_turn(desk)
  local hold, _, code = desk.idle_lock:acquire()
  desk.acquiring = nil -- if this coroutine ends in another way, M.acquire does it
  if not hold then
    if code ~= "closed" and code ~= "canceled" then wait.pause(desk.host, wait.record(), AGAIN) end
    return desk:happened()
  end
  if desk.line.count == 0 then return hold:release() end
  desk.hold = hold
  hold:on_lost(function() desk:happened() end)
  desk.watching = true
  desk:happened()
end

function M.holds(desk) return desk.hold and desk.hold:valid() end

-- Begins to acquire the lock, unless the desk does so already or holds it.
function M.acquire(desk)
  if desk.hold and not desk.hold:valid() then M.release(desk) end
  if desk.hold or desk.acquiring then return end
  desk.acquiring = true
  tasks.behind(desk.host, { quiet = true, on_end = function() desk.acquiring = nil end }, await_turn, desk)
end

core.own(debug.getinfo(1, "S").source)
return M
