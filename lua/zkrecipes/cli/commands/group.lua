-- zkr group: joins a group, lists and watches its members.

local arguments = require "zkrecipes.cli.arguments"
local clean = require "zkrecipes.cli.clean"
local exit = require "zkrecipes.cli.exit"
local format = require "zkrecipes.cli.format"
local parts = require "zkrecipes.cli.parts"
local present = require "zkrecipes.cli.present"
local znode = require "zkrecipes.cli.znode"

local HOUR = 3600

local M = { name = "group", group = "Recipes", summary = "Join a group; list or watch its members." }

M.examples = [[
zkr group join /workers "$(hostname)" -- ./worker.sh
zkr group list /workers
zkr group watch /workers --json
]]

local function group_of(context, given)
  return context:check(given.path, context:session { guardian = true }:group(given.path))
end

local join = { "join", "Be a member while the command runs, or until Ctrl-C." }

function join.define(parser)
  arguments.path(parser, "The group.")
  parser:argument("data", "What other processes see of this member; default: the name of the machine."):args "?"
  parser:argument("command", "The command and its arguments, after `--`."):args "*"
  parser:option("--id", "The member's id, if others are to know it; default: a random one.")
end

function join.run(context, given)
  local group = group_of(context, given)
  local member = context:check(given.path, group:join(given.data or context.uv.os_gethostname(), { id = given.id }))
  context:check(given.path, member:ready(context.settings.timeout))
  if #given.command > 0 then return present.run(context, given, member) end
  context:write(member.id .. "\n")
  context:flush()
  context:tell_outages()
  while true do context.zk.sleep(HOUR) end -- a signal ends zkr, and with it the session and the member
end

local function show(context, given, member, kind)
  if given.json then
    local fields = { event = kind, id = member.id }
    znode.put_data(fields, member.data)
    context:print_json(fields, { "event", "id", "data", "data_base64" })
  else
    context:write(("%s%s\t%s\n"):format(kind and kind .. "\t" or "", clean(member.id), format.line(member.data)))
  end
end

local list = { "list", "Print the id and the data of each member, in order of joining. Status 1: there is none." }

function list.define(parser)
  arguments.path(parser, "The group.")
  arguments.json(parser, "Print a JSON object for each.")
end

function list.run(context, given)
  local group = group_of(context, given)
  context:check(given.path, group:ready(context.settings.timeout))
  local members = group:members()
  for _, member in ipairs(members) do show(context, given, member) end
  return #members == 0 and exit.NO or exit.OK
end

local watch = { "watch", "Print the members, and then a line for each that joins, changes or leaves; until Ctrl-C." }

function watch.define(parser)
  arguments.path(parser, "The group.")
  arguments.json(parser, "Print a JSON object for each.")
end

function watch.run(context, given)
  local changes = context:check(given.path, group_of(context, given):changes())
  context:tell_outages()
  while true do
    local change = context:check(given.path, changes:next())
    show(context, given, change, change.kind)
    context:flush()
  end
end

local PARTS = { join, list, watch }

function M.define(parser)
  parser:description "A member stays as long as its session: it vanishes when its process dies."
  parts.define(parser, PARTS)
end

function M.run(context, given) return parts.run(context, given, PARTS) end

return M
