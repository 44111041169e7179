-- The torture run: processes with many coroutines take locks on an ensemble of three real servers. Meanwhile the processes are killed,
-- paused and cut off, and so are the servers. See docs/proof.md.
--
--   [SECURE=1] lua dev/torture/main.lua SECONDS SEED WORKERS COROUTINES
--
-- 1. Start an ensemble, a proxy for every worker, and the workers; each writes a log (worker.lua).
-- 2. Cause faults at random times (chaos.lua), while the logs are read (workers.lua, journal.lua).
-- 3. When the faults are over, every worker must be granted something again. Then tell all to end.
-- 4. Check the journal (check.lua), the servers, where nothing may be left, and the processes.
--
-- What can go wrong with the run itself: we are interrupted or killed. Then the workers, proxies and servers end by themselves, because
-- each has a pipe that ends with us.

local chaos = require "dev.torture.chaos"
local checker = require "dev.torture.check"
local queue = require "dev.torture.queue"
local meetings = require "dev.torture.meetings"
local journals = require "dev.torture.journal"
local tell = require "dev.torture.report"
local testing = require "zkrecipes.testing"
local workers = require "dev.torture.workers"
local proxies = require "spec.support.proxy"
local zk = require "zkrecipes"

local TIMEOUT = 3    -- seconds, of the workers' sessions
local CALM = 100     -- seconds, of our own sessions before and after the faults
local PATIENCE = 300  -- seconds until every worker must be back, again until every worker must have ended, and until nothing is left
local NAMESPACE = "/torture"
local LOCKS = { "fair", "unfair", "writer", "permit", "pool", "cohort", "reentrant", "term", "ranked" } -- kinds.lua describes each

local SECONDS, SEED = tonumber(arg[1]) or 600, tonumber(arg[2]) or os.time() % 1000000
local GAP = SECONDS < 120 and 1.1 or 2.5 -- seconds between two faults, on average; a short run must have some of each
local WORKERS, COROUTINES = tonumber(arg[3]) or 4, tonumber(arg[4]) or 25
local SECURE = os.getenv "SECURE" == "1" -- the workers connect by TLS; then no proxy can tell requests apart

local function temporary_folder()
  local path = os.tmpname()
  os.remove(path)
  assert(os.execute("mkdir -m 700 " .. path))
  return path
end

-- ---- The workers -------------------------------------------------------------------------------

local function start_workers(world)
  for number = 1, WORKERS do
    local setup = { folder = world.folder, namespace = NAMESPACE, timeout = TIMEOUT, coroutines = COROUTINES,
      locks = table.concat(LOCKS, " "), seed = SEED, finish = world.folder .. "/finish", ca = SECURE and world.ensemble.tls.ca or "" }
    local proxy = assert(proxies.start(world.ensemble))
    world.proxies[number] = proxy
    world.workers[number] = workers.new(number, world.journal, setup, proxy)
  end
end

local function eventually(condition, limit)
  local deadline = zk.now() + limit
  while not condition() and zk.now() < deadline do zk.sleep(0.05) end
  return condition()
end

-- The workers without a grant since then.
local function deserted(world, since)
  local seen, missing = {}, {}
  for _, hold in ipairs(world.journal.holds) do
    if hold.granted > since then seen[hold.worker] = true end
  end
  for _, worker in ipairs(world.workers) do
    if not seen[worker.number] then missing[#missing + 1] = "worker " .. worker.number end
  end
  return missing
end

local function follow(world)
  while not world.calm do
    for _, worker in ipairs(world.workers) do
      worker:follow()
    end
    zk.sleep(0.05)
  end
end

local function show_progress(world, started)
  local step = math.max(10, SECONDS / 20)
  local due = started + step
  while not world.calm do
    zk.sleep(0.1)
    if zk.now() >= due then
      tell.progress(world, zk.now() - started)
      due = due + step
    end
  end
end

local function finish_workers(world)
  assert(io.open(world.folder .. "/finish", "w")):close()
  local deadline, crashed = zk.now() + PATIENCE, {}
  for _, worker in ipairs(world.workers) do
    local status = worker:finish(deadline)
    if status ~= 0 then
      crashed[#crashed + 1] = ("worker %d: %s"):format(worker.number, status and "status " .. status or "never ended")
    end
    local complaints = worker:complaints()
    if complaints ~= "" then world.journal:complain("worker " .. worker.number .. " complains: " .. complaints) end
  end
  return crashed
end

-- Finds our processes: workers, their shells and guards, and the servers have their folder among their arguments.
local function processes_left(world)
  local left = {}
  local folders = { world.folder }
  for _, server in ipairs(world.ensemble.members) do folders[#folders + 1] = server.folder end
  for _, folder in ipairs(folders) do
    local pipe = assert(io.popen("exec pgrep -fl " .. folder))
    for line in pipe:lines() do left[#left + 1] = line end
    pipe:close()
  end
  return left
end

-- ---- The servers -------------------------------------------------------------------------------

-- The counters of a server that must be zero when every session is over.
local function counters(server)
  local answer, found = server:mntr() or "", {}
  for _, name in ipairs { "zk_ephemerals_count", "zk_watch_count", "zk_global_sessions" } do
    local value = answer:match(name .. "%s+(%d+)")
    if value ~= "0" then found[#found + 1] = ("%s has %s = %s"):format(server.hosts, name, value or "?") end
  end
  return found
end

local function left_on_servers(world)
  local found = {}
  for _, server in ipairs(world.ensemble.members) do
    for _, text in ipairs(counters(server)) do found[#found + 1] = text end
  end
  return found
end

-- What is left when the sessions of killed workers must have expired; and the registers.
local function inspect(world)
  local session = zk.session { hosts = world.ensemble.hosts, tls = world.ensemble.tls, namespace = NAMESPACE, timeout = CALM, tick = 0.5 }
  local registers, left = {}, {}
  assert(session:connected(300))
  assert(session:sync("/", { timeout = 300 })) -- a follower may be behind
  local items = queue.left(session)
  eventually(function()
    left = {}
    for _, lock in ipairs(LOCKS) do
      for _, name in ipairs(session:children("/locks/" .. lock) or {}) do left[#left + 1] = lock .. "/" .. name end
    end
    for _, name in ipairs(meetings.left(session)) do left[#left + 1] = name end
    return #left == 0
  end, PATIENCE)
  for _, lock in ipairs(LOCKS) do
    registers[lock] = tonumber(assert(session:get("/register-" .. lock)):match("^%d+"))
  end
  session:close()
  eventually(function() return #left_on_servers(world) == 0 end, PATIENCE)
  for _, text in ipairs(left_on_servers(world)) do left[#left + 1] = text end
  return registers, left, items
end

local function make_registers(ensemble)
  local session = zk.session { hosts = ensemble.hosts, tls = ensemble.tls, namespace = NAMESPACE, timeout = CALM, tick = 0.5 }
  for _, lock in ipairs(LOCKS) do
    assert(session:create("/register-" .. lock, "0 none", { parents = true }))
  end
  assert(session:semaphore("/locks/pool", 5):resize(5))
  session:close()
end

-- ---- The whole ---------------------------------------------------------------------------------

local function torture(world)
  make_registers(world.ensemble)
  start_workers(world)
  zk.spawn(follow, world)
  assert(eventually(function() return #deserted(world, 0) == 0 end, 300), "the workers do not get going")
  local started = zk.now()
  zk.spawn(show_progress, world, started)
  chaos.run(world, started + SECONDS)
  local quiet = zk.now()
  world.seconds = quiet - started
  eventually(function() return #deserted(world, quiet) == 0 end, PATIENCE)
  local facts = { deserted = deserted(world, quiet) }
  world.calm = true
  facts.crashed = finish_workers(world)
  facts.registers, facts.left, facts.items = inspect(world)
  return facts
end

local function stop(world)
  world.calm = true
  for _, worker in ipairs(world.workers) do worker:finish(0) end
  for _, proxy in ipairs(world.proxies) do proxy:stop() end
  world.ensemble:stop()
  world.diary:close()
end

local function check(world, facts)
  eventually(function() return #processes_left(world) == 0 end, PATIENCE)
  facts.processes = processes_left(world)
  return checker.checks(world.journal, facts.registers, facts)
end

local function run()
  tell.opening(SECONDS, SEED, WORKERS, COROUTINES, SECURE)
  local ensemble = assert(testing.ensemble { members = 3, tls = SECURE, config = { syncLimit = 120 } })
  local world = { ensemble = ensemble, secure = SECURE, folder = temporary_folder(),
    proxies = {}, workers = {}, journal = journals.new(), busy = {}, faults = {}, timeout = TIMEOUT, gap = GAP, seed = SEED }
  world.diary = assert(io.open(world.folder .. "/faults", "w"))
  local facts
  local ok, problem = pcall(zk.run, function() facts = torture(world) end, { fail_fast = true })
  stop(world)
  local good = tell.report(world, ok and check(world, facts) or { { "the run came to its end", false, tostring(problem) } })
  if good then os.execute("rm -rf " .. world.folder) end
  return good
end

os.exit(run() and 0 or 1)
