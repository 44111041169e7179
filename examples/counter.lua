-- Eight workers count together; none of their additions is lost. Then one of two resets the counter.
-- lua5.4 examples/counter.lua [hosts]

local zk = require "zkrecipes"

local PATH = "/zkrecipes-example-counter"

zk.run(function()
  local sessions = {}
  for i = 1, 2 do sessions[i] = zk.session { hosts = arg[1] or "127.0.0.1:2181", timeout = 20 } end

  local function worker(number)
    local counter = sessions[number % 2 + 1]:counter(PATH)
    return function()
      for _ = 1, 5 do assert(counter:add(1)) end
    end
  end

  local workers = {}
  for number = 1, 8 do workers[number] = worker(number) end
  zk.all(workers)
  print("together: " .. assert(sessions[1]:counter(PATH):add(0)))

  for number = 1, 2 do
    local set, current = sessions[number]:counter(PATH):compare_and_set(40, 0)
    print(set and "reset" or "too late, it has " .. current)
  end

  assert(sessions[1]:delete_tree(PATH))
  for number = 1, 2 do sessions[number]:close() end
end)
