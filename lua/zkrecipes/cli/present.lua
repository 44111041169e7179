-- Runs a command while zkr shows something: a member of a group, an instance of a service. At a signal that asks zkr to end it first takes
-- back what it shows, so that no new work comes, and then passes the signal on. When the command has ended, zkr ends with its status.

local jobs = require "zkrecipes.cli.job"

local M = {}

local LIMIT = 1 -- seconds for taking back; the end of the session does it too

-- shown: an object with leave(timeout).
function M.run(context, given, shown)
  context:tell_outages()
  local job = jobs.start(context, given.command, { ZKR_PATH = given.path })
  context:on_signal(function(_, number)
    shown:leave(LIMIT)
    job:signal(number)
  end)
  local status = job:wait()
  shown:leave(LIMIT)
  return status
end

return M
