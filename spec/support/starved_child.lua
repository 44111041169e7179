-- A process in which one allocation of OpenSSL after the other fails: `lua starved_child.lua HOSTS CA CERT KEY STEP`. It opens a session,
-- uses it, and closes it; again with each STEP-th allocation, until that is not reached. It says how many there are.

local starve = require "spec_starve"
local zk = require "zkrecipes"

local hosts, ca, cert, key, step = arg[1], arg[2], arg[3], arg[4], tonumber(arg[5])
local LARGE = ("x"):rep(200000)

-- The n-th allocation fails: of a connection, and then of a session that is in use.
local function round(n)
  starve(n)
  local session = zk.session { hosts = hosts, tls = { ca = ca, cert = cert, key = key }, timeout = 30 }
  assert(session:connected(100))
  local reached = starve(n)
  for _ = 1, 3 do
    local stat, message, code = session:set("/", LARGE, nil, { timeout = 100 })
    assert(stat or code == "connection_loss", message)
  end
  starve(0)
  assert(session:get("/", { timeout = 300 }))
  assert(session:close(300))
  return reached
end

zk.run(function()
  round(0) -- OpenSSL initializes itself once; if that fails, the process cannot use it any more
  local n = 1
  while round(n) do n = n + step end
  print("all of " .. n)
end)
