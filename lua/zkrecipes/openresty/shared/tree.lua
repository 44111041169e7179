-- A watched copy that all workers of a host share: what the user calls. Where it is written: watch.lua.

local check = require "zkrecipes.check"
local copy = require "zkrecipes.openresty.shared.copy"
local core = require "zkrecipes.core"
local failure = require "zkrecipes.failure"
local options_of = require "zkrecipes.recipes.tree.options".check
local sessions = require "zkrecipes.session"
local watch = require "zkrecipes.openresty.shared.watch"

local M = {}

local Shared = {}
Shared.__index = Shared

local LOOK = 0.02 -- seconds between two looks of `ready`

local open = {} -- prefix > the tree; one for each tree and worker

-- ---- Making ------------------------------------------------------------------------------------

local function listed(value) return type(value) == "table" and table.concat(value, ",") or tostring(value) end

-- The beginning of its keys: two trees that would differ have different ones.
local function prefix_of(path, options)
  local session = options.session or {}
  local text = table.concat({ path, tostring(options.depth), listed(options.patterns), listed(session.hosts), tostring(session.namespace) },
    "\0")
  return "zkrecipes:" .. core.hash(text) .. ":"
end

local function run(premature, shared)
  if not premature then require "zkrecipes".spawn(watch.run, shared) end
  return true
end

-- In a timer of no request: otherwise nginx would wait for that request before a worker ends.
local function start(shared)
  if ngx.get_phase() == "init_worker" then return run(false, shared) end
  return ngx.timer.at(0, run, shared)
end

-- zkrecipes.openresty.shared_tree(dict_name, path [, options])
function M.new(dict_name, path, options)
  if ngx.get_phase() == "init" then core.misuse("shared_tree cannot be used in init_by_lua, before nginx has forked") end
  local dict = type(dict_name) == "string" and ngx.shared[dict_name]
  if not dict then check.bad(1, "shared_tree", "name of a lua_shared_dict expected, got " .. check.shown(dict_name)) end
  check.path(path, 2, "shared_tree")
  options = options_of(path, options, { session = "table" }, "shared_tree", 3)
  sessions.check(options.session)
  local prefix = prefix_of(path, options)
  local key = dict_name .. " " .. prefix
  if open[key] then return open[key] end
  local shared = setmetatable({ dict = dict, prefix = prefix, path = path, options = options }, Shared)
  if not start(shared) then return nil, "nginx refuses a timer", "no_memory" end
  open[key] = shared
  return shared
end

-- ---- Reading -----------------------------------------------------------------------------------

local function path_of(self, path, name)
  if path == nil then return self.path end
  check.path(path, 1, name)
  return path
end

-- shared:get([path]): data, stat, problem
function Shared:get(path) return copy.get(self, path_of(self, path, "get")) end

-- shared:children([path])
function Shared:children(path) return copy.children(self, path_of(self, path, "children")) end

-- for path, data, stat in shared:pairs() do ... end
function Shared:pairs() return copy.pairs(self) end

function Shared:age() return copy.age(self) end

-- Why something is missing or not current; nil: nothing is known to be.
function Shared:problem() return copy.status(self).problem end

-- shared:ready([timeout])
function Shared:ready(timeout)
  check.seconds(timeout, 1, "ready", true)
  local zk = require "zkrecipes"
  local deadline = timeout and zk.now() + timeout
  while not copy.loaded(self) do
    if deadline and zk.now() >= deadline then
      local problem = self:problem()
      local why = "no worker has loaded it" .. (problem and ": " .. problem or "")
      return failure.told("shared_tree:ready", self.path, nil, why, problem == "no_memory" and problem or "timeout")
    end
    zk.sleep(LOOK)
  end
  return true
end

check.selves("shared_tree", Shared, Shared)

core.own(debug.getinfo(1, "S").source)
return M
