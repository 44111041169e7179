-- A process that ends while its coroutines wait: arg: the loop's name, hosts, namespace.

local loop = require("spec.support.loops." .. arg[1])
local zk = require "zkrecipes".using(loop.adapter or arg[1])

local session, hold, ready
loop.start(function()
  session = assert(zk.session { hosts = arg[2], namespace = arg[3], timeout = 100 })
  assert(session:create("/left", "", { ephemeral = true }))
  zk.spawn(zk.sleep, 1000)
  zk.spawn(function() session:watch("/left"):wait() end)
  hold = assert(session:lock("/l"):acquire())
  ready = true
  session:lock("/l"):acquire(1000)
end)
loop.run(300, function() return ready end)
assert(ready and hold:valid(), "it was never ready")
print("left")
