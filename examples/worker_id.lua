-- Workers with numbers of their own, over any number of processes, and ids that are unique among all of them.
-- Run it, or run it twice at the same moment: lua5.4 examples/worker_id.lua [hosts]

local zk = require "zkrecipes"

local WORKERS, IDS = "/zkrecipes-example-workers", "/zkrecipes-example-ids"

zk.run(function()
  local session = zk.session { hosts = arg[1] or "127.0.0.1:2181", timeout = 20 }
  local numbers = assert(session:worker_id(WORKERS, 2))

  local jobs = {}
  for job = 1, 4 do -- two run at a time, and the others wait
    jobs[job] = zk.spawn(function()
      assert(numbers:with(30, function(hold)
        print(("job %d runs as worker %d"):format(job, hold.number))
        zk.sleep(0.1)
      end))
    end)
  end
  for _, job in ipairs(jobs) do job:wait() end

  local ids = assert(session:snowflake(IDS):acquire(30))
  local first, second = assert(ids:next()), assert(ids:next())
  print("ids: " .. first .. ", " .. second)
  print("in order: " .. tostring(first < second))
  ids:release()
  session:delete_tree(IDS) -- only in an example: it keeps which ids were given
  for number = 0, 1 do session:await_gone(WORKERS .. "/" .. number, 5) end
  for _, name in ipairs { "/queue", "" } do session:delete(WORKERS .. name) end -- refused while others are there
  session:close()
end)
