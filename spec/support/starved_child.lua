-- A process in which one allocation of OpenSSL after the other fails: `lua starved_child.lua HOSTS CA CERT KEY`. It opens sessions, until
-- that allocation is not reached: with files, which take most of them, with some allocations; without files with many. Then it uses a
-- session. It says how many allocations a connection has.

local starve = require "spec_starve"
local zk = require "zkrecipes"

local hosts, ca, cert, key = arg[1], arg[2], arg[3], arg[4]
local FILES, NO_FILES = { ca = ca, cert = cert, key = key }, { verify = false }
local LARGE, USES = ("x"):rep(200000), 30

local function open(tls)
  local session = zk.session { hosts = hosts, tls = tls, timeout = 30 }
  assert(session:connected(100))
  return session
end

-- True if a connection has so many allocations.
local function connect(tls, n)
  starve(n)
  local session = open(tls)
  local reached = starve(0)
  assert(session:close(300))
  return reached
end

local function connect_all(tls, step)
  local n = 1
  while connect(tls, n) do n = n + step end
  return n
end

local function use(session, n)
  starve(n)
  local stat, message, code = session:set("/", LARGE, nil, { timeout = 100 })
  assert(stat or code == "connection_loss", message)
  starve(0)
  assert(session:get("/", { timeout = 300 }))
end

zk.run(function()
  connect(FILES, 0) -- OpenSSL initializes itself once; if that fails, the process cannot use it any more
  local all, without = connect_all(FILES, 97), connect_all(NO_FILES, 5)
  local session = open(FILES)
  for i = 1, USES do use(session, i) end
  session:close(300)
  print(("all of %d and %d"):format(all, without))
end)
