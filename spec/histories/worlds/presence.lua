-- Presences. The data of a successful update were on the leader. A presence deletes its znode when it leaves, not before, and leaves
-- nothing behind. It writes or deletes a foreign znode only if another client has deleted its own. When the faults are over, each presence
-- has its znode with the last data. In some histories other clients delete, write and create these znodes, and in some an allocation fails
-- now and then.

local SLACK = 0.02 -- seconds: the trace rounds

local LATE = { timeout = true, connection_loss = true, canceled = true }

local function expect_failure(h, method, message, code)
  h:expect(LATE[code] or h.starves and code == "no_memory", "%s: %s", method, tostring(message))
end

-- ---- What the leader had -------------------------------------------------------------------------

-- Calls fn(change, owner) for each change of the path. owner: the session whose znode existed before the change (nil: none did).
local function each_change(h, path, fn)
  local owner
  for _, change in ipairs(h.changes) do
    if change.path == path then
      if owner and h.ends[owner] and h.ends[owner] < change.at - SLACK then owner = nil end
      fn(change, owner)
      if change.kind == "create" then owner = change.session end
      if change.kind == "delete" then owner = nil end
    end
  end
end

-- True if anything but this session's writes has changed the path since then.
local function was_disturbed(h, path, session, since)
  local ended = h.ends[session.id or ""]
  local found = ended and ended >= since - SLACK
  each_change(h, path, function(change)
    if change.at >= since - SLACK and (change.session ~= session.id or change.kind == "delete") then found = true end
  end)
  return found
end

local function number_of(life, data)
  local tag, number = data:match "^(.-)#(%d+)$"
  return tag == life.tag and tonumber(number) or nil
end

-- The znode has these data, or later ones of this life, or another client has changed it since.
local function check_has(h, life, number, since)
  local data, stat = h.world:get(life.path)
  if was_disturbed(h, life.path, life.session, since) then return end
  h:expect(data, "%s is not there", life.path)
  h:expect(stat.ephemeral_owner == life.session.id, "%s belongs to %s, not to %s", life.path, stat.ephemeral_owner, life.session.id)
  local found = number_of(life, data)
  h:expect(found and found >= number, "%s has the data %s, not %s#%d", life.path, data, life.tag, number)
end

-- ---- A member ------------------------------------------------------------------------------------

local function next_data(life)
  life.given = life.given + 1
  return life.tag .. "#" .. life.given
end

local function opened(h, zk, session, path, tag)
  local life = { session = session, path = path, tag = tag, given = 0, from = h.world:now() }
  h.lives_of[#h.lives_of + 1] = life
  while true do
    local presence, message, code = session:presence(path, next_data(life))
    if presence then return presence, life end
    h:expect(h.starves and code == "no_memory", "presence: %s", message)
    zk.sleep(0.1)
  end
end

local function update(h, zk, presence, life)
  local data, number, began = next_data(life), life.given, h.world:now()
  local ok, message, code = h:attempt(zk, function() return presence:update(data, h:chance(0.7) and h:within(8) or 0) end)
  if ok then check_has(h, life, number, began) else expect_failure(h, "update", message, code) end
end

local function ready(h, zk, presence, life)
  local number = life.given
  local ok, message, code = h:attempt(zk, function() return presence:ready(h:within(8)) end)
  if ok then
    life.seen = number
  else
    expect_failure(h, "ready", message, code)
  end
end

local function look(h, _, presence, life)
  local state = presence:state()
  h:expect(state == "joining" or state == "present" or state == "blocked", "the state is %s", state)
  if state ~= "present" then return end
  local made
  each_change(h, life.path, function(change) made = made or change.kind == "create" and change.session == life.session.id end)
  h:expect(made, "%s is present, but was never created in this session", life.path)
end

local ACTS = { update, update, update, ready, look }

local function leave(h, zk, presence, life)
  life.leaves = h.world:now()
  if h:chance(0.2) then return end -- the presence is collected
  while true do
    local ok, message, code = h:attempt(zk, function() return presence:leave(h:chance(0.7) and h:within(8) or nil) end)
    if ok then break end
    expect_failure(h, "leave", message, code)
  end
  life.left = h.world:now()
  local data, stat = h.world:get(life.path)
  local stands = data and stat.ephemeral_owner == life.session.id and number_of(life, data)
  h:expect(not stands, "%s is there after leave", life.path)
  h:expect(presence:state() == "left", "the state is %s after leave", presence:state())
  local again, message, code = presence:leave()
  if not again then expect_failure(h, "leave again", message, code) end
  local late, why, word = presence:update "late"
  h:expect(not late, "an update after leave")
  if word ~= "closed" then expect_failure(h, "update after leave", why, word) end
end

-- Another client's znode may be at the path for a while.
local function settle(h, presence, life)
  while true do
    local data, number, began = next_data(life), life.given, h.world:now()
    local ok, message, code = presence:update(data, 20)
    if ok then
      check_has(h, life, number, began)
      break
    end
    expect_failure(h, "update", message, code)
  end
end

local function live(h, zk, session, path, tag, last)
  local presence, life = opened(h, zk, session, path, tag)
  for _ = 1, h:below(6) do
    zk.sleep(h:chance(0.6) and h:within(0.05) or h:within(6))
    h:pick(ACTS)(h, zk, presence, life)
  end
  if last then
    while not h.healed do zk.sleep(1) end
    zk.sleep(40)
    local data = h.world:get(path)
    local right = presence:state() ~= "present" or h.starves or number_of(life, data or "") == life.given
    h:expect(right, "%s has the data %s, not %s#%d", path, tostring(data), tag, life.given)
    settle(h, presence, life)
    zk.sleep(h:within(10))
    settle(h, presence, life)
    h:expect(presence:state() == "present" and presence:ready(0), "it is %s", presence:state())
  end
  leave(h, zk, presence, life)
end

local function member(h, zk, session, path, tag)
  local lives = h:below(3)
  for number = 1, lives do
    live(h, zk, session, path, ("%s.%d"):format(tag, number), number == lives)
    collectgarbage()
  end
end

-- ---- Other clients -------------------------------------------------------------------------------

local OTHERS = {
  function(session, path) session:delete(path) end,
  function(session, path) session:delete(path) end,
  function(session, path) session:set(path, "other's") end,
  function(session, path, h, zk)
    if session:create(path, "other's", { ephemeral = h:chance(0.7), parents = true }) then
      zk.sleep(h:within(6))
      session:delete(path)
    end
  end,
}

local function other(h, zk, session, paths)
  while not h.healed do
    zk.sleep(h:within(h:chance(0.5) and 0.05 or 6))
    h:pick(OTHERS)(session, h:pick(paths), h, zk)
  end
  repeat -- deletes the znodes that it has created
    local ok = true
    for _, path in ipairs(paths) do
      local data, _, code = session:get(path)
      if data == "other's" or not data and code ~= "no_node" then
        ok = session:delete(path) and ok
      end
    end
    zk.sleep(1)
  until ok
  session:close() -- otherwise it counts an ephemeral znode whose create was lost until it finds out that the znode is gone
end

-- ---- The rules at the end ------------------------------------------------------------------------

-- True if a presence of this session at the path had begun to leave at this time.
local function may_delete(h, path, id, at)
  for _, life in ipairs(h.lives_of) do
    if life.path == path and life.ids[id] and life.leaves and at >= life.leaves - SLACK then return true end
  end
end

local function may_create(h, path, id, at)
  for _, life in ipairs(h.lives_of) do
    if life.path == path and life.ids[id] and at >= life.from - SLACK and not (life.left and at > life.left + SLACK) then return true end
  end
end

-- A session's write can hit a foreign znode only if that was written at most as often as the session's own znode.
local function check_hits(h, path)
  local version, ours = 0, {}
  each_change(h, path, function(change, owner)
    version = (change.kind == "create" or not owner) and 0 or change.kind == "set" and version + 1 or version
    if change.session == owner or not owner then
      ours[change.session] = version
    elseif change.kind == "set" and h.ids[change.session] then
      h:expect(version - 1 <= (ours[change.session] or -1), "%s hits version %d of %s", change.session, version - 1, path)
    elseif ours[owner] then
      ours[owner] = version
    end
  end)
end

local function check_changes(h, path)
  check_hits(h, path)
  each_change(h, path, function(change, owner)
    local is_member = h.ids[change.session]
    if not is_member then return end
    if change.kind == "create" then
      h:expect(may_create(h, path, change.session, change.at), "%s creates %s after it has left", change.session, path)
      return
    end
    h:expect(h.others or change.session == owner, "%s hits the znode of %s: %s %s", change.session, tostring(owner), change.kind, path)
    if change.kind == "delete" then
      h:expect(may_delete(h, path, change.session, change.at), "%s deletes %s, but has not left", change.session, path)
    end
  end)
end

return function(h)
  h.lives_of, h.ids = {}, {}
  h.others = h:chance(0.5)
  local paths, sessions = {}, {}
  for i = 1, h:below(3) do paths[i] = "/p/" .. i end
  for number = 1, 1 + h:below(2) do
    local zk = h:process()
    local session = h:session(zk)
    sessions[number] = session
    for i = 1, h:below(3) do
      local path = h:chance(0.5) and h:pick(paths) or ("/p/own-%d-%d"):format(number, i)
      local name = ("%d.%d"):format(number, i)
      h:user("member " .. name, zk, function() member(h, zk, session, path, name) end)
      if path:find "own" then paths[#paths + 1] = path end
    end
    h:user("clock " .. number, zk, function() -- records the session's ids
      while not h.healed do
        if session.id then h.ids[session.id] = number end
        zk.sleep(0.5)
      end
    end)
  end
  if h.others then
    local zk = h:process()
    local session = h:session(zk)
    h:user("other", zk, function() other(h, zk, session, paths) end)
  end
  h.starves = h:chance(0.3)
  function h.check()
    for number, session in ipairs(sessions) do if session.id then h.ids[session.id] = number end end
    for _, life in ipairs(h.lives_of) do
      life.ids = {}
      for id, number in pairs(h.ids) do
        if sessions[number] == life.session then life.ids[id] = true end
      end
    end
    for _, path in ipairs(paths) do check_changes(h, path) end
    h.lives_of = {}
    collectgarbage()
    collectgarbage()
  end
end
