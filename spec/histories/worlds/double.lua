-- The double barrier. n members begin together. No member leaves while another living member of its round is inside. Each member that
-- leaves is told how many of its round died or gave up. The program drops some members while they are inside, or after a leave that failed.

local PATH = "/d/phase"

-- The tags of the round of this tag, or nil.
local function round_of(h, tag)
  for _, name in ipairs(h.world:children(PATH) or {}) do
    local data = name:find "^round%-" and h.world:get(PATH .. "/" .. name)
    if data and ("\n" .. data .. "\n"):find("\n" .. tag .. "\n", 1, true) then
      local tags = {}
      for other in data:gmatch "[^\n]+" do tags[#tags + 1] = other end
      return tags
    end
  end
end

-- The number of these tags that did not leave. A member has left if it called leave and a request deleted its m- znode. The clean-up of a
-- dropped member deletes that znode too, so there only the member's mark shows that it has left. (The trace does not show znodes that end
-- with their session.)
local function count_dead(h, tags)
  local deleted, dead = {}, 0
  for _, change in ipairs(h.changes) do
    local tag = change.kind == "delete" and change.path:match "/m%-(.+)$"
    if tag and not h.dropped[tag] then deleted[tag] = true end
    tag = change.kind == "create" and change.path:match "/round%-[^/]+/(.+)$"
    if tag then deleted[tag] = true end
  end
  for _, tag in ipairs(tags) do dead = dead + (h.leaving[tag] and deleted[tag] and 0 or 1) end
  return dead
end

-- The number that the member is told is exact. It is missing only if the member's session was lost.
local function check_dead(h, session, id, tags, dead)
  if dead then
    local truth = count_dead(h, tags)
    h:expect(dead == truth, "%d died or gave up, and leave tells %s", truth, dead)
  else
    h:expect(session.id ~= id or h.ends[id], "leave does not tell how many died")
  end
  h.told = (h.told or 0) + (dead and 1 or 0)
end

-- Perhaps tries once to leave; then drops the member.
local function drop(h, zk, barrier)
  local tag = barrier.member.tag
  h.dropped[tag] = true
  if not h:chance(0.5) then return end
  h.leaving[tag] = true
  h:attempt(zk, function() return barrier:leave(h:within(2)) end)
end

-- Repeats leave until it succeeds.
local function leave(h, zk, session, barrier, tags)
  local mine, id = barrier.member.tag, barrier.member.id
  tags = tags or round_of(h, mine) or {}
  repeat
    local timeout = h:chance(0.5) and h:within(5) or nil
    h.leaving[mine] = true
    local left, message, code = h:attempt(zk, function()
      local left, message, code = barrier:leave(timeout)
      for _, tag in ipairs(left and tags or {}) do
        local other = h.inside[tag]
        h:expect(not (other and h.world:alive(other)), "left before %s", tag)
      end
      if left and #tags > 0 then check_dead(h, session, id, tags, message) end
      return left, message, code
    end)
    h:expect(left or code == "canceled" or timeout and (code == "timeout" or code == "connection_loss") or
      h.starves and code == "no_memory", "leave: %s", message)
  until left
end

local function round(h, zk, session, size, timeout)
  local tag, tags
  local barrier, problem, why = session:double_barrier(PATH, size)
  h:expect(barrier or h.starves and why == "no_memory", "double_barrier: %s", problem)
  if not barrier then return end
  local entered, message, code, came = h:attempt(zk, function()
    local entered, message, code, came = barrier:enter(timeout)
    if not entered then return nil, message, code, came end
    tag = barrier.member.tag
    tags = round_of(h, tag) or {}
    h:expect(#tags == size or not h.world:alive(session.id), "%d are in a round for %d", #tags, size)
    h.inside[tag] = session.id
    return true
  end)
  local late = timeout and (code == "timeout" or code == "connection_loss")
  h:expect(entered or late or code == "canceled" or code == "lost" or h.starves and code == "no_memory", "enter: %s", message)
  if code == "timeout" then h:expect(came and came >= 1 and came <= size, "%s of %d came, says enter", came, size) end
  if not barrier.member then return end
  zk.sleep(h:within(3))
  if tag then h.inside[tag] = nil end
  if h.healed or not h:chance(0.2) then return leave(h, zk, session, barrier, tags) end
  drop(h, zk, barrier)
  return true
end

local function worker(h, zk, session, size)
  while not h.healed do
    local dropped = round(h, zk, session, size, h:pick { 0, h:within(0.02), h:within(6), h:within(6), false } or nil)
    if dropped then collectgarbage() end -- collect here: the collector's own time differs from run to run
    zk.sleep(h:within(1.5))
  end
end

return function(h)
  local size, zk, session = h:below(4), nil, nil
  h.inside, h.leaving, h.dropped, h.starves = {}, {}, {}, h:chance(0.3)
  for number = 1, 1 + h:below(3) do
    zk = h:process()
    local mine, its = zk, h:session(zk)
    session = its
    for place = 1, h:below(3) do
      h:user(("member %d.%d"):format(number, place), mine, function() worker(h, mine, its, size) end)
    end
  end
  function h.settle()
    h.world:advance(60)
    local left = 0
    for _, user in ipairs(h.users) do left = left + (user.task.done and 0 or 1) end
    h:expect(left < size, "%d wait, though %d are enough", left, size)
    local names = h.world:children(PATH) or {}
    local members = 0
    for _, name in ipairs(names) do members = members + (name:find "^[wm]%-" and 1 or 0) end
    h:expect(members == 2 * left, "%d wait, but this is there: %s", left, table.concat(names, " "))
    for place = 1, size - left do -- also if none are left: a full round sweeps the znodes of rounds whose members have died
      h:user("last " .. place, zk, function() round(h, zk, session, size) end)
    end
  end
  function h.check()
    local names = h.world:children(PATH) or {}
    h:expect(#names == 0, "left: %s", table.concat(names, " "))
  end
end
