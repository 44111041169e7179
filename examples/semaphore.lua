-- At most three of many jobs at a time, over any number of processes; a large one counts for two.
-- Run it, or run it twice at the same moment: lua5.4 examples/semaphore.lua [hosts]

local zk = require "zkrecipes"

zk.run(function()
  local session = zk.session { hosts = arg[1] or "127.0.0.1:2181", timeout = 20 }
  local slots = assert(session:semaphore("/zkrecipes-example-slots", 3))

  local jobs = {}
  for number, permits in ipairs { 1, 2, 1, 2, 1 } do
    jobs[number] = zk.spawn(function()
      local hold = assert(slots:acquire(30, permits))
      print(("job %d runs, with %d of the permits"):format(number, hold.permits))
      zk.sleep(0.1)
      hold:release()
    end)
  end
  for _, job in ipairs(jobs) do job:wait() end

  local hold = slots:acquire(30, 3) -- waits while another process runs jobs
  print(hold and "all permits at once" or "others are at work")
  if hold then hold:release() end

  print(("%d permits are free now"):format(assert(slots:available())))
  session:delete("/zkrecipes-example-slots") -- its directory, with the limit; refused while others are there
  session:close()
end)
