-- A loop of your own that polls sockets, with ZooKeeper in it: here a tiny server on luasocket's select, which
-- counts its requests in ZooKeeper. session:loop() says what to watch, how long to wait and what to call.
-- Needs luasocket (Debian: lua-socket). Run it: lua5.4 examples/loop.lua [hosts]

local socket = require "socket"
local zk = require "zkrecipes"

local session = zk.session { hosts = arg[1] or "127.0.0.1:2181", timeout = 20 }
local loop = session:loop()

-- What socket.select asks of everything that it watches.
local zookeeper = { getfd = function() return loop.fd() end, dirty = function() return false end }
local server = assert(socket.bind("127.0.0.1", 0))
local _, port = server:getsockname()
local path -- of the znode whose version counts the requests

-- Runs in a coroutine: it waits for ZooKeeper while the loop goes on.
local function serve(client)
  local line = client:receive("*l")
  local stat, message = session:set(path, line)
  client:send((stat and "request number " .. stat.version or message) .. "\n")
  client:close()
end

-- Two clients, so that there is something to do.
local function ask(word)
  local client = assert(socket.connect("127.0.0.1", port))
  client:send(word .. "\n")
  return client
end

local function main()
  path = assert(session:create("/zkrecipes-example-loop-", "", { ephemeral = true, sequential = true }))
  local one, other = ask("hello"), ask("world")
  while assert(session:exists(path)).version < 2 do zk.sleep(0.01) end -- until both are served
  print((one:receive("*l")))
  print((other:receive("*l")))
  session:close() -- and with it the znode goes
end

local result
zk.spawn(function() result = { zk.pcall(main) } end)

-- The loop. dispatch() resumes the coroutines whose answers have come or whose time is over.
while not result do
  local readable = socket.select({ server, zookeeper }, nil, loop.timeout())
  if readable[server] then zk.spawn(serve, assert(server:accept())) end
  loop.dispatch()
end
server:close()
assert(result[1], result[2])
print("the loop has ended")
