-- zkr get: a znode's data, byte for byte.

local arguments = require "zkrecipes.cli.arguments"
local znode = require "zkrecipes.cli.znode"

local M = { name = "get", group = "Znodes", summary = "Print the data of a znode." }

M.examples = [[
zkr get /conf/level
zkr get /conf/logo >logo.png        # byte for byte
zkr get --json /conf/level | jq .version
]]

function M.define(parser)
  arguments.path(parser, "The znode.")
  arguments.json(parser, "Print data and stat as a JSON object; data that are not UTF-8 as data_base64.")
end

function M.run(context, given)
  local data, stat = context:check(given.path, context:session():get(given.path))
  if given.json then
    local fields = znode.fields(given.path, stat)
    znode.put_data(fields, data)
    return context:print_json(fields, znode.KEYS)
  end
  context:write_data(data or "")
end

return M
