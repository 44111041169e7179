-- zkr export: a subtree as lines of JSON, parents first. Paths are relative to the znode that is exported.

local acls = require "zkrecipes.cli.acl"
local arguments = require "zkrecipes.cli.arguments"
local walk = require "zkrecipes.cli.walk"
local znode = require "zkrecipes.cli.znode"

local M = { name = "export", group = "Znodes", summary = "Print a subtree as lines of JSON, for import." }

M.examples = [[
zkr export /conf >conf.jsonl
zkr export /conf | zkr -s other:2181 import /conf
]]

function M.define(parser)
  parser:description("Print a subtree as lines of JSON, for import. Ephemeral znodes are left out. Containers and znodes with a TTL "
    .. "are exported as plain ones, because servers do not tell them apart.")
  arguments.path(parser, "The znode; its path is '/' in the export.")
  parser:flag("--acl", "Export the ACLs too.")
end

local KEYS = { "path", "data", "data_base64", "acl" }

-- ZooKeeper's own znodes are not exported with the root.
local function is_own(path) return path == "/zookeeper" or path:sub(1, 11) == "/zookeeper/" end

-- nil: the znode is gone.
local function line_of(context, node, relative, with_acl)
  local fields = { path = relative }
  znode.put_data(fields, node.data)
  if not with_acl then return fields end
  local acl, stat, code = context:session():get_acl(node.path)
  if code == "no_node" then return nil end
  fields.acl = acls.show_all(context:check(node.path, acl, stat, code))
  return fields
end

function M.run(context, given)
  local ephemerals, prefix = 0, given.path == "/" and 0 or #given.path
  walk(context, given.path, { with_data = true }, function(node)
    if given.path == "/" and is_own(node.path) then return end
    if node.code then context:check(node.path, nil, "", node.code) end
    if node.stat.ephemeral_owner then
      ephemerals = ephemerals + 1
      return
    end
    local relative = node.path:sub(prefix + 1)
    local fields = line_of(context, node, relative == "" and "/" or relative, given.acl)
    if fields then context:print_json(fields, KEYS) end
  end)
  if ephemerals > 0 then context:note(("%d ephemeral znodes were not exported"):format(ephemerals)) end
end

return M
