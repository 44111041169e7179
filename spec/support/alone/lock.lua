-- A lock on a real server leaves nothing: no znode, no memory.

local env = require "spec.support.env"

local namespace = env.namespace()

local function everything()
  local session = env.session { namespace = namespace }
  local lock = session:lock("/l", { data = "x" })
  local hold = assert(lock:acquire())
  env.late(lock:acquire(0.001))
  env.fails("timeout", lock:acquire(0))
  assert(lock:contenders())
  hold:release()
  lock:with(function() end)
  env.queue_of(session, "/l", 0)
  session:close()
end

env.run(function() env.leaves_no_block(everything) end)()
