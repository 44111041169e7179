-- zkrecipes.sim: a simulated ZooKeeper with its clients, in virtual time, for tests of programs that use zkrecipes.
--
--   local sim = require "zkrecipes.sim"
--   local world = sim.new{ seed = 1 }
--   world:run(function()
--     local session = world:session()
--     local hold = assert(session:lock("/job"):acquire())
--     world:expire(session)
--     assert(hold:lost() == "lost")
--   end)
--
-- The reference is in meta/sim.lua and docs/sim.md. How time passes: sim/process.lua.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local faults = require "zkrecipes.sim.faults"
local module = require "zkrecipes.module"
local processes = require "zkrecipes.sim.process"

local M = {}

local World = {}
World.__index = World
World.__name = "zkrecipes.sim.world"

function World:__tostring()
  return ("zkrecipes.sim: seed %d, %.6f s"):format(self.seed, self:now())
end

-- ---- Beginning ---------------------------------------------------------------------------------

-- Option > least, most, default.
local NUMBERS = {
  seed = { 0, 2 ^ 31 - 1, 1 },
  servers = { 1, 9, 3 },
  tick_time = { 10, 60000, 2000 },
  container_interval = { 10, 1e9, 60000 },
}
local OPTIONS = { seed = "number", servers = "number", tick_time = "number", container_interval = "number",
  latency = "number", jitter = "number", limit = "number" }

local LATENCY, JITTER, LIMIT = 0.0002, 0.0004, 86400
local LATENCY_MAX, LIMIT_MAX = 60, 1e8

local function integer_option(options, name)
  local range, value = NUMBERS[name], options[name]
  if value == nil then return range[3] end
  if value % 1 ~= 0 or value < range[1] or value > range[2] then
    check.bad(1, "new", ("option '%s': integer from %d to %d expected, got %s"):format(name, range[1], range[2],
      tostring(value)))
  end
  return value
end

local function seconds_option(options, name, default, most)
  local value = options[name]
  if value == nil then return default end
  if value >= 0 and value <= most then return value end
  return check.bad(1, "new", ("option '%s': 0 to %d seconds expected, got %s"):format(name, most, tostring(value)))
end

local function to_stderr(line) io.stderr:write(line, "\n") end

-- Takes `trace` out of the options: a function, or nil.
local function trace_option(given)
  local options, trace = {}, nil
  if given ~= nil then check.plain(given, 1, "new", "table of options") end
  for key, value in next, given or {} do
    if key == "trace" then trace = value else options[key] = value end
  end
  if trace ~= nil and type(trace) ~= "boolean" and type(trace) ~= "function" then
    check.bad(1, "new", "option 'trace': boolean or function expected, got " .. type(trace))
  end
  return check.options(options, OPTIONS, 1, "new"), trace == true and to_stderr or trace or nil
end

local function micro(seconds) return math.floor(seconds * 1e6 + 0.5) end

-- The core takes 0 for "the default" and a negative jitter for none.
local function new_core(world, options)
  local latency = micro(seconds_option(options, "latency", LATENCY, LATENCY_MAX))
  local jitter = micro(seconds_option(options, "jitter", JITTER, LATENCY_MAX))
  return core.sim.world {
    seed = world.seed, servers = world.servers, trace = world.tell ~= nil,
    tick_ms = integer_option(options, "tick_time"),
    reap_ms = integer_option(options, "container_interval"),
    latency_us = math.max(latency, 1), jitter_us = jitter > 0 and jitter or -1,
  }
end

-- sim.new(options): a world with its servers, and one process, world.zk.
function M.new(given)
  local options, tell = trace_option(given)
  local world = setmetatable({ tell = tell }, World)
  world.seed = integer_option(options, "seed")
  world.servers = integer_option(options, "servers")
  world.limit = seconds_option(options, "limit", LIMIT, LIMIT_MAX)
  world.core = new_core(world, options)
  processes.begin(world)
  world.began = world.core:now()
  world.test = module.of(world.driver)
  world.zk = world:process()
  return world
end

-- ---- Programs and time -------------------------------------------------------------------------

function World:process()
  return processes.new(self).zk
end

function World:session(options)
  return self:process().session(options)
end

-- In a test the first error ends the run by default.
function World:run(fn, options)
  local given = { fail_fast = true }
  if options ~= nil then check.plain(options, 2, "run", "table of options") end
  for key, value in next, options or {} do given[key] = value end
  return self.test.run(fn, given)
end

function World:advance(seconds)
  check.seconds(seconds, 1, "advance")
  self.test.sleep(math.max(seconds, 1e-6)) -- the least there is
end

function World:now()
  return micro(self.core:now() - self.began) / 1e6
end

-- ---- Looking -----------------------------------------------------------------------------------

local function check_path(path, method)
  if type(path) ~= "string" or path:sub(1, 1) ~= "/" then
    check.bad(1, method, "path expected, got " .. tostring(path))
  end
end

-- Data and stat; or nothing if there is no such znode.
local function found(there, data, stat)
  if there then return data, stat end
end

function World:get(path)
  check_path(path, "get")
  return found(self.core:get(path))
end

function World:children(path)
  check_path(path, "children")
  local names = self.core:children(path)
  if names then table.sort(names) end
  return names
end

function World:dump(path)
  check_path(path or "/", "dump")
  processes.tell(self)
  return self.core:dump(path or "/") or ""
end

function World:requests(who, kind)
  local engine = who ~= nil and faults.whom(self, who, "requests").host.engine or nil
  return self.core:requests(engine, faults.choice(core.sim.kinds, kind or "any", 2, "requests", "kind of request"))
end

function World:watches() return self.core:watches() end

function World:sessions() return self.core:sessions() end

function World:alive(id)
  if type(id) ~= "string" or #id ~= 16 or id:find("%X") then
    check.bad(1, "alive", "session id expected (16 hexadecimal digits), got " .. tostring(id))
  end
  return self.core:alive(id)
end

faults.add(World)
check.selves("world", World, World)

core.own(debug.getinfo(1, "S").source)
return M
