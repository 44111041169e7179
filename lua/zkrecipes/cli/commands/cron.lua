-- zkr cron: runs a command at certain times, on one machine of all.

local held = require "zkrecipes.cli.held"
local terms = require "zkrecipes.cli.terms"
local path_argument = require("zkrecipes.cli.arguments").path

local M = { name = "cron", group = "Run a command", summary = "Run a command at certain times, on one machine of all." }

M.examples = [[
zkr cron /cron/report '30 3 * * *' -- ./report.sh
zkr cron /cron/poll '*/5 8-18 * * mon-fri' --catch-up none -- ./poll.sh
]]

function M.define(parser)
  path_argument(parser, "The election; each schedule needs its own.")
  parser:argument("expression", "Minute, hour, day of month, month, day of week; in UTC.")
  held.define(parser)
  parser:option("--catch-up", "If times have passed without a run: run `once` at once, or `none`."):choices { "once", "none" }
  parser:flag("--recover", "If a run was cut, because its machine died for example, run again.")
end

function M.run(context, arguments)
  local grace = held.grace(context, arguments.grace)
  local election = context:check(arguments.path, context:session():election(arguments.path, { value = held.name(context) }))
  return terms.run(context, election, arguments, grace, function(serve, options)
    options.catch_up, options.recover = arguments.catch_up, arguments.recover
    return election:cron(arguments.expression, serve, options)
  end)
end

return M
