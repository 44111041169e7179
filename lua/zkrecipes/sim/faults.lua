-- The methods of a simulated world that cause faults of processes and servers.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"

local M = {}

local PAUSE_MAX = 86400

-- ---- What is passed ----------------------------------------------------------------------------

local session_meta = core.classes.session.meta

local function is_session(value)
  return type(value) == "userdata" and debug.getmetatable(value) == session_meta
end

-- The process that a session, or the module of a process, belongs to; and the session.
local function find(world, value)
  if is_session(value) then return world.process_of[core.host(value)], value end
  return value ~= nil and type(value) == "table" and world.process_of[value], nil
end

-- Like find, but raises if there is none.
function M.whom(world, value, method)
  local process, session = find(world, value)
  if process then return process, session end
  local got = is_session(value) and "one of another world" or type(value)
  return check.bad(1, method, "session or process of this world expected, got " .. got)
end

local whom = M.whom

local function sorted(names)
  local list = {}
  for name in pairs(names) do list[#list + 1] = name end
  table.sort(list)
  return table.concat(list, ", ")
end

-- The number that stands for a name.
function M.choice(names, value, argument, method, what)
  local number = type(value) == "string" and names[value]
  if number then return number end
  return check.bad(argument, method, ("unknown %s %s; there are: %s"):format(what,
    type(value) == "string" and "'" .. value .. "'" or "of type " .. type(value), sorted(names)))
end

function M.integer(value, argument, method, least, most)
  if type(value) ~= "number" or value % 1 ~= 0 or value < least or value > most then
    check.bad(argument, method, ("integer from %d to %d expected, got %s"):format(least, most, tostring(value)))
  end
  return value
end

-- The number of a server as the core counts.
local function server_of(world, number, method)
  return M.integer(number, 1, method, 1, world.servers) - 1
end

-- Which of its process's sessions is meant: nil for any, when there is no other.
local function id_of(process, session, method)
  if not session or #process.sessions <= 1 then return nil end
  if not session.id then check.bad(1, method, "the session is not connected, and its process has others") end
  return session.id
end

-- ---- Processes ---------------------------------------------------------------------------------

local DIRECTIONS = { both = 3, to_server = 1, to_client = 2 }

local function add_links(World)
  function World:cut(who)
    local process, session = whom(self, who, "cut")
    self.core:cut(process.host.engine, id_of(process, session, "cut"), false)
  end

  function World:disconnect(who)
    self.core:link(whom(self, who, "disconnect").host.engine, false)
  end

  function World:partition(who, direction)
    local process = whom(self, who, "partition")
    local held = direction == nil and 3 or M.choice(DIRECTIONS, direction, 2, "partition", "direction")
    self.core:partition(process.host.engine, held ~= 2, held ~= 1)
  end

  function World:move(who, number)
    local process = whom(self, who, "move")
    self.core:prefer(process.host.engine, M.integer(number, 2, "move", 1, self.servers) - 1)
    self.core:cut(process.host.engine, nil, true)
  end

  function World:pause(who, seconds)
    local process = whom(self, who, "pause")
    check.seconds(seconds, 2, "pause")
    if seconds > PAUSE_MAX then check.bad(2, "pause", "a pause lasts at most " .. PAUSE_MAX .. " seconds") end
    self.core:pause(process.host.engine, seconds)
  end
end

local STEP_MAX = 1e10

local function add_clock(World)
  function World:step_clock(who, seconds)
    local process = whom(self, who, "step_clock")
    if type(seconds) ~= "number" or seconds ~= seconds or math.abs(seconds) > STEP_MAX then
      check.bad(2, "step_clock", "seconds expected, got " .. tostring(seconds))
    end
    process.ahead_ms = process.ahead_ms + math.floor(seconds * 1000 + 0.5)
  end
end

local function heal_process(world, process)
  world.core:partition(process.host.engine, false, false)
  world.core:link(process.host.engine, true)
end

local function add_heal(World)
  function World:heal(who)
    if who ~= nil then return heal_process(self, (whom(self, who, "heal"))) end
    self.core:faults(nil)
    for number = 0, self.servers - 1 do
      self.core:isolate(number, false)
      self.core:stop(number, false)
    end
    for i = 1, #self.processes do heal_process(self, self.processes[i]) end
  end
end

-- ---- Single requests ---------------------------------------------------------------------------

local PLAN = { kind = "string", nth = "number", seconds = "number", down = "number" }

local function plan(world, who, fault, options, method, argument)
  local process, session = whom(world, who, method)
  local kind = M.choice(core.sim.kinds, options.kind or "any", argument, method, "kind of request")
  local nth = options.nth == nil and 1 or M.integer(options.nth, argument + 1, method, 1, 1e9)
  check.seconds(options.seconds, argument, method, true)
  check.seconds(options.down, argument, method, true)
  if fault == "late_request" and options.down and options.down < (options.seconds or 0) then
    check.bad(argument, method, ("option 'down': a request that is %g s late is done only if the client connects again later than " ..
      "that, got %g; leave it out"):format(options.seconds, options.down))
  end
  world.core:plan(process.host.engine, id_of(process, session, method), kind, core.sim.faults[fault], nth,
    options.seconds, options.down)
end

local function add_plans(World)
  function World:lose_request(who, kind, nth)
    plan(self, who, "lose_request", { kind = kind, nth = nth }, "lose_request", 2)
  end

  function World:lose_reply(who, kind, nth)
    plan(self, who, "lose_reply", { kind = kind, nth = nth }, "lose_reply", 2)
  end

  function World:plan(who, fault, options)
    M.choice(core.sim.faults, fault, 2, "plan", "fault")
    plan(self, who, fault, check.options(options, PLAN, 3, "plan"), "plan", 3)
  end

  function World:planned(who)
    return self.core:plans(whom(self, who, "planned").host.engine)
  end
end

-- ---- Servers -----------------------------------------------------------------------------------

local function add_servers(World)
  function World:expire(who)
    local process, session = whom(self, who, "expire")
    local ended = 0
    for _, one in ipairs(session and { session } or process.sessions) do
      if one.id and self.core:expire(one.id) then ended = ended + 1 end
    end
    return ended
  end

  function World:lag(number, seconds)
    local server = server_of(self, number, "lag")
    if server == 0 then check.bad(1, "lag", "server 1 is the leader, which cannot lag behind itself") end
    check.seconds(seconds, 2, "lag")
    self.core:lag(server, seconds)
  end

  function World:isolate_server(number)
    local server = server_of(self, number, "isolate_server")
    if server == 0 then check.bad(1, "isolate_server", "server 1 is the leader; isolate another one") end
    self.core:isolate(server, true)
  end

  function World:pause_server(number, seconds)
    local server = server_of(self, number, "pause_server")
    check.seconds(seconds, 2, "pause_server")
    if seconds > PAUSE_MAX then check.bad(2, "pause_server", "a pause lasts at most " .. PAUSE_MAX .. " seconds") end
    self.core:pause_server(server, seconds)
  end

  function World:stop_server(number)
    self.core:stop(server_of(self, number, "stop_server"), true)
  end

  function World:start_server(number)
    local server = server_of(self, number, "start_server")
    self.core:isolate(server, false)
    self.core:stop(server, false)
  end
end

-- ---- At random ---------------------------------------------------------------------------------

local SHARES = { "lose_request", "lose_reply", "late_request", "delay", "cut", "expire", "pause", "new_session" }
local RANDOM = { lag = "number", max_delay = "number", max_down = "number", max_pause = "number", max_lag = "number" }
for i = 1, #SHARES do RANDOM[SHARES[i]] = "number" end

local function check_share(faults, name)
  local share = faults[name] or 0
  if share >= 0 and share <= 1 then return share end
  return check.bad(1, "faults", ("option '%s': share from 0 to 1 expected, got %s"):format(name, tostring(share)))
end

local function check_faults(faults)
  local sum = 0
  check.options(faults, RANDOM, 1, "faults")
  check_share(faults, "lag")
  for i = 1, #SHARES do sum = sum + check_share(faults, SHARES[i]) end
  if sum > 1 then check.bad(1, "faults", "a request meets one fault at most, but the shares are more than 1") end
  check.seconds(faults.max_delay, 1, "faults", true)
  check.seconds(faults.max_down, 1, "faults", true)
  check.seconds(faults.max_pause, 1, "faults", true)
  check.seconds(faults.max_lag, 1, "faults", true)
  if (faults.late_request or 0) > 0 and (faults.max_delay or 0) > 0 and (faults.max_down or 0) == 0 then
    check.bad(1, "faults", "option 'late_request': without 'max_down' the client connects again before a late request comes, and " ..
      "then none is ever done")
  end
end

local function add_random(World)
  function World:faults(faults)
    if faults ~= nil then check_faults(faults) end
    self.core:faults(faults)
  end
end

-- Adds all of them to a class.
function M.add(World)
  add_links(World)
  add_clock(World)
  add_heal(World)
  add_plans(World)
  add_servers(World)
  add_random(World)
end

core.own(debug.getinfo(1, "S").source)
return M
