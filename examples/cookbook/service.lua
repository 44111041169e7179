-- A service that registers itself, for the load balancer of docs/openresty.md or for registry:pick in another program. Its znode vanishes
-- when it stops, and comes back by itself after an outage.
-- lua5.4 service.lua HOSTS NAME ADDRESS PORT

local zk = require "zkrecipes"

zk.run(function()
  local session = zk.session { hosts = arg[1], timeout = 10, guardian = true }
  local registry = session:registry("/services")
  local registered = assert(registry:register(arg[2], { address = arg[3], port = tonumber(arg[4]) }))
  assert(registered:ready(30))
  print("registered")
  io.stdout:flush()

  while true do zk.sleep(3600) end -- the service; SIGTERM ends it, and with the session its znode
end)
