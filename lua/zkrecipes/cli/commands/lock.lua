-- zkr lock: runs a command while it holds a lock.

local arguments = require "zkrecipes.cli.arguments"
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
  arguments.path(parser, "The lock.")
  held.define(parser)
  arguments.patience(parser)
  parser:mutex(parser:option("-n", "So many hold it at once: a semaphore."):convert(arguments.to_count):argname "N":target "permits",
    parser:flag("--shared", "With others that say --shared; alone otherwise."),
    parser:flag("--unfair", "In no order; cheaper if many wait."))
end

-- What is acquired.
local function lock_of(context, given)
  local session, path, data = context:session(), given.path, held.name(context)
  if given.permits then return session:semaphore(path, given.permits, { data = data }) end
  if given.shared then return session:rwlock(path, { data = data }):reader() end
  return session:lock(path, { fair = not given.unfair, data = data })
end

function M.run(context, given)
  context:open()
  local prepared = held.prepare(context, given)
  local grace = held.grace(context, given.grace)
  local lock = context:check(given.path, lock_of(context, given))
  local hold, message, code = lock:acquire(arguments.limit(given))
  if code == "timeout" then
    context:fail(exit.LATE, given.path .. (given.try and ": it is held" or ": it was not free in time"))
  end
  local status = held.run(context, held.acquired(context, given.path, hold, message, code), given, grace, nil, prepared)
  hold:release()
  return status
end

return M
