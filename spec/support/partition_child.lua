-- A member of the partitioner "/app" in its namespace (see partitioned.lua), which a spec kills. Its first line of input is "live FILE".
-- It prints "began" and joins. When it has handed a part over to another member, it leaves, closes its session, and adds "left" to the
-- file. It also adds what must not happen. If it is killed, a guardian ends its session.

local partitioned = require "spec.support.partitioned"
local zk = require "zkrecipes"

local name = io.read("*l"):match "^live (%S+)$"

local function note(text)
  local file = assert(io.open(name, "a"))
  file:write(text, "\n")
  file:close()
end

io.stdout:setvbuf("no")
print("began")
zk.run(function()
  local session = zk.session { hosts = arg[1], namespace = arg[2], timeout = tonumber(arg[3]), tick = 0.5, guardian = true }
  local member = partitioned.join(session, "child", 0.1, note)
  for change in member:changes() do
    if change.why == "moved" then break end
  end
  assert(member:close())
  session:close()
end)
note("left")
