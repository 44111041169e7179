-- The faults of the torture run. Each one begins, lasts, and is over when its function returns. Several run at once, but never two on one
-- worker or on two servers, and one worker always has none. The seed decides all that is random.

local randoms = require "dev.torture.random"
local zk = require "zkrecipes"
local testing = require "zkrecipes.testing"
local servers = require "zkrecipes.testing.server"

local M = {}

-- ---- Faults of a worker: fn(worker, random, world) ---------------------------------------------
-- Each returns false if it did nothing.

local of_worker = {}

function of_worker.kill(worker, random)
  worker:kill()
  zk.sleep(random:between(0, 1))
  worker:start()
end

function of_worker.pause(worker, random, world)
  worker:signal("STOP")
  zk.sleep(world.timeout + random:between(0.5, 2))
  worker:signal("CONT")
end

function of_worker.expire(worker, _, world)
  local id, time = worker.session, zk.now()
  for _, server in ipairs(world.ensemble.members) do
    if id and server.state == "running" then
      local done, _, code = testing.expire(server, id, 2)
      if code ~= "no_session" then world.journal:expired(worker.number, time, zk.now() + world.timeout) end
      return done or false
    end
  end
  return false
end

function of_worker.cut(worker, random)
  worker.proxy:cut { side = random:pick { "both", "client", "server" }, fin = random:chance(0.5) }
end

of_worker["black hole"] = function(worker, random, world)
  worker.proxy:blackhole(random:pick { true, "up", "down" })
  zk.sleep(random:between(0.5, world.timeout + 1.5))
  worker.proxy:heal()
end

-- The bytes kept back are delivered later, perhaps to sessions that are over by then.
of_worker["late bytes"] = function(worker, random, world)
  worker.proxy:freeze(random:pick { true, "up", "down" })
  zk.sleep(random:between(0.5, world.timeout + 1.5))
  worker.proxy:heal()
end

function of_worker.delay(worker, random)
  worker.proxy:delay(math.floor(random:between(20, 300)))
  zk.sleep(random:between(0.5, 3))
  worker.proxy:heal()
end

-- Returns true if any of the armed faults has hit a request.
local function disarm(worker)
  local fired = worker.proxy:fired()
  worker.proxy:clear()
  return fired > 0
end

of_worker["lost answers"] = function(worker, random)
  for _ = 1, 4 do
    worker.proxy[random:pick { "drop_reply", "drop_reply", "drop_request" }](worker.proxy,
      random:pick { "create2", "delete", "multi", "getChildren2", "*" }, math.floor(random:between(1, 8)))
    zk.sleep(random:between(0.1, 0.8))
  end
  return disarm(worker)
end

-- The proxy keeps a write until its session is over, and delivers it then.
of_worker["held write"] = function(worker, random, world)
  worker.proxy:hold(random:pick { "create2", "delete", "multi" }, math.floor(random:between(1, 8)))
  zk.sleep(world.timeout + random:between(0.5, 1.5))
  worker.proxy:release()
  return disarm(worker)
end

-- ---- Faults of a server: fn(random, world) -----------------------------------------------------

-- Other faults continue while the JVM starts. We wait for the server only afterwards, because that wait blocks this process.
local function kill_server(server, random)
  server:kill()
  zk.sleep(random:between(0.2, 2))
  servers.begin(server)
  zk.sleep(1.5)
  assert(servers.await(server))
end

local of_server = {}

function of_server.leader(random, world)
  kill_server(assert(world.ensemble:leader(300)), random)
end

function of_server.follower(random, world)
  kill_server(random:pick(world.ensemble:followers()), random)
end

-- ---- The course of the run --------------------------------------------------------------------

-- The names in the report, in its order.
M.kinds = { { "kill", "kill -9" }, { "pause", "SIGSTOP" }, { "expire", "session expired" }, { "cut", "cut" },
  { "black hole", "black hole" }, { "late bytes", "late bytes" }, { "delay", "delay" },
  { "lost answers", "lost answers" }, { "held write", "held write" }, { "leader", "leader killed" },
  { "follower", "follower killed" } }

-- Those that need no look into the bytes: all but the faults of single requests.
local blind = {}
for _, kind in ipairs(M.kinds) do
  if kind[1] ~= "lost answers" and kind[1] ~= "held write" then blind[#blind + 1] = kind end
end

local function free_workers(world)
  local list, struck = {}, 0
  for _, worker in ipairs(world.workers) do
    if world.busy[worker] then
      struck = struck + 1
    elseif worker.session and worker.pid then
      list[#list + 1] = worker
    end
  end
  return struck < #world.workers - 1 and list or {}
end

-- Most faults must meet a holder.
local function choose_worker(world, random)
  local free, holders = free_workers(world), {}
  for _, worker in ipairs(free) do
    worker:follow()
    if world.journal:holding(worker.number) then holders[#holders + 1] = worker end
  end
  return random:pick(#holders > 0 and random:chance(0.9) and holders or free)
end

local function target_of(world, kind, random)
  if of_worker[kind] then return choose_worker(world, random) end
  return not world.busy.servers and "servers" or nil
end

local function strike(world, kind, target, random)
  local fault = { kind = kind, from = zk.now() }
  world.busy[target] = fault
  local done
  if target == "servers" then
    done = of_server[kind](random, world)
  else
    fault.worker, fault.holder = target.number, world.journal:holding(target.number)
    done = of_worker[kind](target, random, world)
  end
  fault.to = zk.now()
  if done ~= false then table.insert(world.faults, fault) end
  world.diary:write(("%.6f %.6f %s %s %s\n"):format(fault.from, fault.to, kind, fault.worker or "-", done ~= false))
  world.busy[target] = nil
  return true
end

-- Runs faults at random times until the deadline; returns when all are over. Every kind comes once before one comes twice.
---@param world table { ensemble, workers, journal, timeout, busy, faults, seed, gap: seconds between two, more or less,
---diary: a file of what was done }
function M.run(world, deadline)
  local bag, tasks, random = {}, {}, randoms.new(world.seed, 1)
  while zk.now() < deadline do
    zk.sleep(random:between(0.3, 1.7) * world.gap)
    if #bag == 0 then bag = random:shuffled(world.secure and blind or M.kinds) end
    local kind = bag[#bag][1]
    local target = target_of(world, kind, random)
    if target then
      bag[#bag] = nil
      tasks[#tasks + 1] = zk.spawn(strike, world, kind, target, randoms.new(world.seed, 2 + #tasks))
    else
      table.insert(bag, 1, table.remove(bag)) -- if no worker or server is free, tries another kind first
    end
  end
  for _, task in ipairs(tasks) do assert(task:wait()) end
end

return M
