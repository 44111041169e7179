-- Runs a command while zkr shows something: a member of a group, an instance of a service. At SIGTERM and SIGINT zkr first takes back what
-- it shows, so that no new work comes, and then passes the signal on. All other signals are only passed on, because the command may handle
-- them and go on: SIGHUP (read the configuration again), SIGQUIT (Java: show the threads). When the command has ended, zkr takes back what
-- it shows, and ends with the command's status.

local jobs = require "zkrecipes.cli.job"
local signals = require "zkrecipes.cli.signals"

local M = {}

local LIMIT = 1 -- seconds for taking back; the end of the session does it too
local GRACEFUL = { sigterm = true, sigint = true }

-- shown: an object with leave(timeout).
function M.run(context, given, shown)
  context:tell_outages()
  local relay = signals.relay(context, function(name)
    if GRACEFUL[name] then shown:leave(LIMIT) end
  end)
  local status = jobs.start(context, relay, given.command, { ZKR_PATH = given.path }):wait()
  shown:leave(LIMIT)
  return status
end

return M
