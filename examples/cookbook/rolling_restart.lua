-- A rolling restart: start this on all machines at the same time, and only one of them restarts at any moment. A machine keeps its permit
-- until it is healthy again. So a bad release stops at the first machine, until an operator ends this program there.
-- lua5.4 rolling_restart.lua HOSTS 'systemctl restart app' 'curl -fs localhost:8080/health'

local zk = require "zkrecipes"

local hosts, restart, check = arg[1], arg[2], arg[3]

local function succeeds(command)
  local status = os.execute(command)
  return status == true or status == 0 -- Lua 5.1 returns the number
end

zk.run(function()
  local session = zk.session { hosts = hosts, timeout = 30 }
  local permits = session:semaphore("/cookbook/restart", 1) -- 3: three machines at a time

  local hold = assert(permits:acquire(3600))
  assert(succeeds(restart), "the restart failed")
  while not succeeds(check) do zk.sleep(1) end
  hold:release()
  session:close()
end)
