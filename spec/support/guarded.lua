-- A process with a guarded session. It ends or continues as the lines on its standard input say. Its ephemeral znode is "/e". It answers
-- every line with one, if it lives.

local process = require "spec_fork"
local zk = require "zkrecipes"

local hosts, namespace, timeout = arg[1], arg[2], tonumber(arg[3])
local notes = {}
local session, lock
local commands = {}

function commands.ready() return "ready" end

function commands.open(other)
  session = zk.session { hosts = hosts, namespace = namespace, timeout = tonumber(other) or timeout, tick = 0.5, guardian = true,
    request_timeout = 100, log = function(level, text)
      local late = text:find("did not answer", 1, true) -- a busy machine
      if level == "warning" and not late then notes[#notes + 1] = text end
    end }
  lock = session:lock("/l")
  return "opened"
end

-- Actions after the module is loaded: change the folder, close all descriptors, or open the session only when told to.
local folder = os.getenv("GUARDED_IN")
if folder then process.chdir(folder) end
if os.getenv("GUARDED_CLOSES") then process.close_from(3) end
if not os.getenv("GUARDED_WAITS") then commands.open() end

function commands.hold()
  return (assert(session:create("/e", "", { ephemeral = true, parents = true })))
end

function commands.acquire() return assert(lock:acquire(300)).path end

function commands.id()
  assert(session:sync("/"))
  return session.id
end

function commands.server() return session.server end

function commands.notes()
  assert(session:sync("/"))
  return #notes .. " " .. table.concat(notes, "; ")
end

function commands.childless() return tostring(process.childless()) end

-- A child that does nothing and lives until it is killed.
function commands.fork()
  local pid = process.fork()
  if pid == 0 then process.exec("sleep", "100") end
  return tostring(pid)
end

-- A child without exec, which has every descriptor of its parent.
function commands.copy()
  local pid = process.fork()
  if pid == 0 then
    os.execute("exec sleep 100")
    process.exit(0)
  end
  return tostring(pid)
end

-- A child with a guarded session of its own, like the worker of a master.
function commands.worker()
  local pid = process.fork()
  if pid == 0 then
    local own = zk.session { hosts = hosts, namespace = namespace, timeout = timeout, tick = 0.5, guardian = true }
    assert(own:create("/w", "", { ephemeral = true }))
    zk.sleep(100)
    process.exit(0)
  end
  return tostring(pid)
end

function commands.close(limit)
  local from = zk.now()
  session:close(tonumber(limit))
  return string.format("closed after %.3f s", zk.now() - from)
end

function commands.exit() os.exit(0) end
function commands.fail() error("an error that nobody catches") end
function commands.exec() process.exec("sleep", "100") end

function commands.close_from()
  process.close_from(3)
  return "all closed"
end

io.stdout:setvbuf("no")
for line in io.lines() do
  local word, rest = line:match("^(%S+) ?(.*)$")
  if word == "end" then
    break
  end
  print(commands[word](rest))
end
