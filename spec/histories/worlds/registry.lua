-- Registries. Each instance that is shown was written so; what a reader is told adds up to what is listed. `pick` gives an instance that is
-- listed, enabled and not down, unless all are down. Data of strangers are skipped and reported. When the faults stop, all that is shown
-- is what the leader has.

local DIR = "/s"
local NAMES, IDS = { "web", "db" }, { "a", "b", "c" }
local STRATEGIES = { "random", "round_robin", "weighted", "least", "hash" }

-- ---- What was written ----------------------------------------------------------------------------

-- The ports are numbers of the writes: port > "name/id".
local function written(h, name, id)
  h.writes = h.writes + 1
  h.written[h.writes] = name .. "/" .. id
  return h.writes
end

local function check_instance(h, one)
  h:expect(h.written[one.port] == one.name .. "/" .. one.id, "%s/%s is shown with the port %d", one.name, one.id, one.port)
  h:expect(one.enabled == (one.port % 4 ~= 0) and one.weight == 1 + one.port % 3, "the parts of %d do not fit", one.port)
end

local function given(h, name, id)
  local port = written(h, name, id)
  return { port = port, enabled = port % 4 ~= 0, weight = 1 + port % 3 }
end

-- ---- Instances -----------------------------------------------------------------------------------

local function service(h, zk, registry)
  for _ = 1, h:below(3) do
    zk.sleep(h:within(5))
    local name, id = h:pick(NAMES), h:pick(IDS)
    local first = given(h, name, id)
    first.id, first.address = id, "10.0.0.1"
    local registration = h:expect(registry:register(name, first), "cannot register")
    local last = first
    for _ = 1, h:below(4) do
      zk.sleep(h:within(4))
      last = given(h, name, id)
      registration:update(last, h:within(4))
    end
    if h:chance(0.4) then
      h.stay[#h.stay + 1] = { registration = registration, port = last.port }
      return
    end
    registration:leave(h:within(6))
  end
end

local GARBAGE = { "hello", "{}", '{"id":"x","address":"a","port":"80"}' }

-- Data of a stranger: an instance, or none.
local function foreign(h)
  if h:chance(0.5) then return h:pick(GARBAGE) end
  local one = given(h, "web", "stranger")
  return ('{"id":"stranger","address":"a","port":%d,"enabled":%s,"weight":%d}'):format(one.port, tostring(one.enabled), one.weight)
end

local function stranger(h, zk, session)
  for _ = 1, h:below(4) do
    zk.sleep(h:within(6))
    session:create(DIR .. "/web/stranger", foreign(h), { parents = true, timeout = 4 })
    if h:chance(0.5) then session:set(DIR .. "/web/stranger", foreign(h), nil, { timeout = 4 }) end
    if h:chance(0.4) then session:delete(DIR .. "/web/stranger", nil, { timeout = 4 }) end
  end
end

-- ---- Readers -------------------------------------------------------------------------------------

local function check_pick(h, registry, name)
  local strategy = h:pick(STRATEGIES)
  local one, message, code = registry:pick(name, strategy, "key")
  local list, good = registry:instances(name), 0
  for _, each in ipairs(list) do
    check_instance(h, each)
    if each.enabled and not h.down[registry][each.path .. each.token] then good = good + 1 end
  end
  if not one then
    h:expect(code == "no_node" or code == "timeout", "pick: %s", message)
    h:expect(good == 0, "none is picked of %d", good)
    return
  end
  check_instance(h, one)
  h:expect(one.enabled, "%s is picked, and is not enabled", one.path)
  local is_down = h.down[registry][one.path .. one.token]
  h:expect(not is_down or good == 0, "%s is picked, and is down", one.path)
  if h:chance(0.2) and one.id ~= "stranger" then -- what is known of an instance ends when its data are none
    one:down(1000)
    h.down[registry][one.path .. one.token] = true
  end
  one:done()
end

local function looker(h, zk, registry)
  h.down[registry] = {}
  while not h.settled do
    zk.sleep(h:within(h:chance(0.5) and 0.1 or 3))
    check_pick(h, registry, h:pick(NAMES))
  end
end

-- Applies a change to what the reader knows: path > the instance.
local function apply(h, known, change)
  local of = change.instance or change.before
  local before = known[of.path]
  h:expect((change.kind == "added") == (before == nil), "%s is %s", of.path, change.kind)
  h:expect(not before or change.before.port == before.port, "%s had the port %d", of.path, change.before and change.before.port or 0)
  h:expect((change.kind == "removed") == (change.instance == nil), "%s: %s with an instance", of.path, change.kind)
  if change.instance then check_instance(h, change.instance) end
  known[of.path] = change.instance
end

local function follower(h, zk, registry)
  local changes, known = registry:changes(), {}
  while true do
    local change, message, code = changes:next(h:within(4))
    h:expect(change or code == "timeout" or code == "connection_loss", "next: %s", message)
    if change then apply(h, known, change) end
    if not change and h.settled then break end
    if h:chance(0.3) then zk.sleep(h:within(5)) end
  end
  for _, name in ipairs(NAMES) do
    for _, one in ipairs(registry:instances(name)) do
      h:expect(known[one.path] and known[one.path].port == one.port, "%s was not told", one.path)
      known[one.path] = nil
    end
  end
  h:expect(next(known) == nil, "%s was told, and is not there", tostring(next(known)))
  changes:close()
end

-- ---- The end -------------------------------------------------------------------------------------

-- The znodes of those that have stayed have what they have written last.
local function check_stayed(h)
  for _, one in ipairs(h.stay) do
    local registration, port = one.registration, one.port
    local data = registration:state() == "present" and h.world:get(registration.path)
    h:expect(not data or data:find('"port":' .. port .. ",", 1, true), "%s has %s, not %d", registration.path, tostring(data), port)
  end
end

local function check_shown(h, registry)
  local bad = 0
  for _, name in ipairs(NAMES) do
    local shown = {}
    for _, one in ipairs(registry:instances(name)) do shown[one.id] = one end
    for _, id in ipairs(h.world:children(DIR .. "/" .. name) or {}) do
      local data = h.world:get(("%s/%s/%s"):format(DIR, name, id))
      local port = tonumber(data:match '"port":(%d+)')
      if not port then
        bad = bad + 1
      else
        h:expect(shown[id] and shown[id].port == port, "%s/%s has the port %d", name, id, port)
        shown[id] = nil
      end
    end
    h:expect(not next(shown), "%s is shown, and is not there", tostring(next(shown)))
  end
  h:expect(#registry:problems() == bad, "%d problems are told of %d", #registry:problems(), bad)
end

return function(h)
  h.written, h.writes, h.down, h.stay = {}, 0, {}, {}
  local registries = {}
  for place = 1, 1 + h:below(2) do
    local zk = h:process()
    local session = h:session(zk)
    local registry = h:expect(session:registry(DIR), "no registry")
    registries[#registries + 1] = registry
    for number = 1, h:below(3) do
      h:user(("service %d.%d"):format(place, number), zk, function() service(h, zk, registry) end)
    end
    if h:chance(0.6) then h:user("stranger " .. place, zk, function() stranger(h, zk, session) end) end
    h:user("looker " .. place, zk, function() looker(h, zk, registry) end)
    h:user("follower " .. place, zk, function() follower(h, zk, registry) end)
  end
  function h.settle()
    h.world:advance(120)
    h.settled = true
  end
  function h.check()
    h.world:advance(30)
    check_stayed(h)
    for i, registry in ipairs(registries) do
      check_shown(h, registry)
      registry:close()
      registries[i], h.down[registry] = nil, nil
    end
    for _, one in ipairs(h.stay) do one.registration:leave(60) end
    h.stay = {}
    collectgarbage()
    collectgarbage()
  end
end
