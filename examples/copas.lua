-- copas, 1 (Debian has it for LuaJIT and Lua 5.1) or 4. The loop of copas 1 never ends, so it is stepped here.
-- Two coroutines take turns in a lock, and meanwhile the loop does what else it has to do.
-- Run it: luajit examples/copas.lua [hosts]

local copas = require "copas" -- before socket, on Lua 5.1
local socket = require "socket"
local zk = require "zkrecipes".using "copas"

local PATH = "/zkrecipes-example-copas"

local function work(session, name)
  local lock = session:lock(PATH)
  for turn = 1, 2 do
    local hold = assert(lock:acquire(30))
    print(name .. ": turn " .. turn)
    zk.sleep(0.02) -- the work
    hold:release()
  end
end

local function main()
  local session = zk.session { hosts = arg[1] or "127.0.0.1:2181", timeout = 20 }
  zk.all { function() work(session, "one") end, function() work(session, "two") end }
  session:delete_tree(PATH)
  session:close()
end

-- A server of copas that answers meanwhile.
local server, answers, over = assert(socket.bind("127.0.0.1", 0)), 0, false
local _, port = server:getsockname()
copas.addserver(server, function(client)
  zk.sleep(0.01) -- a handler may wait for us; then it closes its socket by itself
  copas.send(client, "hello\n")
  client:close()
end, 0)

copas.addthread(function()
  local client = assert(socket.connect("127.0.0.1", port))
  client:settimeout(0)
  if copas.receive(client) == "hello" then answers = answers + 1 end
  client:close()
end)
copas.addthread(function()
  main()
  over = true
end)
while not over do copas.step() end
print("the loop has ended, it ticked: " .. tostring(answers == 1))
