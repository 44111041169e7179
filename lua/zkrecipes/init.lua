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
local hosts = require "zkrecipes.host"
local module = require "zkrecipes.module"

-- The adapter that is taken when nobody has named one.
local function default_adapter()
  return "builtin"
end

local modules = {} -- adapter > module

local using

local function module_of(adapter)
  local zk = module.of(hosts.new(adapter))
  zk.using = using
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
