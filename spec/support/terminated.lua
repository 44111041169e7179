-- A program that SIGTERM ends: arg[1] = hosts, arg[2] = namespace, arg[3] = what it does. Its first line is its pid.

local fork = require "spec_fork"
local tasks = require "zkrecipes.host.tasks"
local zk = require "zkrecipes"

local hosts, namespace, way = arg[1], arg[2], arg[3]

io.stdout:setvbuf("line")

local function tell_end()
  local _, why = zk.pcall(zk.sleep, 3600)
  print("cleans up: " .. tostring(why))
end

local ways = {}

function ways.waits() tell_end() end

function ways.never_waits() while true do zk.sleep(0) end end

function ways.hangs()
  tell_end()
  while true do end
end

-- The child ends by the signal; the parent continues.
function ways.forks()
  local pid = fork.fork()
  if pid == 0 then
    os.execute("kill -TERM $PPID; sleep 600")
    fork.exit(0)
  end
  print("child: " .. fork.wait(pid))
  tell_end()
end

-- The signal comes when zk.run closes the session.
function ways.closes()
  local spawn = tasks.spawn
  function tasks.spawn(host, options, ...)
    if options.daemon then
      tasks.spawn = spawn
      os.execute "kill -TERM $PPID"
    end
    return spawn(host, options, ...)
  end
end

zk.run(function()
  local session = zk.session { hosts = hosts, namespace = namespace, timeout = 120 }
  local hold = assert(session:lock("/l"):acquire())
  print(io.open("/proc/self/stat"):read("*n"))
  if way == "forks" or way == "closes" then
    ways[way]()
  else
    zk.spawn(ways[way] or tell_end)
    zk.sleep(3600)
  end
  assert(hold:valid()) -- the end of the session frees the lock, not the collector
end, { sigterm = way ~= "refuses" })
print "the program goes on"
