-- zkr ls: the names of a znode's children.

local arguments = require "zkrecipes.cli.arguments"
local clean = require "zkrecipes.cli.clean"
local format = require "zkrecipes.cli.format"
local pool = require "zkrecipes.cli.pool"
local znode = require "zkrecipes.cli.znode"

local M = { name = "ls", group = "Znodes", summary = "List the children of a znode." }

M.examples = [[
zkr ls /services
zkr ls -l /services         # with size, children, time and kind
zkr ls --json /services | jq -r .name
]]

function M.define(parser)
  arguments.path(parser, "The znode."):default "/"
  parser:flag("-l --long", "Show the size of the data, the number of children, the time of the last change, and what is ephemeral.")
  arguments.json(parser, "Print one JSON object per child.")
end

local function row(name, stat)
  return { stat.data_length, stat.num_children, format.time(stat.mtime / 1000), stat.ephemeral_owner and "e" or "-", name }
end

-- Calls fn(name, path, stat) for each child that is still there.
local function each(context, parent, names, fn)
  local session = context:session()
  local function path_of(name) return (parent == "/" and "" or parent) .. "/" .. name end
  local stats = pool(context.zk, names, function(name) return context:check(parent, session:exists(path_of(name))) end)
  for i, name in ipairs(names) do
    if stats[i] then fn(name, path_of(name), stats[i]) end
  end
end

function M.run(context, given)
  local names = context:check(given.path, context:session():children(given.path))
  table.sort(names)
  if given.json then
    each(context, given.path, names, function(name, path, stat)
      local fields = znode.fields(path, stat)
      fields.name = name
      context:print_json(fields, { "name", table.unpack(znode.KEYS) })
    end)
  elseif given.long then
    local rows = {}
    each(context, given.path, names, function(name, _, stat) rows[#rows + 1] = row(name, stat) end)
    context:write(format.columns(rows))
  else
    for _, name in ipairs(names) do context:write(clean(name) .. "\n") end
  end
end

return M
