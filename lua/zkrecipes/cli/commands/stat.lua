-- zkr stat: what the server knows about a znode.

local arguments = require "zkrecipes.cli.arguments"
local format = require "zkrecipes.cli.format"
local znode = require "zkrecipes.cli.znode"

local M = { name = "stat", group = "Znodes", summary = "Show versions, times, size and owner of a znode." }

M.examples = [[
zkr stat /leader
zkr stat /maintenance >/dev/null && echo 'it exists'
zkr stat --json /conf | jq .version
]]

function M.define(parser)
  arguments.path(parser, "The znode.")
  arguments.json(parser, "Print a JSON object.")
end

function M.run(context, given)
  local stat = context:check(given.path, context:session():exists(given.path))
  if not stat then context:check(given.path, nil, "", "no_node") end
  if given.json then return context:print_json(znode.fields(given.path, stat), znode.KEYS) end
  context:write(format.columns {
    { "kind", stat.ephemeral_owner and "ephemeral, of session " .. stat.ephemeral_owner or "persistent" },
    { "created", format.time_and_age(stat.ctime / 1000) },
    { "changed", format.time_and_age(stat.mtime / 1000) },
    { "data", format.size(stat.data_length) .. ", version " .. stat.version },
    { "children", ("%d, version %d"):format(stat.num_children, stat.cversion) },
    { "acl", "version " .. stat.aversion },
    { "zxids", ("created %s, changed %s, children %s"):format(stat.czxid, stat.mzxid, stat.pzxid) },
  })
end

return M
