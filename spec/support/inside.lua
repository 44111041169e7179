-- A process that is a member of the double barrier "/b", to be killed inside it. It obeys lines on standard input: "enter N", "leave",
-- "end". It answers each line with one.

local zk = require "zkrecipes"

local hosts, namespace, timeout = arg[1], arg[2], tonumber(arg[3])
local session = zk.session { hosts = hosts, namespace = namespace, timeout = timeout, tick = 0.5 }
local barrier

local commands = {}

function commands.enter(size)
  barrier = session:double_barrier("/b", tonumber(size))
  local ok, message = barrier:enter(200)
  return ok and "entered" or message
end

function commands.leave()
  local ok, dead = barrier:leave(200)
  return ok and "left, dead: " .. tostring(dead) or dead
end

io.stdout:setvbuf("no")
for line in io.lines() do
  local word, rest = line:match("^(%S+) ?(.*)$")
  if word == "end" then break end
  print(commands[word](rest))
end
session:close()
