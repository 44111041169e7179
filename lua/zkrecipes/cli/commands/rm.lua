-- zkr rm: deletes a znode, or all of a subtree.

local arguments = require "zkrecipes.cli.arguments"
local exit = require "zkrecipes.cli.exit"
local input = require "zkrecipes.cli.input"
local walk = require "zkrecipes.cli.walk"

local M = { name = "rm", group = "Znodes", summary = "Delete a znode, or with -r all of a subtree." }

M.examples = [[
zkr rm /jobs/job-0000000007
zkr rm -r /old              # asks first
zkr rm -rf /old             # does not ask; for scripts
]]

function M.define(parser)
  arguments.path(parser, "The znode.")
  parser:flag("-r --recursive", "Delete all znodes below it too. Asks first.")
  parser:flag("-f --force", "Do not ask.")
  parser:option("--version", "Delete only if the data have this version; else exit with 1."):argname "N":convert(arguments.to_count)
end

local function confirm(context, path)
  if not input.is_tty(context) then
    context:fail(exit.USAGE, path .. ": not deleted, because standard input is no terminal on which to ask; give -f")
  end
  local count = -1
  walk(context, path, {}, function() count = count + 1 end)
  context:ask(("delete %s and %d znodes below it? [y/N] "):format(path, count))
  local answer = input.line(context):lower()
  if answer ~= "y" and answer ~= "yes" then context:fail(exit.NO, path .. ": not deleted") end
end

function M.run(context, given)
  local path = given.path
  if not given.recursive then
    context:check(path, context:session():delete(path, given.version))
    return
  end
  if given.version then context:fail(exit.USAGE, "-r deletes all versions; omit --version") end
  if path == "/" then context:fail(exit.USAGE, "/: the root cannot be deleted; give the path of a znode below it") end
  if not given.force then confirm(context, path) end
  context:check(path, context:session():delete_tree(path))
end

return M
