-- A session whose connection may break in add_auth: `lua auth_child.lua HOSTS`. It must go on.

local zk = require "zkrecipes"

zk.run(function()
  local session = zk.session { hosts = arg[1], timeout = 100, log = function() end }
  assert(session:connected(200))
  local added, _, code = session:add_auth("digest", "ann:secret") -- again, after the loss
  print("added: " .. tostring(added or code))
  for _ = 1, 3 do assert(session:exists("/")) end
  assert(session:add_auth("digest", "bob:secret"))
  session:close(200)
  print "closed"
end)
