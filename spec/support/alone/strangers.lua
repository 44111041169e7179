-- A session meets thousands of foreign znodes that come and go, and keeps nothing of them.

local env = require "spec.support.env"
local sim = require "zkrecipes.sim"

local FORGOTTEN = 25 -- seconds: after these a session knows nothing of a stranger that it has not met again

local world = sim.new { seed = 1, servers = 1, jitter = 0 }

world:run(function()
  local session, other = world:session(), world:session()
  local lock, number = session:lock "/l", 0
  local function thousand()
    for _ = 1, 1000 do
      number = number + 1
      local path = ("/l/x%05d-lock-0000000000"):format(number)
      assert(other:create(path, "", { parents = true }))
      for limit = 0, 10, 10 do assert(lock:acquire(limit)):release() end
      assert(other:delete(path))
    end
    world:advance(FORGOTTEN)
    local usage = session:usage()
    assert(usage.watches == 0 and usage.watched_bytes == 0 and world:watches() == 0)
  end
  thousand()
  env.leaves_nothing(thousand)
  env.leaves_nothing(thousand)
end)
