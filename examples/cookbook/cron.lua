-- A job on one machine of all. Start it on every machine; when the leader dies, another machine goes on with the next beat.
-- lua5.4 cron.lua HOSTS [SECONDS | "CRON EXPRESSION"]

local zk = require "zkrecipes"

local times = arg[2] or "60"

zk.run(function()
  local session = zk.session { hosts = arg[1], timeout = 10, guardian = true, log = function(level, text) print(level, text) end }
  session:create("/cookbook/cron-done", "", { parents = true }) -- unless it is there
  local election = session:election("/cookbook/cron")

  local function job(term, beat)
    print(("beat %.1f, the last run %s"):format(beat.due, beat.last and beat.last.outcome or "is unknown"))
    io.stdout:flush()
    -- The work. It is stopped at its next wait if the term is lost. The server refuses this write if it comes too late:
    assert(term:set("/cookbook/cron-done", ("%.1f"):format(beat.due)))
  end

  if tonumber(times) then
    election:every(tonumber(times), job, { remember = true })
  else
    election:cron(times, job) -- for example "0 3 * * *", in UTC; it always remembers
  end
end)
