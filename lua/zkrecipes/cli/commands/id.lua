-- zkr id: unique numbers and names.

local arguments = require "zkrecipes.cli.arguments"
local exit = require "zkrecipes.cli.exit"
local parts = require "zkrecipes.cli.parts"

local M = { name = "id", group = "Recipes", summary = "Print numbers or names that no other caller gets." }

local MOST = 1000000000 -- numbers of a block
local BREATH = 1000 -- so many numbers may come without a request, and then a signal is noticed

M.examples = [[
zkr id next /ids/invoice
zkr id next /ids/invoice -n 100              # 100 numbers in one request
zkr id next /ids/batch --name batch-         # prints batch-0000000007
]]

local next_id = { "next", "Print the next number: larger than all before it." }

function next_id.define(parser)
  arguments.path(parser, "The counter of the numbers; with --name a directory.")
  parser:option("-n", "So many, one in each line.", "1"):argname "N":convert(arguments.to_count):target "n"
  parser:option("--name", "A name that begins with P, and no number."):argname "P"
end

function next_id.run(context, given)
  if given.n < 1 or given.n > MOST then context:fail(exit.USAGE, ("-n: from 1 to %d"):format(MOST)) end
  local ids = context:check(given.path, context:session():ids(given.path, { block = given.n }))
  local options = { timeout = context.settings.timeout }
  for i = 1, given.n do
    if i % BREATH == 0 then context.zk.sleep(0.001) end
    local id, message, code
    if given.name then id, message, code = ids:next_name(given.name, options) else id, message, code = ids:next(options) end
    context:check(given.path, id, message, code)
    context:write((given.name and "%s\n" or "%d\n"):format(id))
  end
end

local PARTS = { next_id }

function M.define(parser)
  parser:description "Never delete the znode at the path: the numbers would begin again."
  parts.define(parser, PARTS)
end

function M.run(context, given) return parts.run(context, given, PARTS) end

return M
