-- zkrecipes as a contestant of make bench-requests: lua bench/requests/zkrecipes.lua HOSTS PATH JOB N; see bench/README.md.
-- What HOSTS passes is counted. The session of $DIRECT prepares, and makes the changes that are to be seen.

local zk = require "zkrecipes"

local hosts, path, job, count = arg[1], arg[2], arg[3], tonumber(arg[4])
local LIMIT = 120 -- seconds
local DATA = ("x"):rep(100)
local session, direct

local function eventually(condition)
  local deadline = zk.now() + LIMIT
  while not condition() do
    assert(zk.now() < deadline, "it did not happen in time")
    zk.sleep(0.002)
  end
end

local function connect(to)
  local made = zk.session { hosts = to, timeout = 60, tick = 0.5 }
  assert(made:connected(LIMIT))
  return made
end

-- PATH with so many children.
local function plant(children)
  assert(direct:create(path, ""))
  for i = 1, children do assert(direct:create(path .. "/" .. i, DATA)) end
end

local jobs = {}

-- ---- Copies ------------------------------------------------------------------------------------

local function tree_of(children)
  plant(children)
  local tree = assert(session:tree(path))
  assert(tree:ready(LIMIT))
  assert(#tree:children(path) == children)
  return tree
end

function jobs.load() tree_of(count) end

function jobs.change()
  local tree = tree_of(10)
  for i = 1, count do
    assert(direct:set(path .. "/1", tostring(i)))
    eventually(function() return tree:get(path .. "/1") == tostring(i) end)
  end
end

function jobs.add()
  local tree = tree_of(100)
  for i = 1, count do
    assert(direct:create(path .. "/new-" .. i, DATA))
    eventually(function() return tree:get(path .. "/new-" .. i) == DATA end)
  end
end

function jobs.value()
  assert(direct:create(path, "0"))
  local config = assert(session:config(path))
  assert(config:ready(LIMIT))
  for i = 1, count do
    assert(direct:set(path, tostring(i)))
    eventually(function() return config:get() == tostring(i) end)
  end
end

-- ---- Counters ----------------------------------------------------------------------------------

function jobs.count()
  local counter = session:counter(path)
  for _ = 1, count do assert(counter:add(1)) end
end

function jobs.count_after()
  local counter, theirs = session:counter(path), direct:counter(path)
  for _ = 1, count do
    assert(theirs:add(1))
    assert(counter:add(1))
  end
end

-- ---- Members and services ----------------------------------------------------------------------

function jobs.presence()
  plant(0)
  for _ = 1, count do
    local presence = assert(session:presence(path .. "/here", DATA))
    assert(presence:ready(LIMIT))
    assert(presence:leave(LIMIT))
  end
end

-- Ten members; returns what keeps them.
local function others()
  plant(0)
  local theirs, members = assert(direct:group(path)), {}
  for i = 1, 10 do
    members[i] = assert(theirs:join("other", { id = "other-" .. i }))
    assert(members[i]:ready(LIMIT))
  end
  return members
end

function jobs.member()
  local members = others()
  for _ = 1, count do
    local group = assert(session:group(path))
    local member = assert(group:join("me"))
    assert(group:await(#members + 1, LIMIT))
    assert(member:leave(LIMIT))
    group:close()
  end
end

function jobs.who()
  local members, group = others(), assert(session:group(path))
  assert(group:await(#members, LIMIT))
  for _ = 1, count do assert(#group:members() == #members) end
end

local function instance(i) return { id = "id-" .. i, address = "10.0.0.1", port = i } end

-- A registry with so many instances, which are kept.
local function registry_of(instances)
  local theirs, kept = assert(direct:registry(path)), {}
  for i = 1, instances do
    kept[i] = assert(theirs:register("web", instance(i)))
    assert(kept[i]:ready(LIMIT))
  end
  local registry = assert(session:registry(path))
  assert(registry:ready(LIMIT))
  eventually(function() return #registry:instances("web") == instances end)
  return registry, kept
end

function jobs.services() registry_of(count) end

function jobs.register()
  local registry, kept = registry_of(1)
  for i = 1, count do
    local registration = assert(registry:register("web", instance(i + 1)))
    eventually(function() return #registry:instances("web") == #kept + 1 end)
    assert(registration:leave(LIMIT))
    eventually(function() return #registry:instances("web") == #kept end)
  end
end

function jobs.pick()
  local registry, kept = registry_of(10)
  for _ = 1, count do assert(registry:pick("web")) end
  assert(#kept == 10)
end

-- ---- Partitions --------------------------------------------------------------------------------

local function partitioner_of(its)
  local parts = {}
  for i = 1, count do parts[i] = "part-" .. i end
  return assert(its:partitioner(path, parts, { settle = 0.2 }))
end

local function gets_all(partitioner)
  eventually(function() return #partitioner:mine() == count end)
  return partitioner
end

-- The directories of the parts are there already, as they are in the long run.
function jobs.parts()
  assert(gets_all(partitioner_of(direct)):close(LIMIT))
  gets_all(partitioner_of(session))
end

function jobs.parts_half()
  local first = gets_all(partitioner_of(direct))
  local second = partitioner_of(session)
  eventually(function() return #second:mine() > 0 and #second:mine() + #first:mine() == count end)
  count = #second:mine() -- about half
end

zk.run(function()
  session, direct = connect(hosts), connect(os.getenv("DIRECT"))
  jobs[job]()
  print(('{"ops":%d}'):format(count))
  os.exit(0) -- without closing what the job has made
end)
