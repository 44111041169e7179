-- zkr latch: counts down, and waits until the count is zero.

local arguments = require "zkrecipes.cli.arguments"
local exit = require "zkrecipes.cli.exit"
local parts = require "zkrecipes.cli.parts"

local M = { name = "latch", group = "Recipes", summary = "Count down, and wait until the count is zero." }

M.examples = [[
zkr latch down /release-7/copied 3           # on each of three machines
zkr latch wait /release-7/copied 3 --wait 600 && ./switch.sh
]]

local function latch_of(context, given) return context:check(given.path, context:session():latch(given.path, given.n)) end

local function define(parser)
  arguments.path(parser, "The latch; it opens once.")
  parser:argument("n", "How many must count down; all callers say the same."):convert(arguments.to_count)
end

local down = { "down", "Count down by one, and print what is left.", define = define }

function down.run(context, given)
  local latch = latch_of(context, given)
  local left = context:check(given.path, latch:count_down(context.settings.timeout))
  context:write(("%d\n"):format(left))
end

local count = { "count", "Print what is left.", define = define }

function count.run(context, given)
  context:write(("%d\n"):format(context:check(given.path, latch_of(context, given):count(context.settings.timeout))))
end

local wait = { "wait", "Wait until the count is zero." }

function wait.define(parser)
  define(parser)
  arguments.patience(parser)
end

function wait.run(context, given)
  context:tell_outages()
  local passed, message, code = latch_of(context, given):wait(arguments.limit(given))
  if code == "timeout" then context:fail(exit.LATE, given.path .. ": not all have counted down") end
  context:check(given.path, passed, message, code)
end

local PARTS = { down, count, wait }

function M.define(parser)
  parser:description "A latch opens once and for all when N processes have counted down."
  parts.define(parser, PARTS)
end

function M.run(context, given) return parts.run(context, given, PARTS) end

return M
