-- How a participant asks for the servers' time, and the time for votes that follows from it.
--
-- What can go wrong: another server becomes the leader, and its clock differs. Then the time for votes is shorter or longer, but never
-- longer than for a transaction that was made just now.

local clocks = require "zkrecipes.server_clock"
local core = require "zkrecipes.core"
local requests = require "zkrecipes.lost_answers"

local M = {}

-- A clock of server_clock.lua, with what M.ask needs.
function M.new(session, path)
  local clock = clocks.new(session)
  clock.session, clock.path = session, path
  return clock
end

-- A part of a multi that asks for the time.
function M.part(clock) return { "set", clock.path, "" } end

-- Asks, and makes the znode if it does not exist. True; or nil, message, code.
function M.ask(clock)
  local session = clock.session
  local stat, message, code = requests.sure(session.set, session, clock.path, "")
  if code == "no_node" then
    local made
    made, stat, code = requests.sure(session.create, session, clock.path, "", { parents = true })
    if code == "node_exists" then return M.ask(clock) end
    if not made then return nil, stat, code end
  end
  if code then return nil, message, code end
  clock:told(stat)
  return true
end

-- Seconds since this time of the servers.
function M.since(clock, milliseconds) return clock:time() - milliseconds / 1000 end

-- A function: the seconds in which votes for the transaction may still come.
function M.left(clock, tx)
  local limit = tx.record.milliseconds / 1000
  local over = clock.now() + math.min(limit - M.since(clock, tx.stat.ctime), limit)
  return function() return math.max(over - clock.now(), 0) end
end

core.own(debug.getinfo(1, "S").source)
return M
