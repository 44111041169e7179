-- Bugs of the registry. See plant.lua.

local FOLDER = "lua/zkrecipes/recipes/registry/"

local function bug_in(file)
  return function(name, old, new)
    return { name = "registry: " .. name, file = FOLDER .. file .. ".lua", harness = "worlds", run = "--recipe registry --seeds 1000",
      old = old, new = new }
  end
end

local catalog, choice, registry = bug_in "catalog", bug_in "choice", bug_in "registry"
local instance, registration, json = bug_in "instance", bug_in "registration", bug_in "json"

return {
  catalog("an instance that is removed stays", "service.entries[path], service.is_stale = entry, true",
    "service.entries[path], service.is_stale = entry or service.entries[path], true"),
  catalog("a change does not reach the lists", "service.entries[path], service.is_stale = entry, true", "service.entries[path] = entry"),
  catalog("data that are none are told for ever", "  catalog.bad[path] = nil\n", ""),
  catalog("data that are none leave the last instance", "  put(catalog, name, path, entry)\n",
    "  if not why then put(catalog, name, path, entry) end\n"),
  catalog("an instance that changes is good again", "known and known.token == entry.token and known.state", "nil"),
  catalog("a reader is told the newest instance for an older one", "local entry = of and place(self, path) and entry_of(self, path, of)",
    "local now = of and place(self, path) and self:service(place(self, path))\n"
    .. "  local entry = now and now.entries[path] or of and place(self, path) and entry_of(self, path, of)"),
  choice("an instance that is down is picked", "if list[i].state.out_until <= now then good", "if true then good"),
  choice("none is picked if all are down", "  if #good == 0 and #list > 0 and takes_bad then return { least_bad(list) } end\n", ""),
  choice("an instance that is not enabled is picked", "= service.host.adapter.now(), service.enabled",
    "= service.host.adapter.now(), service.list"),
  instance("a failure is forgotten at once", "  state.service.out_until = math.max(state.service.out_until, state.out_until)\n", ""),
  registry("the end of an instance is told as a change", 'not before and "added" or now and "changed" or "removed"',
    'not before and "added" or "changed"'),
  registry("a new instance is told as a change", 'not before and "added" or now and "changed" or "removed"',
    'now and "changed" or "removed"'),
  registration("an update writes the record before",
    "self.presence:update(data_of(record), timeout)", "self.presence:update(data_of(before), timeout)"),
  json("an instance that is not enabled is written as one that is",
    '  if not record.enabled then add("enabled", "false") end', "  if record.enabled == 0 then end"),
  json("the weight is not written", "  if record.weight ~= 1 then", "  if record.weight == 0 then"),
}
