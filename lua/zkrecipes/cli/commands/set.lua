-- zkr set: writes a znode's data.

local arguments = require "zkrecipes.cli.arguments"
local input = require "zkrecipes.cli.input"

local M = { name = "set", group = "Znodes", summary = "Write the data of a znode." }

M.examples = [[
zkr set /conf/level debug
zkr set /conf/logo <logo.png        # byte for byte
zkr set --version 7 /conf/level info || echo 'another client was faster'
]]

function M.define(parser)
  arguments.path(parser, "The znode.")
  parser:argument("data", "The data; if omitted or '-', standard input."):args "?"
  parser:option("--version", "Write only if the data have this version; else exit with 1."):argname "N":convert(arguments.to_count)
end

function M.run(context, given)
  local data = given.data
  if not data or data == "-" then data = input.all(context) end
  context:check(given.path, context:session():set(given.path, data, given.version))
end

return M
