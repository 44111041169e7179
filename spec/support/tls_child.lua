-- A process with a TLS session: `lua tls_child.lua HOSTS CA HOW`. It reads a znode ten times, says "well", and ends as HOW says: "close",
-- or "exit" in the middle of many requests. If HOW is "trouble", it says what the session's trouble is, and ends.

local zk = require "zkrecipes"

local hosts, ca, how = arg[1], arg[2], arg[3]

zk.run(function()
  local session = zk.session { hosts = hosts, tls = { ca = ca }, timeout = 100 }
  if how == "trouble" then
    local limit = zk.now() + 300
    local function knows() return session.trouble and not session.trouble:find("did not answer", 1, true) end
    while not knows() and zk.now() < limit do zk.sleep(0.01) end
    print(session.trouble or "no trouble")
    return session:close(0)
  end
  assert(session:connected(300))
  for _ = 1, 10 do assert(session:exists("/")) end
  print("well")
  io.stdout:flush()
  if how == "exit" then
    local answers = 0
    for _ = 1, 500 do
      zk.spawn(function()
        while session:exists("/") do answers = answers + 1 end
      end)
    end
    while answers < 600 do zk.sleep(0) end
    os.exit(0)
  end
  session:close()
end)
