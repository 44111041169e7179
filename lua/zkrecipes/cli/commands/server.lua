-- zkr server: ZooKeeper servers on this machine, for trying things. They end when zkr ends, however it ends.

local arguments = require "zkrecipes.cli.arguments"
local exit = require "zkrecipes.cli.exit"

local M = { name = "server", group = "Servers", summary = "Run ZooKeeper servers on this machine, for trying things." }

local MOST = 9

M.examples = [[
zkr server                  # prints HOSTS=127.0.0.1:PORT; Ctrl-C ends it
zkr server --members 3      # an ensemble of three
zkr -s 127.0.0.1:PORT ls /  # in another terminal
]]

function M.define(parser)
  parser:description("Run ZooKeeper servers on free ports of 127.0.0.1 until Ctrl-C. Their data are then removed. Needs Java and "
    .. "ZooKeeper's jars: on Debian the package libzookeeper-java.")
  parser:option("--members", "How many servers; 1 is no ensemble."):argname "N":default "1":convert(arguments.to_count)
  parser:option("--tick", "Their tickTime in milliseconds."):argname "MS":default "500":convert(arguments.to_count)
end

function M.run(context, given)
  if given.members < 1 or given.members > MOST then context:fail(exit.USAGE, ("--members: from 1 to %d"):format(MOST)) end
  local testing = require "zkrecipes.testing"
  local start = given.members > 1 and testing.ensemble or testing.start
  local servers = context:check(nil, start { tick_time = given.tick, members = given.members > 1 and given.members or nil })
  context:write("HOSTS=" .. servers.hosts .. "\n")
  context:flush()
  while true do context.zk.sleep(3600) end
end

return M
