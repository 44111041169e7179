-- Watched copies. Each state in the copy existed. The states of a path come in order. The changes that a reader gets fit together. The age
-- is correct. When the faults are over, the copy equals the leader's tree. Some copies have a file, and begin with what an earlier copy has
-- written. In some histories an allocation fails now and then.

local core = require "zkrecipes.core"

local ROOT = "/t"
local PATHS = { ROOT, "/t/a", "/t/b", "/t/b/x", "/t/b/y", "/t/c" }
local FRESH = 4 -- an age of 0 means this part of the timeout at most
local SLACK = 0.02 -- seconds: the trace rounds, and a message takes its time

-- ---- What the leader had -------------------------------------------------------------------------

-- Calls fn(state) after each change from this time on, until fn returns true. state: path > the znode's zxids.
local function replay(h, from, fn)
  local state = {}
  for _, change in ipairs(h.changes) do
    if change.at > from and fn(state) then return true end
    if change.kind == "delete" then
      state[change.path] = nil
    elseif change.kind == "create" then
      state[change.path] = { czxid = change.zxid, mzxid = change.zxid }
    elseif change.kind == "set" then
      state[change.path] = { czxid = state[change.path].czxid, mzxid = change.zxid }
    end
  end
  return fn(state)
end

local function number(zxid) return tonumber(zxid, 16) end

local function is_same(stat, state)
  if not stat or not state then return stat == nil and state == nil end
  return number(stat.czxid) == number(state.czxid) and number(stat.mzxid) == number(state.mzxid)
end

-- The options of a copy, and the paths that these options leave out.
local CHOICES = {
  { without = {} },
  { without = {} },
  { depth = 2, without = {} },
  { depth = 1, without = { "/t/b/x", "/t/b/y" } },
  { depth = 0, without = { "/t/a", "/t/b", "/t/b/x", "/t/b/y", "/t/c" } },
  { filter = { "/t/b/x", "/t/a" }, without = { "/t/b/y", "/t/c" } },
  { filter = { "/t/*/y" }, without = { "/t/b/x" } },
  { filter = { "/t/b" }, without = { "/t/a", "/t/c" } },
}

local function is_wanted(choice, path)
  for _, left_out in ipairs(choice.without) do
    if path == left_out then return false end
  end
  return true
end

local function stats_of(tree)
  local stats = {}
  for _, path in ipairs(PATHS) do
    stats[path] = select(2, tree:get(path)) or false
  end
  return stats
end

local function fits(stats, choice, state)
  for _, path in ipairs(PATHS) do
    if is_wanted(choice, path) and not is_same(stats[path] or nil, state[path]) then return false end
  end
  return true
end

-- ---- The rules -----------------------------------------------------------------------------------

-- The state of this path in the copy existed, with these data.
local function check_existed(h, path, data, stat)
  local found = h.texts[path .. stat.mzxid]
  h:expect(found == nil or found == data, "one state of %s had the data %s and %s", path, tostring(found), tostring(data))
  h.texts[path .. stat.mzxid] = data
  h:expect(data:find(path .. "#", 1, true) == 1, "%s shows the data %s", path, data)
  local existed = replay(h, -1, function(state) return is_same(stat, state[path]) end)
  h:expect(existed, "%s was never in the state %s", path, stat.mzxid)
end

local function check_order(h, path, last, stat)
  if not last then return end
  h:expect(number(stat.czxid) >= number(last.czxid) and number(stat.mzxid) >= number(last.mzxid),
    "%s goes back from %s to %s", path, last.mzxid, stat.mzxid)
end

-- The leader's tree was equal to the copy at some moment within the copy's age.
local function check_age(h, tree, choice, session)
  local age, now = tree:age(), h.world:now()
  if age == math.huge then return end
  h:expect(age >= 0 and age <= now + SLACK, "the age is %f", age)
  local stats, since = stats_of(tree), now - (age == 0 and session.timeout / FRESH or age) - h.stale - SLACK
  if age == 0 then
    h:expect(replay(h, since, function(state) return fits(stats, choice, state) end), "the age is 0 at %.3f, without reason", now)
    return
  end
  for _, path in ipairs(PATHS) do
    h:expect(not is_wanted(choice, path) or replay(h, since, function(state) return is_same(stats[path] or nil, state[path]) end),
      "%s was not in this state in the last %f seconds, at %.3f", path, age, now)
  end
end

-- ---- Users ---------------------------------------------------------------------------------------

local WRITES = {
  function(session, path, data) session:create(path, data) end,
  function(session, path, data) session:create(path, data) end,
  function(session, path, data) session:set(path, data) end,
  function(session, path, data) session:set(path, data) end,
  function(session, path) session:delete(path) end,
  function(session, path, data) session:multi { { "delete", path }, { "create", path, data } } end,
}

local function writer(h, zk, session, name)
  local count = 0
  while not h.healed do
    count = count + 1
    local path = h:pick(PATHS)
    if h:chance(0.03) then session:delete_tree(ROOT) end
    h:pick(WRITES)(session, path, ("%s#%s.%d"):format(path, name, count))
    if h.starves and not h.healed and h:chance(0.2) then core.alloc_fail(h:below(12)) end
    zk.sleep(h:chance(0.5) and 0 or h:within(h:chance(0.7) and 0.3 or 4))
  end
end

-- Applies a change to what the reader knows.
local function follow(h, picture, change)
  local path = change.path
  local before = picture[path]
  h:expect((change.kind == "added") == not before, "%s is %s, but was %s before", path, change.kind, before and "known" or "unknown")
  h:expect((change.before ~= nil) == (before ~= nil), "%s: before", path)
  h:expect(not before or is_same(change.before.stat, before), "%s: `before` is not the state before", path)
  if change.kind == "removed" then
    h:expect(change.stat == nil, "%s: was removed, but has a stat", path)
    picture[path] = nil
    return
  end
  check_existed(h, path, change.data, change.stat)
  check_order(h, path, picture.last[path], change.stat)
  h:expect(change.kind == "added" or number(change.stat.czxid) == number(before.czxid), "%s: changed into another znode", path)
  h:expect(change.kind == "added" or number(change.stat.mzxid) > number(before.mzxid), "%s: changed into the same state", path)
  picture[path], picture.last[path] = change.stat, change.stat
end

local function is_late(h, code)
  return code == "timeout" or code == "connection_loss" or code == "canceled" or h.starves and code == "no_memory"
end

local function reader(h, zk, tree, choice)
  local changes = tree:changes()
  while not changes do
    zk.sleep(0.1)
    changes = tree:changes()
  end
  local picture, slow = { last = {} }, h:chance(0.4)
  while true do
    local healed = h.synced
    local change, message, code
    if h:chance(0.2) then
      change, message, code = h:attempt(zk, function() return changes:next(h:within(3)) end, { })
    else
      change, message, code = changes:next(healed and 0 or 2)
    end
    h:expect(change or is_late(h, code), "next: %s", message)
    if change then follow(h, picture, change) end
    if healed and not change and code == "timeout" then break end
    if slow and not healed then zk.sleep(h:within(6)) end
  end
  local stats = stats_of(tree)
  for _, path in ipairs(PATHS) do
    h:expect(not is_wanted(choice, path) or is_same(stats[path] or nil, picture[path]), "a reader does not know of %s", path)
  end
  if h:chance(0.5) then changes:close() end
end

local function looker(h, zk, tree, choice, session)
  local last = {}
  while not h.synced do
    zk.sleep(h:within(h:chance(0.5) and 0.05 or 3))
    check_age(h, tree, choice, session)
    for path, data, stat in tree:pairs() do
      h:expect(is_wanted(choice, path), "%s is in the copy", path)
      check_existed(h, path, data, stat)
      check_order(h, path, last[path], stat)
      last[path] = stat
    end
    if h:chance(0.1) then
      local ok, message, code = h:attempt(zk, function() return tree:await(function() return h:chance(0.2) end, h:within(4)) end)
      h:expect(ok or is_late(h, code), "await: %s", message)
    end
  end
end

local function opened(h, zk, session, choice, file)
  while true do
    local tree, message, code = session:tree(ROOT, { depth = choice.depth, filter = choice.filter, file = file })
    if tree then return tree end
    h:expect(h.starves and code == "no_memory", "tree: %s", message)
    zk.sleep(0.1)
  end
end

-- The name of a file that does not exist.
local function new_file()
  local name = os.tmpname()
  os.remove(name)
  return name
end

-- The file equals the leader's tree, and its age is correct.
local function check_file(h, zk, session, choice, file)
  local tree = opened(h, zk, session, choice, file)
  local stats = stats_of(tree)
  h:expect(tree.source == "file", "there is no file at the end")
  h:expect(replay(h, math.huge, function(state) return fits(stats, choice, state) end), "the file is not what the leader has")
  check_age(h, tree, choice, session)
  tree:close()
  os.remove(file)
end

local function keeper(h, zk, session, place)
  local choice, file = h:pick(CHOICES), h:chance(0.4) and new_file() or nil
  local tree = opened(h, zk, session, choice, file)
  for _ = 1, 4 do
    if h:chance(0.2) then
      local ok, message, code = h:attempt(zk, function() return tree:ready(h:within(5)) end)
      h:expect(ok or is_late(h, code), "ready: %s", message)
    end
    if h:chance(file and 0.6 or 0.2) then
      if file then zk.sleep(h:within(6)) end
      tree:close()
      if file then zk.sleep(h:within(6)) end
      tree = opened(h, zk, session, choice, file)
    end
  end
  local users = { left = 0 }
  local function use(name, fn)
    users.left = users.left + 1
    h:user(name .. place, zk, function()
      fn()
      users.left = users.left - 1
    end)
  end
  for _ = 1, h:below(3) do use("reader ", function() reader(h, zk, tree, choice) end) end
  use("looker ", function() looker(h, zk, tree, choice, session) end)
  while not h.healed do zk.sleep(1) end
  h:expect(tree:await(function()
    return tree:age() == 0 and replay(h, math.huge, function(state) return fits(stats_of(tree), choice, state) end)
  end, 200) or tree:age() == 0, "the copy is not what the leader has, %f s old", tree:age())
  zk.sleep(20)
  if tree:age() > 0 then zk.sleep(5) end -- a copy reads a missing root again once a minute
  h:expect(tree:age() == 0, "the age is %f, after the faults", tree:age())
  local stats = stats_of(tree)
  h:expect(replay(h, math.huge, function(state) return fits(stats, choice, state) end), "the copy is not what the leader has")
  h.keepers = h.keepers - 1
  h.synced = h.keepers == 0
  while users.left > 0 do zk.sleep(1) end
  tree:close()
  if file then check_file(h, zk, session, choice, file) end
end

-- Makes further copies now and then, which join the requests of others, and closes them while these wait for the answers.
local function guest(h, zk, session)
  while not h.healed do
    zk.sleep(h:within(h:chance(0.5) and 0.2 or 2))
    local choice = h:pick(CHOICES)
    local tree = opened(h, zk, session, choice)
    if h:chance(0.5) then zk.sleep(h:within(0.2)) end
    if h:chance(0.5) then tree:ready(h:within(2)) end
    check_age(h, tree, choice, session)
    tree:close()
  end
end

-- Ends sessions while a server lags behind, because the next session may connect to that server.
local function ender(h, zk, keepers)
  while not h.healed do
    zk.sleep(h:within(4))
    if h.healed then return end
    h.world:lag(1 + h:below(h.world.servers - 1), h.lag)
    h.world:expire(h:pick(keepers))
  end
end

return function(h)
  local keepers = {}
  h.texts, h.keepers = {}, 0
  for place = 1, h:below(3) do
    local zk = h:process()
    keepers[place] = zk
    local session = h:session(zk)
    if h:chance(0.3) then h:user("guest " .. place, zk, function() guest(h, zk, session) end) end
    for copy = 1, h:below(3) do
      h.keepers = h.keepers + 1
      local name = ("%d.%d"):format(place, copy)
      h:user("keeper " .. name, zk, function() keeper(h, zk, session, name) end)
    end
  end
  for place = 1, h:below(2) do
    local zk = h:process()
    local session = h:session(zk)
    h:user("writer " .. place, zk, function() writer(h, zk, session, "w" .. place) end)
  end
  if h.lag > 0 and h.world.servers > 1 and h:chance(0.5) then
    local zk = h:process()
    h:session(zk)
    h:user("ender", zk, function() ender(h, zk, keepers) end)
  end
  h.starves = h:chance(0.3)
end
