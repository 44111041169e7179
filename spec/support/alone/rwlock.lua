-- A read/write lock on a real server leaves nothing: no znode, no memory.

local env = require "spec.support.env"

local namespace = env.namespace()

local function everything()
  local session = env.session { namespace = namespace }
  local rw = session:rwlock("/rw", { data = "x" })
  local hold = assert(rw:read())
  env.late(session:rwlock("/rw"):write(0.001))
  env.fails("timeout", session:rwlock("/rw"):write(0))
  assert(rw:contenders())
  hold:release()
  hold = assert(rw:write())
  local wait = env.start(rw.read, rw)
  env.queue_of(session, "/rw", 2)
  hold:downgrade()
  hold:release()
  wait():release()
  rw:reader():with(function() end)
  env.queue_of(session, "/rw", 0)
  session:close()
end

env.run(function() env.leaves_no_block(everything) end)()
