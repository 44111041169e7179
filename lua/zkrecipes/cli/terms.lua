-- Runs a command in each term of an election, again and again, until a signal asks zkr to end, or Ctrl-C ends the command.
--
-- The recipe campaigns, and resigns when the command has ended. After an error it pauses for about a second, longer after each further
-- one. An error is: a command that ends at once, so that a broken one does not make the lead go round; at a time of a schedule, a status
-- that is not 0.

local exit = require "zkrecipes.cli.exit"
local held = require "zkrecipes.cli.held"
local problem = require "zkrecipes.cli.problem"

local M = {}

local AT_ONCE = 1 -- seconds
local INTERRUPTED = exit.SIGNAL + 2

local function variables_of(beat)
  return beat and { ZKR_DUE = ("%d"):format(beat.due), ZKR_MISSED = beat.missed, ZKR_LAST = beat.last and beat.last.outcome or "none" }
end

-- Raises what counts as an error.
local function judge(status, seconds, beat)
  if beat and status ~= exit.OK then problem.raise(status, ("the command failed with status %d"):format(status)) end
  if not beat and seconds < AT_ONCE then problem.raise(status, ("the command ended at once, with status %d"):format(status)) end
end

-- Returns the last exit status. begin(serve, options): starts election:lead or election:cron.
function M.run(context, election, arguments, grace, begin)
  local last, zk = exit.OK, context.zk
  local function serve(term, beat)
    local from = zk.now()
    local status, ending = held.run(context, term, arguments, grace, variables_of(beat))
    last = status
    if ending or last == INTERRUPTED then return election:stop() end
    judge(last, zk.now() - from, beat)
  end
  local function on_error(raised)
    context:note(problem.with_path(arguments.path, problem.is(raised) and raised.text or tostring(raised)))
  end
  context:tell_outages()
  local done, message, code = begin(serve, { on_error = on_error })
  if code == "canceled" then return last end
  context:check(arguments.path, done, message, code)
end

return M
