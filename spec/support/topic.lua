-- A publisher or a subscriber of the topic "/t" in its namespace, which specs kill. Its first line of input says which:
--
--   publish ID          publishes the message ID with this id; prints "began", then the position
--   subscribe FILE      subscribes with the name "child", and adds "got POSITION DATA" and "acked POSITION" to the file; prints "began"

local zk = require "zkrecipes"

local session = zk.session { hosts = arg[1], namespace = arg[2], timeout = tonumber(arg[3]), tick = 0.5 }
local topic = session:topic "/t"

local what, argument = io.read("*l"):match "^(%S+) (%S+)$"

local function note(...)
  local file = assert(io.open(argument, "a"))
  file:write(("%s %.0f %s"):format(...), "\n")
  file:close()
end

io.stdout:setvbuf("no")
print("began")
if what == "publish" then
  print(assert(topic:publish(argument, { id = argument })))
else
  local subscription = assert(topic:subscribe { from = "start", name = "child" })
  for message in subscription do
    note("got", message.position, message.data)
    assert(subscription:ack(message.position))
    note("acked", message.position, "")
  end
end
