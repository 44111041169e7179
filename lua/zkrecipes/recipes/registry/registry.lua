-- Registries: services that find each other. Composes presences and a watched copy of the instances' znodes. The znodes and their JSON are
-- those of Curator's service discovery: PATH/NAME/ID.
--
-- 1. `register` keeps an ephemeral znode with the JSON of the instance (registration.lua, json.lua).
-- 2. A reader of the copy tells what has changed; each read applies that to the catalog first (catalog.lua). No read waits.
-- 3. `pick` chooses among the instances of a service (choice.lua) that are not down (instance.lua).
--
-- What can go wrong: an instance that is dead stays until the servers end its session: `down` takes it out of the choice meanwhile. All
-- are down: the first that will be back is given, or none, as the option says. No server answers: the last known instances stay.

local catalogs = require "zkrecipes.recipes.registry.catalog"
local check = require "zkrecipes.check"
local choice = require "zkrecipes.recipes.registry.choice"
local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"
local failure = require "zkrecipes.failure"
local instances = require "zkrecipes.recipes.registry.instance"
local json = require "zkrecipes.recipes.registry.json"
local limits = require "zkrecipes.limit"
local paths = require "zkrecipes.path"
local registrations = require "zkrecipes.recipes.registry.registration"

local session_class = core.classes.session

local Registry = { __name = "zkrecipes.registry" }
local Changes = { __name = "zkrecipes.registry_changes" }

local LONGEST_DOWN = 60 -- seconds

-- Raises unless it can be the name of a znode. Curator does not escape names, so they are not escaped here.
local function check_name(base, value, argument, method, what)
  if type(value) ~= "string" then check.bad(argument, method, ("%s expected, got %s"):format(what, type(value))) end
  local problem = value:find("/", 1, true) and "has a '/'" or core.path_problem(paths.child(base, value))
  if value == "" then problem = "is empty" end
  if problem then check.bad(argument, method, ("the %s '%s' %s"):format(what, check.shown(value), problem)) end
end

-- ---- Changes -----------------------------------------------------------------------------------

Changes.__index = Changes

-- What the reader is told of this change of the copy; nil: nothing.
local function told(changes, change)
  local catalog = changes.registry.catalog
  local now = change.kind ~= "removed" and catalog:copy(change.path, change) or nil
  local before = catalog:copy(change.path, change.before)
  if not now and not before then return nil end
  local name = (now or before).name
  if changes.name and name ~= changes.name then return nil end
  return { kind = not before and "added" or now and "changed" or "removed", name = name, instance = now, before = before }
end

-- registry_changes:next([timeout])
function Changes:next(timeout)
  check.seconds(timeout, 1, "next", true)
  local limit = limits.new(self.registry.session, timeout)
  while true do
    local change, message, code = self.reader:next(limit.left())
    if not change then return nil, message, code end
    local found = told(self, change)
    if found then return found end
  end
end

-- registry_changes:close()
function Changes:close() return self.reader:close() end

failure.name(Changes, "registry_changes")
check.selves("registry_changes", Changes, Changes)
Changes.__call = function(changes) return changes:next() end
Changes.__close = function(changes) changes:close() end

-- ---- Reading -----------------------------------------------------------------------------------

Registry.__index = Registry

-- registry:instances(name): in the order in which their znodes were made.
function Registry:instances(name)
  check_name(self.path, name, 1, "instances", "name")
  local service, list = self.catalog:service(name), {}
  for i, entry in ipairs(service and service.list or {}) do list[i] = instances.copy(entry) end
  return list
end

-- registry:names()
function Registry:names() return self.catalog:names() end

-- registry:problems(): of the znodes that are skipped.
function Registry:problems() return self.catalog:problems() end

local function none(registry, name, text, code) return nil, ("registry:pick %s: %s"):format(registry.path, text:format(name)), code end

local function check_strategy(strategy, key)
  if not choice.strategies[strategy] then
    check.bad(2, "pick", ("strategy expected (random, round_robin, weighted, least, hash), got '%s'"):format(check.shown(strategy)))
  end
  if strategy == "hash" and type(key) ~= "string" then check.bad(3, "pick", "string expected as key, got " .. type(key)) end
end

-- registry:pick(name [, strategy [, key]])
function Registry:pick(name, strategy, key)
  check_name(self.path, name, 1, "pick", "name")
  strategy = strategy or "round_robin"
  check_strategy(strategy, key)
  local service = self.catalog:service(name)
  if not service and self.tree:age() == math.huge then
    return none(self, name, "the copy is not loaded yet; call registry:ready() first, or try again", "timeout")
  end
  if not service or #service.enabled == 0 then return none(self, name, "no instance of '%s' is registered", "no_node") end
  local entry = choice.choose(service, strategy, key, self.least_bad)
  if not entry then return none(self, name, "all instances of '%s' are down", "conflict") end
  local instance = instances.copy(entry)
  if strategy == "least" then instances.begin_use(instance) end
  return instance
end

-- ---- Registering, waiting, following -----------------------------------------------------------

-- registry:register(name, instance)
function Registry:register(name, instance)
  check_name(self.path, name, 1, "register", "name")
  local record = registrations.record(name, instance)
  check_name(self.path, record.id, 2, "register", "id")
  return registrations.make(self.session, ("%s/%s/%s"):format(self.path, name, record.id), record)
end

-- registry:ready([timeout])
function Registry:ready(timeout) return self.tree:ready(timeout) end

-- registry:await(name [, n [, timeout]]): the instances, as soon as there are n or more.
function Registry:await(name, n, timeout)
  check_name(self.path, name, 1, "await", "name")
  if n ~= nil then check.count(n, 2147483647, 2, "await") end
  check.seconds(timeout, 3, "await", true)
  return self.tree:await(function()
    local service = self.catalog:service(name)
    return #(service and service.list or {}) >= (n or 1) and self:instances(name)
  end, timeout)
end

-- registry:changes([name])
function Registry:changes(name)
  if name ~= nil then check_name(self.path, name, 1, "changes", "name") end
  local reader, message, code = self.tree:changes()
  if not reader then return nil, message, code end
  local changes = setmetatable({ reader = reader, registry = self, path = self.path, name = name }, Changes)
  return changes, nil, nil, changes
end

-- registry:age(), registry:source(): of the copy.
function Registry:age() return self.tree:age() end
function Registry:source() return self.tree.source end

-- registry:close(): the copy; registrations stay.
function Registry:close() return self.tree:close() end

failure.name(Registry, "registry")
check.selves("registry", Registry, Registry)

-- ---- The session's method ----------------------------------------------------------------------

local Session = {}

-- A name that is looked for may have a `*`, as a pattern of the tree.
local function filter_of(path, names)
  if not names then return nil end
  check.list(names, 2, "registry", "list of names", "names")
  local filter = {}
  for i = 1, #names do
    check_name(path, names[i], 2, "registry", "name")
    filter[i] = paths.child(path, names[i])
  end
  if #filter == 0 then check.bad(2, "registry", "option 'names': at least one name expected") end
  return filter
end

local OPTIONS = { names = "table", file = "string", least_bad = "boolean", longest_down = "number" }

-- session:registry(path [, options])
function Session:registry(path, options)
  check.below_root(path, 1, "registry")
  options = check.options(options, OPTIONS, 2, "registry")
  check.file(options.file, 2, "registry")
  check.seconds(options.longest_down, 2, "registry", true)
  local filter = filter_of(path, options.names)
  local ok, missing = json.load()
  if not ok then return nil, ("session:registry %s: %s"):format(path, missing), "unsupported" end
  local tree, message, code = self:tree(path, { filter = filter, file = options.file, depth = 2 })
  if not tree then return nil, message, code end
  local reader, problem, why = tree:changes()
  if not reader then
    tree:close()
    return nil, problem, why
  end
  return setmetatable({ session = self, path = path, tree = tree, least_bad = options.least_bad ~= false,
    catalog = catalogs.new(self, path, reader, options.longest_down or LONGEST_DOWN) }, Registry)
end

classes.extend(session_class, Session)

core.own(debug.getinfo(1, "S").source)
return Registry
