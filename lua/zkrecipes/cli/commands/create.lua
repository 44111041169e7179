-- zkr create: makes a znode, and prints its path.

local acls = require "zkrecipes.cli.acl"
local arguments = require "zkrecipes.cli.arguments"
local exit = require "zkrecipes.cli.exit"
local input = require "zkrecipes.cli.input"

local M = { name = "create", group = "Znodes", summary = "Create a znode and print its path." }

M.examples = [[
zkr create -p /conf/app/level info
zkr create -s /jobs/job- <job.json -     # prints /jobs/job-0000000007
zkr create -e /workers/$(hostname)       # until Ctrl-C
zkr create --acl creator /secret
]]

function M.define(parser)
  arguments.path(parser, "The znode.")
  parser:argument("data", "The data; '-': standard input; omitted: none."):args "?"
  parser:flag("-e --ephemeral", "It exists until Ctrl-C or a lost session.")
  parser:flag("-s --sequential", "The server appends ten digits to the name.")
  parser:flag("-p --parents", "Create missing parents.")
  parser:mutex(parser:flag("-c --container", "The server deletes it after its last child."),
    parser:option("--ttl", "The server deletes it S seconds after the last change."):argname "S"
      :convert(arguments.to_seconds))
  parser:option("--acl", "As for `zkr acl`; one entry each time."):argname "ACL":count "*"
end

-- Waits until the znode is gone.
local function hold(context, path)
  local session = context:session()
  local _, message, code = session:await_gone(path)
  if code then context:check(path, nil, message, code) end
  context:fail(exit.LOST, path .. ": the znode was deleted by another client, or with a lost session")
end

function M.run(context, given)
  local acl, wrong
  if #given.acl > 0 then
    acl, wrong = acls.read(given.acl)
    if not acl then context:fail(exit.USAGE, wrong) end
  end
  local data = given.data
  if data == "-" then data = input.all(context) end
  local path, message, code = context:session():create(given.path, data, { ephemeral = given.ephemeral, sequential = given.sequential,
    container = given.container, ttl = given.ttl, parents = given.parents, acl = acl })
  if code == "no_node" then context:fail(exit.NO, given.path .. ": the parent does not exist; -p creates it") end
  context:check(given.path, path, message, code)
  context:write(path .. "\n")
  if not given.ephemeral then return end
  context:flush()
  hold(context, path)
end

return M
