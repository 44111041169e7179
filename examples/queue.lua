-- A queue of jobs with two workers; one job fails until it is a dead letter.
-- Run it, or several at once: lua5.4 examples/queue.lua [hosts]

local zk = require "zkrecipes"

zk.run(function()
  local session = zk.session { hosts = arg[1] or "127.0.0.1:2181", timeout = 20 }
  local path = "/zkrecipes-example-queue-" .. os.time()
  local queue = session:queue(path, { capacity = 1000, attempts = 2, prefetch = 5 })

  assert(queue:put_all { "one", "two", "three" })
  assert(queue:put("urgent", { priority = 0, id = "urgent-1" }))
  assert(queue:put("urgent", { id = "urgent-1" })) -- the id is known: nothing happens
  assert(queue:put("broken", { priority = 9 }))
  assert(queue:put("later", { delay = 0.2 }))
  print("queued: " .. queue:size())

  local function work()
    repeat
      local item = queue:claim(1)
      if item and item.data == "broken" then item:nack() elseif item then item:ack() end
    until (queue:size() or 0) == 0
  end
  zk.all { work, work }

  assert(queue:put_all { "four", "five" })
  print("acked together: " .. queue:ack_all { queue:claim(30), queue:claim(30) })

  for letter in queue:dead() do print("dead letter: " .. letter.data .. ", attempts: " .. letter.attempts) end
  print("left: " .. queue:size())
  session:delete_tree(path)
  session:close()
end)
