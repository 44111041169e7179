-- A process that holds a lock and obeys lines on standard input: "acquire", "valid", "write VALUE", "release", "end". It answers every line
-- with one.

local zk = require "zkrecipes"

local hosts, namespace, timeout = arg[1], arg[2], tonumber(arg[3])
local session = zk.session { hosts = hosts, namespace = namespace, timeout = timeout, tick = 0.5 }
local lock = session:lock("/l")
local hold

local commands = {}

function commands.acquire()
  local message
  hold, message = lock:acquire(300)
  return hold and "token " .. hold.token or message
end

function commands.valid()
  return tostring(hold:valid())
end

function commands.write(value)
  local stat, _, code = hold:set("/register", value)
  return stat and "written" or code
end

function commands.release()
  hold:release()
  return "released"
end

io.stdout:setvbuf("no")
for line in io.lines() do
  local word, rest = line:match("^(%S+) ?(.*)$")
  if word == "end" then
    break
  end
  print(commands[word](rest))
end
session:close()
