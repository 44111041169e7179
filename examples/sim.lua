-- A test of your own program in virtual time: when a job loses its session, has it stopped before another takes over?
-- Needs no server, and runs for an hour of virtual time in each world, in milliseconds.
-- Run it: lua5.4 examples/sim.lua

local sim = require "zkrecipes.sim"

-- The program under test. In production `zk` is require "zkrecipes". Works once a minute while it holds the lock.
local function job(zk, name, journal)
  local function note(what) table.insert(journal, { at = zk.now(), name = name, what = what }) end
  local lock = zk.session { hosts = "zk1:2181,zk2:2181", timeout = 10 }:lock("/jobs/report")
  while true do
    lock:with(function(hold)
      note "begins"
      while hold:valid() do
        note "works"
        hold:lost(60) -- a minute's sleep that ends early when the hold is lost
      end
      note "stops"
    end)
    zk.sleep(1)
  end
end

-- Runs the job in two processes for an hour; `befall(world, holder)` happens at half past.
local function an_hour(seed, befall)
  local world, journal = sim.new { seed = seed }, {}
  world:run(function()
    local processes, tasks = { a = world:process(), b = world:process() }, {}
    for _, name in ipairs { "a", "b" } do
      table.insert(tasks, processes[name].spawn(job, processes[name], name, journal))
    end
    world:advance(1800)
    befall(world, processes[journal[1].name])
    world:advance(1800)
    for _, task in ipairs(tasks) do task:cancel() end
  end)
  return journal
end

-- Gives when the first one stopped, and when the other one began; asserts that the work went on.
local function hand_over(journal)
  local first, stopped, begun, works = journal[1].name, nil, nil, 0
  for _, entry in ipairs(journal) do
    if entry.what == "works" then
      works = works + 1
      assert(entry.name ~= first or not begun, "the first one worked after the other one had begun")
    end
    if entry.name == first and entry.what == "stops" then stopped = stopped or entry.at end
    if entry.name ~= first and entry.what == "begins" then begun = begun or entry.at end
  end
  assert(stopped and begun, "the job did not change hands")
  assert(works >= 59 and works <= 62, works .. " minutes of work in an hour")
  return stopped, begun
end

for seed = 1, 20 do
  -- Cut off from the servers: the hold is over here before another one can have it there.
  local stopped, begun = hand_over(an_hour(seed, function(world, holder) world:partition(holder) end))
  assert(stopped < begun, "two at once")

  -- Ended from outside: the holder learns of it from its client, and then stops at once.
  stopped, begun = hand_over(an_hour(seed, function(world, holder) world:expire(holder) end))
  assert(math.abs(stopped - begun) < 0.1, "it was told too late")
end
print "passed: a job changes hands in 40 worlds, 40 hours of virtual time"
