-- zkr man: prints a man page.

local exit = require "zkrecipes.cli.exit"

local M = { name = "man", group = "Zkr itself", summary = "Print the man page of zkr or of a command." }

M.examples = [[
zkr man | man -l -
zkr man ls >/usr/local/share/man/man1/zkr-ls.1
]]

function M.define(parser)
  parser:argument("command", "The command; omitted: zkr itself."):args "?":target "name"
end

function M.run(context, given)
  local page = require("zkrecipes.cli.man").page(given.name)
  if not page then context:fail(exit.USAGE, ("no command '%s'; `zkr --help` lists them"):format(given.name)) end
  context:write(page)
end

return M
