-- Three candidates, of which one leads, and an observer. The leader's session is killed: the next one leads.
-- Run it, or run it twice at the same moment: lua5.4 examples/election.lua [hosts]

local zk = require "zkrecipes"

local PATH = "/zkrecipes-example-election"

-- A candidate with a session of its own, as if it were another process.
local function candidate(name)
  local session = zk.session { hosts = arg[1] or "127.0.0.1:2181", timeout = 20 }
  local election = session:election(PATH, { value = name })
  zk.spawn(function()
    election:lead(function(term)
      zk.sleep(0.1)                            -- what there is to do at the start
      term:ready()
      while term:sleep(0.1) do end             -- the work, until the term is over
    end)
  end)
  return session
end

zk.run(function()
  local session = zk.session { hosts = arg[1] or "127.0.0.1:2181", timeout = 20 }
  local election, candidates, deaths = session:election(PATH), {}, 0
  for i = 1, 3 do
    local name = ("candidate %d of %s"):format(i, tostring(candidates):match("%x+$"))
    candidates[name] = candidate(name)
  end

  for leader in election:observe() do
    if not leader then
      print("no leader")
      if deaths == 3 then break end
    else
      print(leader.value .. (leader.ready and " is ready" or " leads, token " .. leader.token))
      if leader.ready and candidates[leader.value] then
        candidates[leader.value]:close()       -- it dies; its function is stopped
        deaths = deaths + 1
      end
    end
  end

  session:delete(PATH) -- its directory; refused while others stand there
  session:close()
  print("the end")
end)
