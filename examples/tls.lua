-- A session with TLS, on a test server with certificates of its own: what is sent, nobody on the way can read.
-- lua5.4 examples/tls.lua

local testing = require "zkrecipes.testing"
local zk = require "zkrecipes"

local server = assert(testing.start { tls = true })

zk.run(function()
  local session = zk.session {
    hosts = server.hosts,
    tls = { ca = server.tls.ca, cert = server.tls.cert, key = server.tls.key },
  }
  assert(session:connected(300))
  assert(session:create("/letter", "for nobody else"))
  print((assert(session:get("/letter"))))
  session:close()

  -- Without the CA the server could be anybody, so the session does not connect, and says why.
  local careless = zk.session { hosts = server.hosts, tls = true }
  local reason
  repeat
    local _, message = careless:connected(1)
    reason = message:match "its certificate is not from a CA that the session trusts"
  until reason
  print(reason)
  careless:close(0)
end)

server:stop()
