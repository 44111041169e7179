-- Kills a coroutine of a simulated process at one of its waits, as nginx does: the coroutine runs no more code. `early`: when it begins to
-- wait; `late`: after it was woken, before it continues.

local builtin = require "zkrecipes.adapters.builtin"
local core = require "zkrecipes.core"
local sim = require "zkrecipes.sim"

local M = {}

local over = builtin.over

local function killable(loop)
  local adapter = over(loop)
  local park = adapter.park
  function adapter.gone(record) return record.killed == true end
  function adapter.park(record, timeout)
    local victim = record.victim
    if not victim then return park(record, timeout) end
    victim.waits = victim.waits + 1
    if victim.waits ~= victim.at then return park(record, timeout) end
    if victim.how == "late" then park(record, timeout) end
    record.killed, victim.killed = true, true
    coroutine.yield() -- without end: it does not count as parked
  end
  return adapter
end

-- A world whose processes' coroutines can be killed.
function M.world(options)
  builtin.over = killable
  local world = sim.new(options)
  local new = world.process
  function world.process(...)
    builtin.over = killable
    local zk = new(...)
    builtin.over = over
    return zk
  end
  builtin.over = over
  return world
end

-- Runs fn in a coroutine of the session's process, which is killed at its wait number `at`. Returns { killed, ended, results }.
function M.start(session, fn, at, how)
  local adapter = core.host(session).adapter
  local victim = { waits = 0, at = at, how = how }
  adapter.spawn(function()
    adapter.token().victim = victim
    victim.results = { pcall(fn) }
    victim.ended = true
  end)
  return victim
end

-- What the clock of nginx does twice a second.
function M.sweep(session) core.host(session).client.sweep() end

return M
