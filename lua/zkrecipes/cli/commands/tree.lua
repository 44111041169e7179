-- zkr tree: draws a subtree.

local arguments = require "zkrecipes.cli.arguments"
local clean = require "zkrecipes.cli.clean"
local format = require "zkrecipes.cli.format"
local walk = require "zkrecipes.cli.walk"
local znode = require "zkrecipes.cli.znode"

local M = { name = "tree", group = "Znodes", summary = "Draw a znode and all znodes below it." }

M.examples = [[
zkr tree /services
zkr tree --depth 1 --sizes /
zkr tree --json / | jq -r 'select(.data_length > 100000).path'
]]

function M.define(parser)
  arguments.path(parser, "The znode."):default "/"
  parser:option("--depth", "Show only so many levels below it."):argname "N":convert(arguments.to_count)
  parser:flag("--sizes", "Show the size of the data of each znode.")
  arguments.json(parser, "Print one JSON object per znode.")
end

-- What stands in front of the names below this node.
local function indent_below(node)
  if node.depth == 0 then return "" end
  return indent_below(node.parent) .. (node.last and "    " or "│   ")
end

local function notes(node, sizes)
  if node.code then return "  (the ACL does not allow it)" end
  local found = { node.stat.ephemeral_owner and "ephemeral" }
  if sizes and node.stat.data_length > 0 then found[#found + 1] = format.size(node.stat.data_length) end
  return #found > 0 and "  (" .. table.concat(found, ", ") .. ")" or ""
end

local function draw(node, sizes)
  local lead = node.depth == 0 and "" or indent_below(node.parent) .. (node.last and "└── " or "├── ")
  return lead .. clean(node.name) .. notes(node, sizes) .. "\n"
end

function M.run(context, given)
  walk(context, given.path, { depth = given.depth }, function(node)
    if not given.json then
      context:write(draw(node, given.sizes))
    elseif node.stat then
      context:print_json(znode.fields(node.path, node.stat), znode.KEYS)
    end
  end)
end

return M
