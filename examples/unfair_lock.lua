-- Many workers that want the same lock, in no particular order: one znode, no queue.
-- Run it, or run it twice at the same moment: lua5.4 examples/unfair_lock.lua [hosts]

local zk = require "zkrecipes"

zk.run(function()
  local session = zk.session { hosts = arg[1] or "127.0.0.1:2181", timeout = 20 }
  local lock = session:lock("/zkrecipes-example-unfair", { fair = false, data = "the example" })
  local turns = 0

  local function worker()
    for _ = 1, 5 do
      lock:with(30, function() turns = turns + 1 end)
    end
  end

  zk.all { worker, worker, worker, worker }
  print("turns: " .. turns)
  session:close()
end)
