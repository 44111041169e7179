-- Without coroutines: outside of them the same calls just block. For scripts, cron jobs and the REPL.
-- Run it: lua5.4 examples/script.lua [hosts]

local zk = require "zkrecipes"

local ROOT = "/zkrecipes-example-script"

local session = zk.session { hosts = arg[1] or "127.0.0.1:2181", timeout = 20, request_timeout = 20 }
assert(session:connected(60))

-- Only one process at a time; a lock with a limit of 0 is only tried.
local count, message, code = session:lock(ROOT .. "/lock"):with(0, function(hold)
  local data = session:get(ROOT .. "/runs")
  local runs = (tonumber(data) or 0) + 1
  if data then
    assert(hold:set(ROOT .. "/runs", tostring(runs)))
  else
    assert(hold:create(ROOT .. "/runs", tostring(runs)))
  end
  print("run number " .. runs)
  assert(hold:delete(ROOT .. "/runs")) -- a real script would leave it there
  return runs
end)

if not count then
  if code ~= "timeout" then error(message) end
  print("another one is at it: " .. message)
end

session:delete(ROOT .. "/lock") -- refused while somebody holds it
session:delete(ROOT)
session:close()
