-- The idle lock: a fair lock of all idle processes. The consumer (consumer.lua) that holds it watches what comes in.
--
-- What can go wrong: the lock is lost with the session (the consumer acquires it again). A watch cannot be set (then the consumer does not
-- sleep).

local core = require "zkrecipes.core"
local tasks = require "zkrecipes.host.tasks"
local wait = require "zkrecipes.host.wait"

local M = {}

local AGAIN = 0.1 -- seconds to wait after a failure

local function close_watches(consumer)
  for path, watch in pairs(consumer.watches) do
    consumer.watches[path] = nil
    watch:close()
  end
end

local function watch_path(consumer, path)
  if consumer.watches[path] then return true end
  local watch, message, code = consumer.store.session:watch(path)
  if not watch then return nil, message, code end
  consumer.watches[path] = watch
  tasks.behind(consumer.host, { quiet = true }, function()
    while consumer.watches[path] == watch and watch:wait() do consumer:happened() end
    if consumer.watches[path] == watch then consumer.watches[path] = nil end
  end)
  return true
end

local function watch_paths(consumer, paths)
  for i = 1, #paths do
    local ok, message, code = watch_path(consumer, paths[i])
    if not ok then return nil, message, code end
  end
  return true
end

-- Sets the watches before the consumer looks, so that it learns of all that comes in later. It watches the lanes before it lists them.
-- True; or nil, message, code: then the consumer must not sleep.
function M.watch(consumer)
  local store = consumer.store
  local ok, problem, why = watch_paths(consumer, { store.path .. "/lanes", store.later.put_count, store.path .. "/consumers" })
  if not ok then return nil, problem, why end
  local lanes, message, code = store:list_lanes()
  if not lanes then return nil, message, code end
  local counts = {}
  for i = 1, #lanes do counts[i] = lanes[i].put_count end
  return watch_paths(consumer, counts)
end

function M.release(consumer)
  local hold = consumer.hold
  consumer.hold = nil
  close_watches(consumer)
  if hold then hold:release() end
end

-- Waits until this consumer holds the lock.
local function await_turn(consumer)
  local hold, _, code = consumer.idle_lock:acquire()
  consumer.acquiring = nil -- if this coroutine ends in another way, M.acquire does it
  if not hold then
    if code ~= "closed" and code ~= "canceled" then wait.pause(consumer.host, wait.record(), AGAIN) end
    return consumer:happened()
  end
  if consumer.line.count == 0 then return hold:release() end
  consumer.hold = hold
  hold:on_lost(function() consumer:happened() end)
  consumer.watching = true
  consumer:happened()
end

function M.holds(consumer) return consumer.hold and consumer.hold:valid() end

-- Begins to acquire the lock, unless the consumer does so already or holds it.
function M.acquire(consumer)
  if consumer.hold and not consumer.hold:valid() then M.release(consumer) end
  if consumer.hold or consumer.acquiring then return end
  consumer.acquiring = true
  tasks.behind(consumer.host, { quiet = true, on_end = function() consumer.acquiring = nil end }, await_turn, consumer)
end

core.own(debug.getinfo(1, "S").source)
return M
