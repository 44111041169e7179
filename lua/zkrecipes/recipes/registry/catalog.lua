-- What a registry knows: the services and their instances, and the znodes that say nothing that it understands. It applies the changes of
-- the copy, each once, so a read costs only what has changed since the last read.
--
-- An entry is an instance: { name, path, token, data, record, state, hash }.
--
-- What can go wrong: data that are none of Curator's JSON: the znode is skipped and a problem is noted, until it changes. Two znodes
-- have one id: both are shown, each with its path.

local core = require "zkrecipes.core"
local dispatch = require "zkrecipes.host.dispatch"
local instances = require "zkrecipes.recipes.registry.instance"
local json = require "zkrecipes.recipes.registry.json"
local random = require "zkrecipes.random"
local rendezvous = require "zkrecipes.rendezvous"

local M = {}

local Catalog = {}
Catalog.__index = Catalog

local take = core.classes.changes.inner.take

function M.new(session, path, reader, longest_down)
  return setmetatable({ session = session, base = path, reader = reader, longest_down = longest_down, services = {}, bad = {} }, Catalog)
end

-- ---- Services ----------------------------------------------------------------------------------

local function new_service(catalog)
  return { entries = {}, list = {}, enabled = {}, uses = 0, out_until = -math.huge, longest_down = catalog.longest_down,
    host = core.host(catalog.session) }
end

local function service_of(catalog, name)
  local service = catalog.services[name] or new_service(catalog)
  catalog.services[name] = service
  return service
end

local function by_token(a, b)
  if a.token ~= b.token then return a.token < b.token end
  return a.path < b.path
end

-- Makes the lists of what there is, in the order in which the znodes were made.
local function sort(service)
  local list, enabled = {}, {}
  for _, entry in pairs(service.entries) do list[#list + 1] = entry end
  table.sort(list, by_token)
  for _, entry in ipairs(list) do
    if entry.record.enabled then enabled[#enabled + 1] = entry end
  end
  service.list, service.enabled, service.is_stale = list, enabled, false
end

-- ---- Changes -----------------------------------------------------------------------------------

-- The name and the place of an instance's path; nil for the service's own znode, and for what is below an instance.
local function place(catalog, path)
  return path:sub(#catalog.base + 1):match "^/([^/]+)/[^/]+$"
end

-- The entry of these data, without its state; or nil, why, code.
local function entry_of(catalog, path, of)
  if of.problem then return nil, "it may not be read", of.problem end
  local record, why = json.read(of.data)
  if not record then return nil, why, "conflict" end
  return { name = place(catalog, path), path = path, token = of.stat.czxid, data = of.data, record = record,
    hash = rendezvous.hash(record.id) }
end

-- Programs that begin at the same time do not all begin with the same instance.
local function new_state(service, weight)
  local state = instances.state(service)
  state.last_use, state.share = -random.number(), random.number() * weight
  return state
end

-- The state of this entry, which the entry of the same znode has had, or a new one.
local function state_of(service, entry)
  local known = service.entries[entry.path]
  return known and known.token == entry.token and known.state or new_state(service, entry.record.weight)
end

local function note(catalog, path, why, code)
  local text = ("registry %s: the instance is skipped: %s"):format(path, why)
  catalog.bad[path] = { path = path, message = text, code = code }
  dispatch.tell(core.host(catalog.session), "warning", text, catalog.session)
end

local function put(catalog, name, path, entry)
  local service = service_of(catalog, name)
  if entry then entry.state = state_of(service, entry) end
  service.entries[path], service.is_stale = entry, true
  if not next(service.entries) then catalog.services[name] = nil end -- or ever new names would cost ever more
end

local function apply(catalog, change)
  local path = change.path
  local name = place(catalog, path)
  if not name then return end
  local entry, why, code
  if change.kind ~= "removed" then entry, why, code = entry_of(catalog, path, change) end
  catalog.bad[path] = nil
  put(catalog, name, path, entry)
  if why then note(catalog, path, why, code) end
end

-- Applies what has changed. It never waits. If memory is exhausted, the rest is applied the next time.
function Catalog:sync()
  local change = take(self.reader)
  while change do
    apply(self, change)
    change = take(self.reader)
  end
end

-- The user's copy of what a reader was told: { data, stat, problem }; nil if that is no instance.
function Catalog:copy(path, of)
  local entry = of and place(self, path) and entry_of(self, path, of)
  if not entry then return nil end
  self:sync()
  entry.state = state_of(self.services[entry.name] or new_service(self), entry)
  return instances.copy(entry)
end

-- ---- What is known -----------------------------------------------------------------------------

-- The service, with its lists; nil if it has no instance.
function Catalog:service(name)
  self:sync()
  local service = self.services[name]
  if service and service.is_stale then sort(service) end
  return service
end

function Catalog:names()
  self:sync()
  local names = {}
  for name in pairs(self.services) do names[#names + 1] = name end
  table.sort(names)
  return names
end

function Catalog:problems()
  self:sync()
  local list = {}
  for _, problem in pairs(self.bad) do list[#list + 1] = { path = problem.path, message = problem.message, code = problem.code } end
  table.sort(list, function(a, b) return a.path < b.path end)
  return list
end

core.own(debug.getinfo(1, "S").source)
return M
