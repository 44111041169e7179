-- One process of the demo: several coroutines that share one fair lock with all the other processes. dev/demo/main.lua starts it and reads
-- the journal: the standard output of all workers.
--
-- A line of the journal: time, worker, coroutine, what, and its details.

local zk = require "zkrecipes"

local hosts, namespace, timeout, number, coroutines, rounds = ...
timeout, coroutines, rounds = tonumber(timeout), tonumber(coroutines), tonumber(rounds)

io.stdout:setvbuf("line") -- one write per line: lines of several processes never mix

local function note(name, what, ...)
  print(table.concat({ string.format("%.6f", zk.now()), number, name, what, ... }, " "))
end

-- The work that only the holder may do: here, a guarded write of the register.
local function work(hold, name, seconds)
  local ok, message = hold:set("/register", hold.token)
  if not ok then note(name, "refused", message) end
  zk.sleep(seconds)
end

-- Waits for the lock. If the session is lost, the place in the queue is lost with it, so it acquires again.
local function acquire(lock)
  local hold, message, code = lock:acquire(300)
  while code == "lost" do
    hold, message, code = lock:acquire(300)
  end
  return hold, message
end

local function contend(lock, name)
  for round = 1, rounds do
    note(name, "waits")
    local hold, message = acquire(lock)
    if not hold then return note(name, "gives_up", message) end
    note(name, "holds", hold.token)
    -- The third worker takes very long once: then it is killed.
    local long = number == "3" and name == 1 and round == 2
    if long then note(name, "dawdles") end
    work(hold, name, long and 30 or 0.04 + 0.06 * math.random())
    note(name, hold:valid() and "releases" or "lost", hold.token)
    hold:release()
  end
end

math.randomseed(tonumber(number))
zk.run(function()
  local session = zk.session { hosts = hosts, timeout = timeout, tick = 0.5, namespace = namespace }
  assert(session:connected(60))
  local lock = session:lock("/lock", { data = "worker " .. number })
  local tasks = {}
  for name = 1, coroutines do
    tasks[name] = function() contend(lock, name) end
  end
  zk.all(tasks)
  session:close()
  note(0, "ends")
end)
