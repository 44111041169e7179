-- A gate: the coroutines of a session that wait until a znode is there, or is gone, share one watch. The event
-- wakes all of them; nobody reads again for himself.
--
-- What can go wrong: the connection or the session is lost (the watch goes on with the next one, and what was
-- missed is looked up); all who wait give up (the watch is closed).

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local tasks = require "zkrecipes.tasks"
local wait = require "zkrecipes.wait"

local M = {}

local gates = setmetatable({}, { __mode = "k" }) -- session > key > gate

local function wake_all(gate, message, code)
  gate.open, gate.message, gate.code = true, message, code
  for record in pairs(gate.waiters) do wait.wake(gate.host, record) end
end

-- Looks until the znode is as it is wanted; or nil, message, code.
local function look(gate, session, watch)
  while true do
    local stat, message, code = session:exists(gate.path)
    if stat == nil and code ~= "connection_loss" then return nil, message, code end
    if stat ~= nil and (stat ~= false) == gate.wanted then return true end
    local event
    event, message, code = watch:wait()
    if not event then return nil, message, code end
  end
end

local function tend(gate, session)
  local watch, message, code = session:watch(gate.path)
  if watch then
    gate.watch = watch
    local done
    done, message, code = look(gate, session, watch)
    if done then message, code = nil, nil end
    watch:close()
  end
  gate.all[gate.key] = nil
  wake_all(gate, message, code)
end

local function gate_of(session, path, wanted)
  local all = gates[session] or {}
  gates[session] = all
  local key = (wanted and "+" or "-") .. path
  local gate = all[key]
  if not gate then
    gate = { host = core.host(session), path = path, wanted = wanted, waiters = {}, all = all, key = key }
    all[key] = gate
    tasks.spawn(gate.host, { daemon = true }, tend, gate, session)
  end
  return gate
end

local function leave(gate, record)
  gate.waiters[record] = nil
  if gate.watch and not gate.open and next(gate.waiters) == nil then
    gate.all[gate.key] = nil
    gate.open = true
    gate.watch:close()
  end
end

-- Made outside of the frame that waits: where that is killed (in nginx), what it closes over is lost.
local function enter(gate)
  local record = wait.record(function(record) leave(gate, record) end)
  gate.waiters[record] = true
  return record
end

-- await(session, path, wanted, timeout, what): until the znode is there (wanted) or gone; true, or nil, message, code.
function M.await(session, path, wanted, timeout, what)
  check.seconds(timeout, 1, "wait", true)
  wait.check()
  if timeout == 0 then
    local stat, message, code = session:exists(path)
    if stat == nil then return nil, message, code end
    if (stat ~= false) == wanted then return true end
    return nil, what .. " " .. path .. ": it is not open", "timeout"
  end
  local gate = gate_of(session, path, wanted)
  local record = enter(gate)
  if not wait.pause(gate.host, record, timeout) then
    record:give_up()
    return nil, what .. " " .. path .. ": the time limit passed", "timeout"
  end
  if gate.code then return nil, gate.message, gate.code end
  return true
end

-- sure(call): calls until the outcome is known.
function M.sure(call, ...)
  local value, message, code
  repeat value, message, code = call(...) until code ~= "connection_loss"
  return value, message, code
end

core.own(debug.getinfo(1, "S").source)
return M
