-- A job that only one process may do at a time.
-- Run it, or run it twice at the same moment: lua5.4 examples/lock.lua [hosts]

local zk = require "zkrecipes"

zk.run(function()
  local session = zk.session { hosts = arg[1] or "127.0.0.1:2181", timeout = 20 }
  local lock = session:lock("/zkrecipes-example-lock", { data = "the example" })

  for _, who in ipairs(assert(lock:contenders())) do
    print(who.holding and "held by" or "waiting:", who.data, "token " .. who.token)
  end

  local hold = assert(lock:acquire(30))
  print("acquired, token " .. hold.token)
  hold:on_lost(function() print("lost it: stop the work") end)

  -- The work. A write through the hold is refused by the server when the lock is not ours any more.
  assert(hold:create("/zkrecipes-example-lock-report", "", { ephemeral = true }))
  for step = 1, 3 do
    if not hold:valid() then break end
    assert(hold:set("/zkrecipes-example-lock-report", "step " .. step))
    zk.sleep(0.1)
    print("step " .. step)
  end
  assert(hold:delete("/zkrecipes-example-lock-report"))

  hold:release()
  print("released")
  session:delete("/zkrecipes-example-lock") -- its directory; refused while others wait there
  session:close()
end)
