-- A process is killed while it holds a lock; with a guardian the next one holds it at once, although the session
-- timeout is long.
-- Run it: lua5.4 examples/guardian.lua [hosts]

local zk = require "zkrecipes"

local HOSTS, ROLE = arg[1] or "127.0.0.1:2181", arg[2]
local LOCK = "/zkrecipes-example-guardian"

local function open(guardian)
  return zk.session { hosts = HOSTS, timeout = 10, guardian = guardian }
end

-- The other process: takes the lock, says so, and is killed.
local function victim()
  local hold = assert(open(true):lock(LOCK):acquire(30))
  io.stdout:write(io.open("/proc/self/stat"):read("*n"), "\n")
  io.stdout:flush()
  zk.sleep(60) -- much longer than it has
  hold:release()
end

local function witness()
  local program = io.popen(string.format("exec %s %s '%s' victim", arg[-1], arg[0], HOSTS))
  local pid = program:read("*n")
  local session = open()
  local lock = session:lock(LOCK)
  print("held by process " .. pid .. ": " .. select(3, lock:acquire(0)))

  local waiting = zk.spawn(function() return assert(lock:acquire(30)) end)
  while #assert(lock:contenders()) < 2 do zk.sleep(0.01) end
  local from = zk.now()
  os.execute("kill -9 " .. pid)
  local hold = assert(waiting:wait())
  print(string.format("the next holder, %.3f s after kill -9", zk.now() - from))
  hold:release()
  program:close()
  session:delete_tree(LOCK)
  session:close()
end

zk.run(ROLE == "victim" and victim or witness)
