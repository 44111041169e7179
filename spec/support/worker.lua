-- A process that produces for, or consumes from, the queue "/jobs", and says every step on standard output, so that whoever kills it
-- knows how far it came: worker.lua HOSTS NAMESPACE put|claim NAME

local zk = require "zkrecipes"

local hosts, namespace, role, name = arg[1], arg[2], arg[3], arg[4]
local session = zk.session { hosts = hosts, namespace = namespace, timeout = 2 }
local queue = session:queue("/jobs", { attempts = 1000 })
io.stdout:setvbuf("no")

local function put()
  local i = 0
  repeat
    i = i + 1
    local data = name .. ":" .. i
    print("putting " .. data)
    if queue:put(data, { id = i % 2 == 0 and data or nil }) then print("put " .. data) end
  until i == 1000000
end

local function claim()
  while true do
    local item = queue:claim(5)
    if item then
      print("claimed " .. item.data)
      if item.data:find("[05]0$") then zk.sleep(0.1) end -- so that some die between claim and ack
      if item:ack() then print("acked " .. item.data) end
    end
  end
end

zk.run(role == "put" and put or function()
  for _ = 1, 4 do zk.spawn(claim) end
end)
