-- zkr lock: runs a command while it holds a lock.

local exit = require "zkrecipes.cli.exit"
local held = require "zkrecipes.cli.held"

local M = { name = "lock", group = "Run a command", summary = "Run a command while holding a lock." }

M.examples = [[
zkr lock /locks/backup -- pg_dump -f /backup/db shop
zkr lock /locks/deploy --try -- ./deploy.sh || echo "somebody deploys"
zkr lock /locks/gpu -n 4 --wait 60 -- ./train.sh
zkr lock /locks/index --shared -- ./search.sh
]]

function M.define(parser)
  parser:argument("path", "The lock.")
  held.define(parser)
  parser:mutex(parser:flag("--try", "If it is held, do not wait: exit with 124."),
    parser:option("--wait", "Wait so long at most, in seconds; then exit with 124."):convert(tonumber):argname "S")
  parser:mutex(parser:option("-n", "So many hold it at once: a semaphore."):convert(math.tointeger):argname "N":target "permits",
    parser:flag("--shared", "With others that say --shared; alone otherwise."),
    parser:flag("--unfair", "In no order; cheaper if many wait."))
end

-- What is acquired.
local function lock_of(context, arguments)
  local session, path, data = context:session(), arguments.path, held.name(context)
  if arguments.permits then return session:semaphore(path, arguments.permits, { data = data }) end
  if arguments.shared then return session:rwlock(path, { data = data }):reader() end
  return session:lock(path, { fair = not arguments.unfair, data = data })
end

function M.run(context, arguments)
  local grace = held.grace(context, arguments.grace)
  local lock = context:check(arguments.path, lock_of(context, arguments))
  local hold, message, code = lock:acquire(arguments.try and 0 or arguments.wait)
  if code == "timeout" then
    context:fail(exit.LATE, arguments.path .. (arguments.try and ": it is held" or ": it was not free in time"))
  end
  context:check(arguments.path, hold, message, code)
  local status = held.run(context, hold, arguments, grace)
  hold:release()
  return status
end

return M
