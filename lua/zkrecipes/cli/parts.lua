-- A command of several parts, for example `zkr queue put`. Each part: { name, description, define(parser), run(context, given) }.

local output = require "zkrecipes.cli.output"

local M = {}

function M.define(parser, parts)
  parser:command_target "part"
  for _, part in ipairs(parts) do part.define(output.help(parser:command(part[1], part[2]))) end
end

function M.run(context, given, parts)
  for _, part in ipairs(parts) do
    if part[1] == given.part then return part.run(context, given) end
  end
end

return M
