-- Groups. A reader's changes add up to the members in the end. The reader reports `left` only for a member whose znode has been missing for
-- the grace. Members are in the order in which their znodes were created. Two members with the same id are never present together.

local DIR = "/g"
local SLACK = 0.02 -- seconds: the trace rounds
local IDS = { "a", "b/1", "z", "\0", "" }

-- ---- What the leader had -------------------------------------------------------------------------

-- The lives of this path's znodes: { from, to }; to is math.huge while the znode exists.
local function lives_of(h, path)
  local lives = {}
  for _, change in ipairs(h.changes) do
    local last = lives[#lives]
    if change.path == path and change.kind == "create" then
      lives[#lives + 1] = { from = change.at, to = h.ends[change.session] or math.huge }
    elseif change.path == path and change.kind == "delete" then
      last.to = change.at
    end
  end
  return lives
end

-- Returns true if a life ended before `by`; and true if a znode has existed all the time since `since`.
local function judge(lives, by, since)
  local ended, stayed = false, false
  for _, life in ipairs(lives) do
    ended = ended or life.to <= by
    stayed = stayed or life.from <= since and life.to == math.huge
  end
  return ended, stayed
end

-- ---- A reader ------------------------------------------------------------------------------------

local function has(group, id)
  for _, member in ipairs(group:members()) do
    if member.id == id then return true end
  end
end

local function check_left(h, zk, group, change)
  if group.grace == 0 then return end -- its znode may have been created again
  h:expect(not has(group, change.id), "%s has left, but is a member", change.id)
  if group:age() > 0 then return end
  local now, since = h.world:now(), h.world:now() - h.stale - group.session.timeout / 4 - SLACK
  local ended, stayed = judge(lives_of(h, DIR .. "/" .. zk.escape(change.id)), now - group.grace + SLACK, since)
  h:expect(ended, "%s has not left %f seconds ago", change.id, group.grace)
  h:expect(not stayed, "%s has left, but its znode has existed for long", change.id)
end

local function apply(h, zk, group, change, known)
  local before = known[change.id]
  if change.kind == "joined" then
    h:expect(not before, "%s joins twice", change.id)
  else
    h:expect(before, "%s %s, but has not joined", change.id, change.kind)
    h:expect(before.data == change.before, "%s had %s, not %s", change.id, before.data, tostring(change.before))
  end
  if change.kind == "left" then check_left(h, zk, group, change) end
  known[change.id] = change.kind ~= "left" and change or nil
end

local function check_members(h, group, known)
  local list, last = group:members(), ""
  for _, member in ipairs(list) do
    h:expect(member.token > last, "%s is not in its place", member.id)
    last = member.token
    local told = known[member.id]
    h:expect(told and told.data == member.data and told.token == member.token, "%s is a member, but was not reported so", member.id)
    known[member.id] = nil
  end
  h:expect(not next(known), "%s was reported, but is no member", tostring(next(known)))
  h:expect(#list == #(h.world:children(DIR) or {}), "%d members are listed", #list)
end

local function reader(h, zk, group)
  local changes, known = group:changes(), {}
  local over
  while true do
    if h:chance(0.2) then zk.sleep(h:within(3)) end
    local change, message, code = changes:next(h:within(4))
    h:expect(change or code == "timeout" or code == "connection_loss", "next: %s", message)
    if change then apply(h, zk, group, change, known) end
    over = over or (h.left == 0 and h.world:now() + 60)
    if over and h.world:now() > over then break end
  end
  check_members(h, group, known)
  changes:close()
  group:close()
end

-- ---- Members -------------------------------------------------------------------------------------

local function joiner(h, zk, group)
  for _ = 1, h:below(3) do
    zk.sleep(h:within(4))
    h.number = h.number + 1
    local member = h:expect(group:join("first " .. h.number, { id = h:pick(IDS) }), "cannot join")
    for _ = 1, h:below(4) do
      zk.sleep(h:within(4))
      local number = h.number + 1
      h.number = number
      if h:chance(0.5) then member:update("data " .. number, h:within(2)) end
    end
    h:expect(member:leave(), "cannot leave")
  end
end

local function stays(h, zk, group)
  local id = h:pick(IDS)
  local member = h:expect(group:join("stays", { id = id }), "cannot join")
  while not h.healed do zk.sleep(1) end
  h:expect(member:ready(300) or member:state() == "blocked", "%s is %s", id, member:state())
  h:expect(group:await(1, 100), "there is no member")
  h.left = h.left - 1
  while h.readers > 0 do zk.sleep(1) end
  h:expect(member:leave(), "cannot leave")
  group:close()
end

return function(h)
  h.number, h.left, h.readers = 0, 0, 0
  for number = 1, 1 + h:below(2) do
    local zk = h:process()
    local session = h:session(zk)
    local group = session:group(DIR)
    for i = 1, h:below(2) do
      local name = ("%d.%d"):format(number, i)
      h:user("joiner " .. name, zk, function() joiner(h, zk, group) end)
    end
    h.left = h.left + 1
    h:user("stays " .. number, zk, function() stays(h, zk, group) end)
  end
  for number = 1, h:below(2) do
    local zk = h:process()
    local session = h:session(zk)
    h.readers = h.readers + 1
    h:user("reader " .. number, zk, function()
      reader(h, zk, session:group(DIR, { grace = h:chance(0.3) and 0 or h:within(12) }))
      h.readers = h.readers - 1
    end)
  end
end
