-- zkr server: ZooKeeper servers on this machine, for trying things. They end when zkr ends, however it ends.

local arguments = require "zkrecipes.cli.arguments"
local exit = require "zkrecipes.cli.exit"

local M = { name = "server", group = "Servers", summary = "Run ZooKeeper servers on this machine, for trying things." }

local MOST = 9
local LAST_PORT = 65535

M.examples = [[
zkr server --port 2181      # prints HOSTS=127.0.0.1:2181; Ctrl-C ends it
zkr server --members 3      # an ensemble of three
zkr -s 127.0.0.1:PORT ls /  # in another terminal
]]

function M.define(parser)
  parser:description("Run ZooKeeper servers on 127.0.0.1 until Ctrl-C. Their data are then removed. Needs Java and "
    .. "ZooKeeper's jars: Debian's packages default-jre-headless, libzookeeper-java and libslf4j-java.")
  parser:option("--port", "The port, if there is one server; default: a free one."):argname "N":convert(arguments.to_count)
  parser:option("--members", "How many servers; 1 is no ensemble."):argname "N":default "1":convert(arguments.to_count)
  parser:option("--tick", "Their tickTime in milliseconds."):argname "MS":default "500":convert(arguments.to_count)
end

local function check(context, given)
  if given.members < 1 or given.members > MOST then context:fail(exit.USAGE, ("--members: from 1 to %d"):format(MOST)) end
  if given.tick < 1 then context:fail(exit.USAGE, "--tick is at least 1") end
  if not given.port then return end
  if given.members > 1 then context:fail(exit.USAGE, "--port is for one server; omit --members") end
  if given.port < 1 or given.port > LAST_PORT then context:fail(exit.USAGE, ("--port: from 1 to %d"):format(LAST_PORT)) end
end

function M.run(context, given)
  check(context, given)
  local testing = require "zkrecipes.testing"
  local several = given.members > 1
  local servers = context:check(nil, (several and testing.ensemble or testing.start) { tick_time = given.tick, port = given.port,
    members = several and given.members or nil })
  context:write("HOSTS=" .. servers.hosts .. "\n")
  context:flush()
  while true do context.zk.sleep(3600) end
end

return M
