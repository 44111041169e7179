-- The functions of the module on one host. init.lua makes the user's module of them, and sim/process.lua the module of a simulated
-- process.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.host.coroutines"
local escape = require "zkrecipes.escape"
local hosts = require "zkrecipes.host.host"
local own_holds = require "zkrecipes.recipes.lock.own_holds"
local queues = require "zkrecipes.status.queue_lengths"
local recipes = require "zkrecipes.recipes"
local runner = require "zkrecipes.host.run"
local sessions = require "zkrecipes.session"
local status = require "zkrecipes.status.status"
local tasks = require "zkrecipes.host.tasks"
local wait = require "zkrecipes.host.wait"

local M = { VERSION = "0.1.0" }

local function add_time(zk, host)
  function zk.sleep(seconds)
    check.seconds(seconds, 1, "sleep")
    hosts.ready(host)
    wait.check()
    if seconds == 0 then return wait.yield(host) end
    wait.pause(host, wait.record(), seconds)
  end

  function zk.now()
    hosts.ready(host)
    return host.adapter.now()
  end
end

local function add_tasks(zk, host)
  function zk.spawn(fn, ...)
    check.fn(fn, 1, "spawn")
    hosts.ready(host)
    own_holds.forget(host)
    return tasks.spawn(host, {}, fn, ...)
  end

  function zk.all(fns)
    hosts.ready(host)
    own_holds.forget(host)
    return tasks.all(host, fns)
  end

  function zk.any(fns)
    hosts.ready(host)
    own_holds.forget(host)
    return tasks.any(host, fns)
  end
end

local function add_run(zk, host)
  function zk.run(fn, options)
    if not host.adapter.runs then
      core.misuse("zk.run belongs to the built-in host; here the loop is '" .. host.name .. "'")
    end
    hosts.ready(host)
    return runner.run(host, fn, options)
  end
end

-- ---- The shared session ------------------------------------------------------------------------

-- Of options that were accepted, so it is not deep. The caller may change its tables later. The credentials are in here as
-- long as the session needs them itself, for every new connection; no message ever tells a value.
local function copy(value)
  if type(value) ~= "table" then return value end
  local made = {}
  for key, each in next, value do made[key] = copy(each) end
  return made
end

-- Functions are the same only when they are one, but a function that returns a password was called once and never is again: so
-- each is as good as any other.
local function same(value, other, key)
  if key == "password" and type(value) == "function" then return type(other) == "function" end
  if type(value) ~= "table" or type(other) ~= "table" then return value == other end
  for name, each in next, value do
    if not same(each, rawget(other, name), name) then return false end
  end
  for name in next, other do
    if rawget(value, name) == nil then return false end
  end
  return true
end

-- What of these options differs from those, or nil.
local function difference(given, other)
  if given.hosts ~= nil and sessions.joined(given.hosts) ~= sessions.joined(other.hosts) then return "hosts" end
  for name, value in next, given do
    if name ~= "hosts" and not same(value, other[name]) then return name end
  end
end

-- The shared session of the host, if it belongs to this process. Raises if the options are others. Without options it may be one that
-- has ended, because its credentials were refused: its methods say so.
local function opened(host, options)
  local shared = host.shared
  if not shared or shared.engine:forked() then return nil end
  if options == nil then return shared.session end
  check.plain(options, 1, "shared", "table of options")
  if shared.session.state == "closed" then return nil end
  local name = difference(options, shared.options)
  if name then check.bad(1, "shared", ("option '%s' differs from that of the session that is open"):format(tostring(name))) end
  return shared.session
end

local function open(host, options)
  local given, log = sessions.read(options)
  local session = opened(host, options) -- a password's function may have waited, and another coroutine was quicker
  if session then return session end
  local new, message, code = sessions.start(host, given, log)
  if not new then return nil, message, code end
  host.shared = { session = new, engine = host.engine, options = copy(options or {}), named = options ~= nil }
  return new
end

-- The one session of the host; session.lua lets go of it when it is closed. Without options it is never another one than the program
-- named: not that of the default host and nobody's credentials.
local function add_shared(zk, host)
  function zk.shared(options)
    local session = opened(host, options)
    if session then return session end
    if options == nil and host.shared then options = host.shared.options end -- the parent's, in a child that goes on
    if options == nil and host.named then
      return nil, "zk.shared: the session was closed; to open another one, give the options", "closed"
    end
    return open(host, options)
  end
end

-- of(host): all but `using`.
function M.of(host)
  local zk = { _VERSION = M.VERSION, canceled = wait.canceled, pcall = coroutines.pcall, escape = escape,
    digest = core.digest }
  function zk.session(options) return sessions.open(host, options) end
  add_shared(zk, host)
  function zk.preload()
    local ok, problem = recipes.load_all()
    if not ok then return nil, "zk.preload: " .. problem, "unsupported" end
    return true
  end
  function zk.status(options)
    options = check.options(options, { queues = "boolean", max_age = "number" }, 1, "status")
    check.seconds(options.max_age, 1, "status", true)
    hosts.ready(host)
    local found = status.of(host)
    if options.queues then found.queues = queues.of(host, options.max_age) end
    return found
  end
  add_time(zk, host)
  add_tasks(zk, host)
  add_run(zk, host)
  return zk
end

core.own(debug.getinfo(1, "S").source)
return M
