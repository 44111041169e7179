-- The cyclic barrier. Every round has n members, and each of them is told. A member that gave up is in no round. Nothing is left in the
-- end. In some histories there are znodes of another program, which are no members.

local PATH = "/c/step"
local LITTER = { ["w-foo"] = true, ["w-n2-x"] = true }

local function count(h, pattern)
  local number = 0
  for _, name in ipairs(h.world:children(PATH) or {}) do
    if name:find(pattern) then number = number + 1 end
  end
  return number
end

-- Request > the tags of the w- and m- znodes that it deletes, by the leader's log. alien = true: it deletes a w- of another session.
local function deletions(h)
  local requests, makers = {}, {}
  for _, change in ipairs(h.changes) do
    local kind, tag = change.path:match "/([wm])%-n%d+%-(%x+%-%d+)$"
    if kind and change.kind == "create" then makers[change.path] = change.session end
    if kind and change.kind == "delete" then
      local request = requests[change.zxid] or { w = {}, m = {} }
      requests[change.zxid] = request
      table.insert(request[kind], tag)
      if kind == "w" and makers[change.path] ~= change.session then request.alien = true end
    end
  end
  return requests
end

-- Tag > the requests that delete its w- but not its m-: those that begin a round, and perhaps one of a member that gives up.
local function in_rounds(h)
  local rounds = {}
  for _, request in pairs(deletions(h)) do
    for _, tag in ipairs(#request.m == 0 and request.w or {}) do
      rounds[tag] = rounds[tag] or {}
      table.insert(rounds[tag], request)
    end
  end
  return rounds
end

-- Each attempt has its own object, which tells the tag of its member.
local function member(h, zk, session, timeout)
  local attempt = {}
  local barrier, message, code = session:cyclic_barrier(PATH, h.size)
  local passed
  if barrier then
    passed, message, code = h:attempt(zk, function() return barrier:wait(timeout) end)
    attempt.tag = barrier.member and barrier.member.tag:match "^n%d+%-(.+)$"
  end
  local late = timeout and (code == "timeout" or code == "connection_loss")
  h:expect(passed or late or code == "canceled" or code == "lost" or h.starves and code == "no_memory", "wait: %s", message)
  attempt.code = passed and "through" or code
  table.insert(h.attempts, attempt)
end

local function worker(h, zk, session)
  while not h.healed do
    member(h, zk, session, h:pick { 0, h:within(0.02), h:within(6), h:within(6), false } or nil)
    zk.sleep(h:within(1.5))
  end
end

local function litter(h, zk, session)
  zk.sleep(h:within(6))
  for name in pairs(LITTER) do
    if h:attempt(zk, function() return session:create(PATH .. "/" .. name, "") end) then table.insert(h.littered, name) end
  end
end

-- The members' znodes.
local function rest(h)
  local names = {}
  for _, name in ipairs(h.world:children(PATH) or {}) do names[#names + 1] = not LITTER[name] and name or nil end
  return table.concat(names, " ")
end

local function waiting(h)
  local number = 0
  for _, user in ipairs(h.users) do number = number + (user.task.done and 0 or 1) end
  return number
end

-- After these outcomes the round may have begun or not.
local UNKNOWN = { lost = true, canceled = true, connection_loss = true }

-- If a reconnect is answered with another session, the first session lives on for a while, and a late request may create the znodes of a
-- member that has given up. That member is in no round, or it is in one like a member that has died, perhaps even in two. When it gives up,
-- it deletes the znodes that it finds, one after the other, in its new session: a delete of its w- alone is not a round. Within one session
-- this cannot happen: the server drops late requests once the session has connected again.
local function check_rounds(h, attempt, rounds)
  local late = h.renames and UNKNOWN[attempt.code]
  h:expect(attempt.code ~= "through" or #rounds > 0, "%s is through, and was in no round", attempt.tag)
  h:expect(attempt.code ~= "timeout" or #rounds == 0, "%s was in a round, and gave up", attempt.tag)
  h:expect(#rounds <= 1 or late, "%s was in %d rounds", attempt.tag, #rounds)
  for _, request in ipairs(rounds) do
    local alone = #request.w == 1 and request.alien and late
    h:expect(#request.w == h.size or alone, "%s was in a round of %d", attempt.tag, #request.w)
  end
end

return function(h)
  local size, zk, session = h:below(4), nil, nil
  h.attempts, h.size, h.starves, h.littered = {}, size, h:chance(0.3), {}
  for number = 1, 1 + h:below(3) do
    zk = h:process()
    local mine, its = zk, h:session(zk)
    session = its
    for place = 1, h:below(3) do
      h:user(("member %d.%d"):format(number, place), mine, function() worker(h, mine, its) end)
    end
  end
  if h:chance(0.3) then
    local theirs = h:process()
    local other = h:session(theirs)
    h:user("stranger", theirs, function() litter(h, theirs, other) end)
  end
  function h.settle()
    h.world:advance(60)
    local left = waiting(h)
    h:expect(left < size, "%d wait, though %d are enough", left, size)
    h:expect(count(h, "^w%-n%d+%-%x+%-") == left, "%d wait, but %d are counted", left, count(h, "^w%-n%d+%-%x+%-"))
    h:expect(count(h, "^m%-") == left, "%d wait, but these take part: %s", left,
      table.concat(h.world:children(PATH) or {}, " "))
    for place = 1, left > 0 and size - left or 0 do
      h:user("last " .. place, zk, function()
        member(h, zk, session)
      end)
    end
  end
  function h.check()
    local rounds = in_rounds(h)
    for _, attempt in ipairs(h.attempts) do check_rounds(h, attempt, attempt.tag and rounds[attempt.tag] or {}) end
    for _, name in ipairs(h.littered) do h:expect(h.world:get(PATH .. "/" .. name), "%s was deleted", name) end
    h:expect(rest(h) == "", "left: %s", rest(h))
  end
end
