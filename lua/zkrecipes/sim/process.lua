-- The processes of a simulated world, and the loop that runs all their coroutines in virtual time.
--
-- Each process is a host with its own engine (host.lua). All share one loop, and their tasks count together, so that a run ends when
-- all coroutines of the world have ended. One more host, the driver, runs the test itself: it is no process and has no faults.
--
-- A turn of the loop: 1. Coroutines run; time does not advance meanwhile. 2. When none can run, the world advances, and the engines of
-- the processes work, until a coroutine can go on, or a timer of a coroutine is due. 3. These coroutines are woken.
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
  local from = 1
  while text and from <= #text do
    local to = text:find("\n", from, true) or #text + 1
    world.tell(text:sub(from, to - 1))
    from = to + 1
  end
end

local function check_limit(world)
  if world.core:now() < world.deadline then return end
  core.misuse(("not over after %g s of virtual time: no coroutine ends the wait, or the world needs " ..
    "a larger 'limit'"):format(world.limit))
end

-- Continues the coroutines of the process that were kept back.
local function release_held(world, number)
  local held = world.held[number]
  if not held then return end
  world.held[number] = false
  for i = 1, #held do world.loop:release(held[i]) end
end

-- What a finalizer left, and could not be begun, is tried again when the engines have worked the next time.
local function go_on(world, number, due, steps)
  local host = world.processes[number].host
  release_held(world, number)
  if due or host.dropped[1] then dispatches.run(host, steps) end
  if host.dropped[1] then world.held[number] = world.held[number] or {} end
end

local function dispatch_all(world, steps)
  world.still = world.still + 1
  if world.still > BUSY then
    world.core:advance(BUSY_SECONDS * (world.still - BUSY))
    check_limit(world)
  end
  local number, due = world.core:next(world.engines, world.held, 1, steps)
  while number do
    go_on(world, number, due, steps)
    number, due = world.core:next(world.engines, world.held, number + 1, steps)
  end
  M.tell(world)
end

-- How many coroutines wait for events that the loop does not know of.
local function pending(world)
  local count = 0
  for i = 1, #world.processes do
    local held = world.held[i]
    count = count + world.engines[i]:pending() + (held and #held or 0)
  end
  return count
end

local function holds(world, record)
  local process = record.process or record.within and record.within.process
  if not process or not world.core:paused(world.engines[process.number]) then return false end
  local held = world.held[process.number] or {}
  world.held[process.number] = held
  held[#held + 1] = record
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
  function client.wait(left, steps)
    world.still = 0
    local most = math.max(world.deadline - world.core:now(), 0)
    world.core:run(world.engines, world.held, math.min(left or world.limit, most), steps)
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
    world.engine_count = world.engine_count + 1
    return world.core:engine(host, world.seed + world.engine_count)
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

-- Each process has a clock of its own that people set; see World:step_clock.
local BEGAN = 1700000000000 -- ms since 1970, when the clock of the world is at 0

local function add_clock(world, process)
  process.ahead_ms = 0
  local function wall_ms() return BEGAN + math.floor(world.core:now() * 1000) + process.ahead_ms end
  rawset(process.host, "wall_ms", wall_ms) -- a plain assignment would set it for all processes (hosts.beside)
end

-- A new process: { number, host, zk, sessions = all that were opened }.
function M.new(world)
  local number = #world.processes + 1
  local process = { number = number, sessions = {} }
  process.host = hosts.beside(world.driver, adapter_of(world, process), maker(world))
  process.zk = module_of(process)
  add_clock(world, process)
  world.processes[number], world.engines[number], world.held[number] = process, process.host.engine, false
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
  -- By a process's number: its engine; the coroutines that could go on if it were not paused, or false.
  world.engines, world.held = {}, {}
  world.engine_count, world.still, world.deadline = 0, 0, 0
  hosts.ready(world.driver)
end

core.own(debug.getinfo(1, "S").source)
return M
