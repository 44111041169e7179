-- zkrecipes: locks and other coordination over Apache ZooKeeper, for coroutines.
--
--   local zk = require "zkrecipes"
--   zk.run(function()
--     local session = zk.session{ hosts = "zk1:2181,zk2:2181" }
--     local hold = assert(session:lock("/locks/report"):acquire(30))
--     ...
--     hold:release()
--   end)
--
-- The reference of everything here is in meta/.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.coroutines"
local hosts = require "zkrecipes.host"
local runner = require "zkrecipes.run"
local sessions = require "zkrecipes.session"
local tasks = require "zkrecipes.tasks"
local wait = require "zkrecipes.wait"

require "zkrecipes.objects"
require "zkrecipes.election"

local VERSION = "scm"

-- The adapter that is taken when nobody has named one.
local function default_adapter()
  return "builtin"
end

-- ---- The functions of a host -------------------------------------------------------------------

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
    if host.adapter.name ~= "builtin" then
      core.misuse("zk.run belongs to the built-in host; here the loop is '" .. host.adapter.name .. "'")
    end
    hosts.ready(host)
    return runner.run(host, fn, options)
  end
end

local modules = {} -- adapter > module

local using

local function module_of(adapter)
  local host = hosts.new(adapter)
  local zk = { _VERSION = VERSION, canceled = wait.canceled, pcall = coroutines.pcall, using = using }
  function zk.session(options) return sessions.open(host, options) end
  add_time(zk, host)
  add_tasks(zk, host)
  add_run(zk, host)
  return zk
end

-- using(name or adapter): the same module on another host.
function using(adapter)
  if type(adapter) == "string" then adapter = require("zkrecipes.adapters." .. adapter) end
  if type(adapter) ~= "table" then
    check.bad(1, "using", "name of an adapter or adapter expected, got " .. type(adapter))
  end
  modules[adapter] = modules[adapter] or module_of(adapter)
  return modules[adapter]
end

core.own(debug.getinfo(1, "S").source)
return using(default_adapter())
