-- Workers on a queue. Start as many as you like, on any machine. A job whose worker dies comes back; a job that fails five times is a dead
-- letter. Put jobs with `zkr queue put /cookbook/jobs`, or with queue:put.
-- lua5.4 workers.lua HOSTS [COROUTINES]

local zk = require "zkrecipes"

local function do_job(item)
  print(("did %s, attempt %d"):format(item.data, item.attempts))
  io.stdout:flush()
end

zk.run(function()
  local session = zk.session { hosts = arg[1], timeout = 10, guardian = true }
  local queue = session:queue("/cookbook/jobs", { attempts = 5 })

  local function work()
    while true do
      local item, message = queue:claim()
      if not item then
        print(message)
        zk.sleep(1) -- the session was lost, and a new one opens
      else
        local done, problem = zk.pcall(do_job, item)
        if not done then print(problem) end
        if done then item:ack() else item:nack(10) end -- again in ten seconds
      end
    end
  end

  for _ = 2, tonumber(arg[2]) or 4 do zk.spawn(work) end
  work() -- until SIGTERM: the claimed jobs go back at once
end)
