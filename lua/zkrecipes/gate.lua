-- A gate: the coroutines of a session that wait until a znode is there, or is gone, share one watch. The event
-- wakes all of them; nobody reads again for himself.
--
-- What can go wrong: the connection or the session is lost (the watch goes on with the next one, and what was
-- missed is looked up); all who wait give up (the watch is closed); somebody comes while an answer is under way that
-- is older than he (he waits for the next one).

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local waiters = require "zkrecipes.host.waiters"
local limits = require "zkrecipes.limit"
local registry = require "zkrecipes.registry"
local tasks = require "zkrecipes.host.tasks"
local wait = require "zkrecipes.host.wait"

local M = {}

local gates = setmetatable({}, { __mode = "k" }) -- session > key > gate, while somebody waits at it

-- Wakes those who had come before the look that found it as it is wanted; true when there are no others.
local function admit(gate, came)
  gate.waiters:wake(came)
  return gate.waiters:empty()
end

-- Looks until the znode is as it is wanted, or nobody waits any more; or nil, message, code.
local function look(gate)
  if gate.first then
    local fit, message, code = gate.first(gate.session)
    if not fit then return nil, message, code end
  end
  while not gate.over do
    local came = gate.waiters.came
    gate.asking = true
    local stat, message, code = gate.session:exists(gate.path)
    gate.asking = stat == nil
    if stat == nil and code ~= "connection_loss" then return nil, message, code end
    local found = stat ~= nil and (stat ~= false) == gate.wanted
    if found and admit(gate, came) then return true end
    if stat ~= nil and not found and not gate.over then -- else nothing is known: it may have been told already
      local event
      event, message, code = gate.watch:wait()
      if not event then return nil, message, code end
    end
  end
end

local function forget(gate)
  gate.over = true
  if gate.all[gate.key] == gate then gate.all[gate.key] = nil end
  gate.watch:close()
end

-- The end of the task that looks, also when it was canceled.
local function tell(gate, task)
  if not task.ok then
    gate.message, gate.code = "the look at " .. gate.path .. " was canceled", "canceled"
  elseif not task.results[1] then
    gate.message, gate.code = task.results[2], task.results[3]
  end
  forget(gate)
  gate.waiters:wake()
end

-- The gate, or nil, message, code.
local function gate_of(session, path, wanted, kind, first)
  local all = gates[session] or {}
  gates[session] = all
  local key = (wanted and "+" or "-") .. kind .. path
  if all[key] then return all[key] end
  local watch, message, code = session:watch(path)
  if not watch then return nil, message, code end
  local gate = { host = core.host(session), session = session, path = path, wanted = wanted, watch = watch, all = all, key = key,
    first = first, asking = true }
  gate.waiters = waiters.new(gate.host, function() if not gate.over then forget(gate) end end)
  all[key] = gate
  tasks.behind(gate.host, { on_end = function(task) tell(gate, task) end }, look, gate)
  return gate
end

-- As await, with a time limit of 0.
local function look_once(session, path, wanted, what, first)
  local limit = limits.new(session, 0)
  local fit, message, code = true, nil, nil
  if first then fit, message, code = first(limit.session) end
  if not fit then return limit:told(nil, message, code) end
  local stat
  stat, message, code = limit.session:exists(path)
  if stat == nil then return limit:told(nil, message, code) end
  if (stat ~= false) == wanted then return true end
  return nil, what .. ": it is not open", "timeout"
end

-- await(object, path, wanted, timeout, what [, kind, first]): for an object of a session, until the znode is there (wanted) or
-- gone; true, or nil, message, code. first(session), which asks by this session: is to give true before anything else, or nil, message,
-- code; `kind` tells it from that of other objects with this path.
function M.await(object, path, wanted, timeout, what, kind, first)
  check.seconds(timeout, 1, "wait", true)
  wait.check()
  local session = object.session
  if timeout == 0 then
    return look_once(session, path, wanted, what .. " " .. path, first)
  end
  local gate, message, code = gate_of(session, path, wanted, kind or "", first)
  if not gate then return nil, message, code end
  local record = gate.waiters:enter()
  registry.begin(gate.host, record, object)
  local done = wait.pause(gate.host, record, timeout)
  registry.forget(gate.host, record)
  if not done then
    record:give_up()
    return limits.passed(session, what .. " " .. path, gate.asking)
  end
  if gate.code then return nil, gate.message, gate.code end
  return true
end

core.own(debug.getinfo(1, "S").source)
return M
