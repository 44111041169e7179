-- zkr acl: shows or sets who may do what with a znode.

local acls = require "zkrecipes.cli.acl"
local arguments = require "zkrecipes.cli.arguments"
local clean = require "zkrecipes.cli.clean"
local exit = require "zkrecipes.cli.exit"

local M = { name = "acl", group = "Znodes", summary = "Show or set the ACL of a znode." }

M.examples = [[
zkr acl /conf                                   # prints world:anyone:all
zkr acl /conf creator read                      # you may do all, others may read
zkr acl /conf creator sasl:ann:read,write       # ann may read and write
zkr acl /conf creator                           # only who made it: your credentials
]]

function M.define(parser)
  arguments.path(parser, "The znode.")
  parser:argument("entry", "SCHEME:ID:PERMISSIONS, with read, write, create, delete, admin or all; or 'open', 'creator' or "
    .. "'read'. Omitted: show the ACL."):args "*"
  parser:option("--version", "Set only if the ACL has this version; else exit with 1."):argname "N":convert(arguments.to_count)
  arguments.json(parser, "Print the ACL as a JSON object.")
end

local function show(context, given)
  local acl, stat = context:check(given.path, context:session():get_acl(given.path))
  local shown = acls.show_all(acl)
  if given.json then
    return context:print_json({ path = given.path, acl = shown, aversion = stat.aversion }, { "path", "acl", "aversion" })
  end
  for _, entry in ipairs(shown) do context:write(clean(entry) .. "\n") end
end

function M.run(context, given)
  if #given.entry == 0 then return show(context, given) end
  local acl, wrong = acls.read(given.entry)
  if not acl then context:fail(exit.USAGE, wrong) end
  context:check(given.path, context:session():set_acl(given.path, acl, given.version))
end

return M
