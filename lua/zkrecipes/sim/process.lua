-- The processes of a simulated world, and the loop that runs all their coroutines in virtual time.
--
-- Each process is a host with its own engine (host.lua). All share one loop, and their tasks count together, so that a run ends when
-- all coroutines of the world have ended. One more host, the driver, runs the test itself: it is no process and has no faults.
--
-- A turn of the loop: 1. Coroutines run; time does not advance meanwhile. 2. When none can run, the world advances until a process has
-- a message to receive, or something is due. 3. The engines of the processes work.
--
-- What can go wrong: a process is paused: its engine does nothing, and its coroutines are kept back until the pause ends. Coroutines
-- that never wait for time (`while not done do zk.sleep(0) end`) would stop the clock, so some time passes after many turns without
-- any. A run that never ends is aborted after `limit`.

local builtin = require "zkrecipes.adapters.builtin"
local core = require "zkrecipes.core"
local dispatches = require "zkrecipes.host.dispatch"
local hosts = require "zkrecipes.host.host"
local loops = require "zkrecipes.host.loop"
local module = require "zkrecipes.module"

local M = {}

local BUSY = 1000          -- turns for which time may stand still ...
local BUSY_SECONDS = 0.001 -- ... and what the next one takes; twice as much the second, and so on

-- ---- The loop's client -------------------------------------------------------------------------

-- Passes the trace since the last call to the trace function.
function M.tell(world)
  local text = world.tell and world.core:text()
  if not text then return end
  for line in text:gmatch("[^\n]+") do world.tell(line) end
end

local function check_limit(world)
  if world.core:now() < world.deadline then return end
  core.misuse(("not over after %g s of virtual time: no coroutine ends the wait, or the world needs " ..
    "a larger 'limit'"):format(world.limit))
end

-- Seconds until the world must stop for a process, at most `left`.
local function idle_time(world, left)
  left = math.min(left or world.limit, math.max(world.deadline - world.core:now(), 0))
  for i = 1, #world.processes do
    local due = world.core:due(world.processes[i].host.engine)
    if due and due < left then left = due end
  end
  return left
end

local function release_held(world, process)
  local held = process.held
  if #held == 0 then return end
  process.held = {}
  for i = 1, #held do world.loop:release(held[i]) end
end

local function dispatch(world, process, steps)
  local due, paused = world.core:due(process.host.engine)
  if paused then return end
  release_held(world, process)
  if due == 0 then dispatches.run(process.host, steps) end
end

local function dispatch_all(world, steps)
  world.still = world.still + 1
  if world.still > BUSY then
    world.core:advance(BUSY_SECONDS * (world.still - BUSY))
    check_limit(world)
  end
  for i = 1, #world.processes do dispatch(world, world.processes[i], steps) end
  M.tell(world)
end

-- How many coroutines wait for events that the loop does not know of.
local function pending(world)
  local count = 0
  for i = 1, #world.processes do
    local process = world.processes[i]
    count = count + process.host.engine:pending() + #process.held
  end
  return count
end

local function holds(world, record)
  local process = record.process or record.within and record.within.process
  if not process or not world.core:paused(process.host.engine) then return false end
  process.held[#process.held + 1] = record
  return true
end

-- The client that the loop asks (host.lua), for all processes at once.
local function client_of(world)
  local client = {}
  function client.now() return world.core:now() end
  function client.dispatch(steps) dispatch_all(world, steps) end
  function client.outstanding() return pending(world) end
  function client.report(text) world.driver:report(text) end
  function client.holds(record) return holds(world, record) end
  function client.wait(left)
    world.still = 0
    world.core:run(idle_time(world, left))
    check_limit(world)
  end
  return client
end

-- ---- Processes ---------------------------------------------------------------------------------

local function nothing() end

-- process: whose coroutines are spawned; nil for the driver.
local function adapter_of(world, process)
  local adapter = builtin.over(world.loop)
  local spawn, park = adapter.spawn, adapter.park
  adapter.name, adapter.attach, adapter.detach = "sim", nothing, nothing
  function adapter.spawn(fn) spawn(fn).process = process end
  function adapter.park(record, timeout)
    if not record.co then world.deadline = world.core:now() + math.max(world.limit, timeout or 0) + 1e-6 end
    park(record, timeout)
    M.tell(world)
  end
  return adapter
end

local function maker(world)
  return function(host)
    if host.engine then core.misuse("a simulated world cannot be used in a child process") end
    world.engines = world.engines + 1
    return world.core:engine(host, world.seed + world.engines)
  end
end

-- The module of a process. It is simulated whatever host the program asks for. A session is kept, so that its end is
-- the program's doing, and does not depend on when the collector comes.
local function module_of(process)
  local zk = module.of(process.host)
  local open = zk.session
  function zk.using() return zk end
  function zk.session(options)
    local session, message, code = open(options)
    if session then table.insert(process.sessions, session) end
    return session, message, code
  end
  return zk
end

-- A new process: { host, zk, sessions = all that were opened, held = coroutines that could go on }.
function M.new(world)
  local process = { held = {}, sessions = {} }
  process.host = hosts.beside(world.driver, adapter_of(world, process), maker(world))
  process.zk = module_of(process)
  world.processes[#world.processes + 1] = process
  world.process_of[process.zk] = process
  world.process_of[process.host] = process
  return process
end

-- Makes world.loop and world.driver.
function M.begin(world)
  world.loop = loops.new()
  world.loop.client = client_of(world)
  world.driver = hosts.new(adapter_of(world), maker(world))
  world.processes, world.process_of = {}, {}
  world.engines, world.still, world.deadline = 0, 0, 0
  hosts.ready(world.driver)
end

core.own(debug.getinfo(1, "S").source)
return M
