-- The functions of the module on one host. What it gives to the user is put together in init.lua, or, for a simulated
-- process, in sim/process.lua.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.coroutines"
local escape = require "zkrecipes.escape"
local hosts = require "zkrecipes.host"
local runner = require "zkrecipes.run"
local sessions = require "zkrecipes.session"
local status = require "zkrecipes.status"
local tasks = require "zkrecipes.tasks"
local wait = require "zkrecipes.wait"

require "zkrecipes.objects"
require "zkrecipes.lock"
require "zkrecipes.jobs"
require "zkrecipes.barrier"
require "zkrecipes.election"
require "zkrecipes.rounds"
require "zkrecipes.rwlock"
require "zkrecipes.multilock"

local M = { VERSION = "scm" }

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
    return tasks.spawn(host, {}, fn, ...)
  end

  function zk.all(fns)
    hosts.ready(host)
    return tasks.all(host, fns)
  end

  function zk.any(fns)
    hosts.ready(host)
    return tasks.any(host, fns)
  end
end

local function add_run(zk, host)
  function zk.run(fn, options)
    if not host.adapter.runs then
      core.misuse("zk.run belongs to the built-in host; here the loop is '" .. host.adapter.name .. "'")
    end
    hosts.ready(host)
    return runner.run(host, fn, options)
  end
end

-- What of these options differs from those, or nil.
local function difference(given, other)
  if sessions.joined(given.hosts) ~= sessions.joined(other.hosts) and given.hosts ~= nil then return "hosts" end
  for name, value in pairs(given) do
    if type(value) ~= "table" and value ~= other[name] and name ~= "hosts" then return name end
  end
end

-- The one session of the host; session.lua lets go of it when it is closed.
local function add_shared(zk, host)
  function zk.shared(options)
    local shared = host.shared
    if shared and shared.session.state ~= "closed" then
      if options ~= nil and type(options) ~= "table" then
        check.bad(1, "shared", "table of options expected, got " .. type(options))
      end
      local name = options and difference(options, shared.options)
      if name then check.bad(1, "shared", ("option '%s' differs from that of the session that is open"):format(name)) end
      return shared.session
    end
    local session, message, code = sessions.open(host, options)
    if not session then return nil, message, code end
    host.shared = { session = session, options = options or {} }
    return session
  end
end

-- of(host): all but `using`.
function M.of(host)
  local zk = { _VERSION = M.VERSION, canceled = wait.canceled, pcall = coroutines.pcall, escape = escape }
  function zk.session(options) return sessions.open(host, options) end
  add_shared(zk, host)
  function zk.status(options)
    options = check.options(options, { queues = "boolean" }, 1, "status")
    hosts.ready(host)
    local found = status.of(host)
    if options.queues then status.queues(host, found) end
    return found
  end
  add_time(zk, host)
  add_tasks(zk, host)
  add_run(zk, host)
  return zk
end

core.own(debug.getinfo(1, "S").source)
return M
