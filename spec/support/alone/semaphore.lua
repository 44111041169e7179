-- A semaphore on a real server gives all memory back.

local env = require "spec.support.env"

local function everything()
  local namespace = env.namespace()
  local session, other = env.session { namespace = namespace }, env.session { namespace = namespace }
  local hold = assert(session:semaphore("/p", 2):acquire(200, 2))
  local first = env.start(function(sem) assert(sem:acquire(200, 2)):release() end, other:semaphore("/p"))
  env.queue_of(session, "/p", 2)
  local quitter = other:semaphore("/p")
  local second = env.start(function(sem) env.fails("canceled", sem:acquire()) end, quitter)
  env.queue_of(session, "/p", 3)
  quitter:cancel()
  second()
  hold:release()
  first()
  assert(session:semaphore("/p"):resize(1))
  env.queue_of(session, "/p", 0)
  session:close()
  other:close()
end

env.run(function() env.leaves_no_block(everything) end)()
