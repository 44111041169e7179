-- Three workers begin together, go on step by step together, and an operator stops and resumes them.
-- lua5.4 examples/barrier.lua [hosts]

local zk = require "zkrecipes"

local DIR = "/zkrecipes-example-barrier"

zk.run(function()
  local session = zk.session { hosts = arg[1] or "127.0.0.1:2181", timeout = 20 }
  local paused = session:barrier(DIR .. "/paused")
  local done = session:latch(DIR .. "/done", 3)
  local steps = 0

  local function worker()
    local barrier = session:cyclic_barrier(DIR .. "/step", 3)
    for _ = 1, 2 do
      assert(paused:wait())
      assert(barrier:wait(30))
      steps = steps + 1
    end
    assert(done:count_down())
  end

  assert(paused:close())
  for _ = 1, 3 do zk.spawn(worker) end
  print("closed: " .. steps .. " steps")
  assert(paused:open())
  assert(done:wait(30))
  print("opened: " .. steps .. " steps")

  assert(session:delete_tree(DIR))
  session:close()
end)
