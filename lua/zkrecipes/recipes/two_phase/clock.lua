-- The servers' time, as a participant knows it: the time of one of its writes, carried on with the clock of its own that runs evenly.
--
-- What can go wrong: another server becomes the leader, and its clock differs. Then the time for votes is shorter or longer, but never
-- longer than for a transaction that was made just now.

local core = require "zkrecipes.core"
local requests = require "zkrecipes.lost_answers"

local M = {}

function M.new(session, path) return { session = session, path = path, now = core.host(session).adapter.now } end

-- A part of a multi that asks for the time.
function M.part(clock) return { "set", clock.path, "" } end

-- Learns it from the stat of a write that was just answered.
function M.told(clock, stat) clock.ahead = stat.mtime / 1000 - clock.now() end

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
  M.told(clock, stat)
  return true
end

-- Seconds since this time of the servers.
function M.since(clock, milliseconds) return clock.now() + clock.ahead - milliseconds / 1000 end

-- A function: the seconds in which votes for the transaction may still come.
function M.left(clock, tx)
  local limit = tx.record.milliseconds / 1000
  local over = clock.now() + math.min(limit - M.since(clock, tx.stat.ctime), limit)
  return function() return math.max(over - clock.now(), 0) end
end

core.own(debug.getinfo(1, "S").source)
return M
