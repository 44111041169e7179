-- Runs a command while zkr holds something, and not longer:
--
-- 1. The minder may be started while zkr still waits for the hold, because both take some milliseconds.
-- 2. The command is started with a time until when it may run: the end of the lease, less a reserve. zkr moves that time on while it
--    holds. The minder asks the command to end `grace` seconds before, and kills it then, whatever zkr does.
-- 3. When the hold is lost for certain, the command is killed at once: another contender may hold already.
-- 4. When no process of the command is left, the hold is released.
--
-- What can go wrong: the minder is stopped; then zkr kills the command's group when the time is over, and the minder and the rest a
-- moment later. This program fails; then the command is killed before the error is raised, because the session closes after that.

local children = require "zkrecipes.cli.child"
local exit = require "zkrecipes.cli.exit"
local signals = require "zkrecipes.cli.signals"
local to_seconds = require("zkrecipes.cli.arguments").to_seconds

local M = {}

local RESERVE = 0.02    -- of the session's timeout, between SIGKILL and the end of the lease; zkr acts for the minder after half of it
local GRACE = 0.1       -- of the session's timeout, between SIGTERM and SIGKILL, by default
local LONGEST = 0.25    -- the lease may be as short as 0.43 of the timeout when all is well
local SHORTEST = 0.01   -- seconds between two orders

-- The seconds between SIGTERM and SIGKILL. Raises a problem if the lease is too short for them.
function M.grace(context, seconds)
  local timeout = context:session().timeout
  if not seconds then return GRACE * timeout end
  if seconds <= LONGEST * timeout then return seconds end
  context:fail(exit.USAGE, ("--grace %g is more than a quarter of the session's timeout, which is %g s; give zkr --timeout %g"):format(
    seconds, timeout, math.ceil(seconds / LONGEST)))
end

-- ---- Keeping time ------------------------------------------------------------------------------

-- Orders until when the command may run. Returns how long zkr may sleep: it moves the time on long before it is over. Nil: the time is
-- over, or the hold is lost.
-- The clock is read before the lease, so that a pause between the two makes the time earlier.
local function order(run)
  local now = run.context.zk.now()
  local left = run.lost and 0 or run.hold:left()
  if left <= run.reserve then
    run.lost = true
    return nil
  end
  local kill_at = now + left - run.reserve
  run.child:order(kill_at - run.grace, kill_at)
  return math.max((left - run.reserve - run.grace) / 3, SHORTEST)
end

-- If the minder does its work it has killed all by now, or does so at the order.
local function kill(run)
  local child = run.child
  child:order(0, 0)
  child:kill()
  local patience = run.reserve / 2
  local by = run.context.zk.now() + patience
  repeat child:wait(patience) until child.over or run.context.zk.now() >= by
  if not child.over then child.minder:kill "sigkill" end
  while not child.over do child:wait(patience) end
end

local function keep(run)
  local pause = order(run)
  while pause and not run.child.over do
    run.child:wait(pause)
    pause = order(run)
  end
  if not run.child.over then kill(run) end
end

-- ---- The result --------------------------------------------------------------------------------

local function result(run)
  local child = run.child
  if child.over == "ended" then return child.status end
  if child.over == "lost" or run.lost then
    run.context:note(run.path .. ": the hold was lost, or its lease was about to end, so the command was ended")
    return exit.LOST
  end
  run.context:fail(exit.FAILED, run.path .. ": the minder of the command was killed, so the command was killed too")
end

local function new_child(context, arguments, variables)
  local child, message = children.start(context.uv, arguments.command, variables)
  return child or context:fail(exit.FAILED, message)
end

-- Starts the minder before there is a hold. Returns what `run` takes as `prepared`. If zkr ends before that, the minder ends too.
function M.prepare(context, arguments) return new_child(context, arguments, { ZKR_PATH = arguments.path }) end

local function start(run, arguments, variables, prepared)
  local token, child = run.hold.token, prepared
  if child and not child.over then
    child:set("ZKR_TOKEN", token)
  else
    local all = { ZKR_TOKEN = token, ZKR_PATH = arguments.path }
    for name, value in pairs(variables or {}) do all[name] = tostring(value) end
    child = new_child(run.context, arguments, all)
  end
  run.child = child
end

local function keep_all(run)
  run.hold:on_lost(function()
    run.lost = true
    run.child:wake()
  end)
  local kept, problem = pcall(keep, run)
  if kept then return end
  run.lost = true
  keep(run)
  error(problem, 0)
end

-- Runs the command of the arguments, with these further variables. Returns its exit status; and true if a signal asked zkr to end. The
-- caller releases the hold. arguments: path, command. grace: seconds.
function M.run(context, hold, arguments, grace, variables, prepared)
  local run = { context = context, hold = hold, path = arguments.path, grace = grace, reserve = RESERVE * context:session().timeout }
  start(run, arguments, variables, prepared)
  local relay = signals.relay(context, function(_, _, ends) run.ending = run.ending or ends end)
  relay:add(run.child)
  keep_all(run)
  relay:close()
  return result(run), run.ending
end

-- Returns the hold that acquire or campaign returned. If the session was lost before, zkr has held nothing, and nothing has run.
function M.acquired(context, path, hold, message, code)
  if code == "lost" then context:fail(exit.FAILED, path .. ": the session was lost, so the command was not started; try again") end
  return context:check(path, hold, message, code)
end

-- What a command that others may hold too shows of itself: `zkr holders` prints it.
function M.name(context) return context.uv.os_gethostname() end

-- ---- The command line --------------------------------------------------------------------------

function M.define(parser)
  parser:argument("command", "The command and its arguments, after `--`."):args "+"
  parser:option("--grace", "From SIGTERM to SIGKILL when the lease ends, in seconds."):convert(to_seconds):argname "S"
end

return M
