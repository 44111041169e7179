-- zkr get: a znode's data, byte for byte.

local M = { name = "get", group = "Znodes", summary = "Print the data of a znode." }

M.examples = [[
zkr get /conf/level
zkr get /conf/logo.png >logo.png
]]

function M.define(parser)
  parser:argument("path", "The znode.")
end

function M.run(context, arguments)
  local data = context:check(arguments.path, context:session():get(arguments.path))
  context:write(data or "")
end

return M
