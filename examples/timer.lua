-- Two processes with one timer. The leader dies in the middle of a run; the other one goes on with the next beat, and knows of it.
-- lua5.4 examples/timer.lua [hosts]

local zk = require "zkrecipes"

local PATH = "/zkrecipes-example-timer"

-- A process that may lead, with a session of its own.
local function process(name, work)
  local session = zk.session { hosts = arg[1] or "127.0.0.1:2181", timeout = 20 }
  local election = session:election(PATH, { value = name })
  local task = zk.spawn(function()
    election:every(0.5, function(term, beat)
      local last = beat.last
      print(("%s: beat %s, the last run %s"):format(name, beat.again and "again" or "new", last and last.outcome or "is unknown"))
      work(session, term, beat)
    end, { remember = true, recover = false })
  end)
  return session, election, task
end

zk.run(function()
  local runs = 0
  process("first", function(session)
    runs = runs + 1
    if runs == 3 then session:close() end -- it dies, and its function is stopped
    zk.sleep(0)
  end)
  while runs == 0 do zk.sleep(0.05) end      -- the first leads

  local done
  local session, election, task = process("second", function(_, _, beat) done = beat.last.outcome ~= "cut" end)
  repeat zk.sleep(0.05) until done
  election:stop()
  task:wait()
  session:delete(PATH)
  session:delete(PATH .. "-timer")
  session:close()
  print("the end")
end)
