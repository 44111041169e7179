-- A lock that its holder can be asked for, one that may be acquired again, and one that many coroutines share.
-- lua5.4 examples/lock_ways.lua [hosts]

local zk = require "zkrecipes"

zk.run(function()
  local session = zk.session { hosts = arg[1] or "127.0.0.1:2181", timeout = 20 }

  -- Revocable: a long job lets go when somebody asks.
  local asked = false
  local polite = session:lock("/zkrecipes-example-polite", { on_request = function() asked = true end })
  local hold = assert(polite:acquire(30))
  assert(session:lock("/zkrecipes-example-polite"):request())
  while not asked do zk.sleep(0.01) end
  hold:release()
  print("asked, and let go")

  -- Reentrant: a function that locks calls another one that locks.
  local again = session:lock("/zkrecipes-example-again", { reentrant = true })
  local function inner() return again:with(30, function() return "inside twice" end) end
  print(again:with(30, inner))

  -- Cohort: many coroutines, one znode.
  local shared, turns = session:lock("/zkrecipes-example-shared", { cohort = true }), 0
  local function worker() shared:with(30, function() turns = turns + 1 end) end
  zk.all { worker, worker, worker, worker, worker }
  print("turns: " .. turns)

  for _, name in ipairs { "polite", "again", "shared" } do session:delete("/zkrecipes-example-" .. name) end
  session:close()
end)
