-- A test of your own program against a real server: what does it do when its session expires?
-- Starts a server of its own, so it takes no hosts. Needs Java and Debian's libzookeeper-java.
-- Run it: lua5.4 examples/testing.lua

local zk = require "zkrecipes"
local testing = require "zkrecipes.testing"

-- The program under test: works under a lock until it is told to stop.
local function work(session, journal)
  local lock = session:lock("/job")
  local hold = assert(lock:acquire(60))
  hold:on_lost(function(_, why)
    table.insert(journal, why)
  end)
  table.insert(journal, "working")
  while hold:valid() do zk.sleep(0.01) end
  table.insert(journal, "stopped")
end

local server = assert(testing.start())
zk.run(function()
  local session, journal = zk.session { hosts = server.hosts, timeout = 20 }, {}
  local program = zk.spawn(work, session, journal)
  while #journal == 0 do zk.sleep(0.01) end

  local expired = session.id
  assert(testing.expire(server, expired))
  program:wait(60)
  while session.id == expired do zk.sleep(0.01) end
  assert(session:connected(60)) -- a new session, by itself

  table.sort(journal)
  assert(table.concat(journal, " ") == "lost stopped working", table.concat(journal, " "))
  print("passed: it was told of the loss and stopped")
end)
server:stop()
