-- zkr watch: prints a line for each change of a znode.

local arguments = require "zkrecipes.cli.arguments"

local M = { name = "watch", group = "Znodes", summary = "Print a line for each change of a znode, until Ctrl-C." }

M.examples = [[
zkr watch /conf/level
zkr watch /conf/level | while read -r event path; do zkr get "$path"; done
zkr watch --count 1 /maintenance && echo 'it was created, changed or deleted'
]]

function M.define(parser)
  parser:description "Print `created`, `changed`, `deleted` or `children`, and the path. Several changes at once may be one line."
  arguments.path(parser, "The znodes. They need not exist yet."):args "+"
  parser:option("--count", "End after N lines."):argname "N":convert(arguments.to_count)
  arguments.json(parser, "Print a JSON object for each change, with the time.")
end

local function show(context, given, event, path)
  if given.json then
    local seconds, microseconds = context.uv.gettimeofday()
    context:print_json({ event = event, time = seconds * 1000 + microseconds // 1000, path = path }, { "event", "time", "path" })
  else
    context:write(event .. " " .. path .. "\n")
  end
  context:flush()
end

function M.run(context, given)
  local session, left = context:session(), given.count or math.huge
  context:tell_outages()
  local function follow(path)
    local watch = context:check(path, session:watch(path))
    while left > 0 do
      local event = context:check(path, watch:wait())
      if left <= 0 then return end
      left = left - 1
      show(context, given, event, path)
    end
  end
  local followers = {}
  for i, path in ipairs(given.path) do
    followers[i] = function() follow(path) end
  end
  context.zk.any(followers)
end

return M
