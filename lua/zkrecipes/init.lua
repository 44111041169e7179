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
local hosts = require "zkrecipes.host.host"
local module = require "zkrecipes.module"

-- The adapter to use if the program names none.
local function default_adapter()
  local ngx = rawget(_G, "ngx")
  return type(ngx) == "table" and ngx.get_phase and "openresty" or "builtin"
end

local modules = {} -- adapter > module

local using

local function module_of(adapter)
  local zk = module.of(hosts.new(adapter))
  zk.using = using
  if adapter.preloads then assert(zk.preload()) end
  return zk
end

local function adapter_of(name)
  local found, adapter = pcall(require, "zkrecipes.adapters." .. name)
  if found then return adapter end
  local problem = check.text(adapter)
  if problem:find("module 'zkrecipes.adapters." .. name, 1, true) then problem = "there is none of this name" end
  return check.bad(1, "using", ("adapter '%s' cannot be loaded: %s"):format(name, problem))
end

-- using(name or adapter): the same module on another host.
function using(adapter)
  if type(adapter) == "string" then adapter = adapter_of(adapter) end
  if type(adapter) ~= "table" then
    check.bad(1, "using", "name of an adapter or adapter expected, got " .. type(adapter))
  end
  hosts.check(adapter)
  modules[adapter] = modules[adapter] or module_of(adapter)
  return modules[adapter]
end

core.own(debug.getinfo(1, "S").source)
return using(default_adapter())
