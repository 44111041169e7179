-- zkr barrier: closes and opens a barrier, and waits at it.

local arguments = require "zkrecipes.cli.arguments"
local exit = require "zkrecipes.cli.exit"
local parts = require "zkrecipes.cli.parts"

local M = { name = "barrier", group = "Recipes", summary = "Close a barrier, wait until it is open, open it." }

M.examples = [[
zkr barrier close /maintenance
zkr barrier wait /maintenance --wait 60 && ./start.sh
zkr barrier open /maintenance
]]

local function barrier_of(context, given) return context:check(given.path, context:session():barrier(given.path)) end

local close = { "close", "Close it; it stays closed until it is opened." }
function close.define(parser) arguments.path(parser, "The barrier.") end
function close.run(context, given) context:check(given.path, barrier_of(context, given):close(context.settings.timeout)) end

local open = { "open", "Open it, and let all go that wait." }
function open.define(parser) arguments.path(parser, "The barrier.") end
function open.run(context, given) context:check(given.path, barrier_of(context, given):open(context.settings.timeout)) end

local wait = { "wait", "Wait until it is open." }

function wait.define(parser)
  arguments.path(parser, "The barrier.")
  arguments.patience(parser)
end

function wait.run(context, given)
  context:tell_outages()
  local passed, message, code = barrier_of(context, given):wait(arguments.limit(given))
  if code == "timeout" then context:fail(exit.LATE, given.path .. ": it is closed") end
  context:check(given.path, passed, message, code)
end

local PARTS = { close, open, wait }

function M.define(parser)
  parser:description "A barrier that was never closed is open."
  parts.define(parser, PARTS)
end

function M.run(context, given) return parts.run(context, given, PARTS) end

return M
