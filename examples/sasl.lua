-- A session with SASL, on a test server with two users: what one user has created, the other one cannot read.
-- lua5.4 examples/sasl.lua

local testing = require "zkrecipes.testing"
local zk = require "zkrecipes"

local passwords = { ann = "a long random password", bob = "another one" }
local server = assert(testing.start { sasl = passwords })

local function session_of(user)
  local session = zk.session {
    hosts = server.hosts,
    sasl = { mechanism = "DIGEST-MD5", user = user, password = function() return passwords[user] end },
  }
  assert(session:connected(300))
  return session
end

zk.run(function()
  local ann, bob = session_of "ann", session_of "bob"
  assert(ann:create("/letter", "for nobody else", { acl = "creator" }))
  print((assert(ann:get("/letter"))))
  print(select(3, bob:get("/letter"))) -- no_auth

  passwords.bob = "a wrong one"
  local stranger = zk.session { hosts = server.hosts, sasl = { mechanism = "DIGEST-MD5", user = "bob", password = passwords.bob } }
  local _, message, code = stranger:connected(300)
  print(code, message:match("the server refused user 'bob'"))
  ann:close()
  bob:close()
end)

server:stop()
