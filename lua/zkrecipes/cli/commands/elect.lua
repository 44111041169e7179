-- zkr elect: runs a command while it leads.

local held = require "zkrecipes.cli.held"
local terms = require "zkrecipes.cli.terms"
local path_argument = require("zkrecipes.cli.arguments").path

local M = { name = "elect", group = "Run a command", summary = "Run a command on one machine of all, the leader." }

M.examples = [[
zkr elect /scheduler --forever -- ./scheduler
zkr elect /migrate -- ./migrate.sh
]]

function M.define(parser)
  path_argument(parser, "The election.")
  held.define(parser)
  parser:flag("--forever", "When the command ends or the term is lost, be a candidate again.")
end

local function lead_once(context, election, arguments, grace)
  local term = held.acquired(context, arguments.path, election:campaign())
  local status = held.run(context, term, arguments, grace)
  term:resign()
  return status
end

function M.run(context, arguments)
  local grace = held.grace(context, arguments.grace)
  local election = context:check(arguments.path, context:session():election(arguments.path, { value = held.name(context) }))
  if not arguments.forever then return lead_once(context, election, arguments, grace) end
  return terms.run(context, election, arguments, grace, function(serve, options)
    return election:lead(serve, options)
  end)
end

return M
