-- The cyclic barrier: every round has n members, and these know it; who gave up is in none; nothing is left.

local PATH = "/c/step"

local function count(h, pattern)
  local number = 0
  for _, name in ipairs(h.world:children(PATH) or {}) do
    if name:find(pattern) then number = number + 1 end
  end
  return number
end

local function bump(tally, id, name)
  local mine = tally[id] or { through = 0, unknown = 0 }
  tally[id] = mine
  mine[name] = mine[name] + 1
end

-- Session > how many of its members were in rounds, as the leader has it: a round deletes znodes w- without their m-.
local function in_rounds(h)
  local requests, numbers = {}, {}
  for _, change in ipairs(h.changes) do
    local kind, tag = change.path:match "/([wm])%-(%x+%-%d+)$"
    if kind and change.kind == "delete" then
      local request = requests[change.zxid] or { w = {}, m = {} }
      requests[change.zxid] = request
      request[kind][#request[kind] + 1] = tag:match "%x+"
    end
  end
  for _, request in pairs(requests) do
    for _, id in ipairs(#request.m == 0 and request.w or {}) do numbers[id] = (numbers[id] or 0) + 1 end
  end
  return numbers
end

-- One wait. A session's number is that at the beginning; when it has changed, nothing is known.
local function member(h, zk, session, barrier, tally, timeout)
  local id, attempt = nil, h.attempting
  local passed, message, code = attempt(h, zk, function()
    repeat
      if not session:connected(timeout) then return nil, "not connected", "timeout" end
      id = session.id
    until id
    return barrier:wait(timeout)
  end)
  h:expect(passed or code == "timeout" or code == "canceled" or code == "lost", "wait: %s", message)
  if passed then bump(tally, id, "through") elseif id and code ~= "timeout" then bump(tally, id, "unknown") end
end

local function worker(h, zk, session, barrier, tally)
  while not h.healed do
    member(h, zk, session, barrier, tally, h:pick { 0, h:within(0.02), h:within(6), h:within(6), false } or nil)
    zk.sleep(h:within(1.5))
  end
end

local function waiting(h)
  local number = 0
  for _, user in ipairs(h.users) do number = number + (user.task.done and 0 or 1) end
  return number
end

return function(h)
  local size, tally, zk, session = h:below(4), {}, nil, nil
  h.attempting, h.watches = h.attempt, math.huge
  for number = 1, 1 + h:below(3) do
    zk = h:process()
    local mine, its = zk, h:session(zk)
    local barrier = its:cyclic_barrier(PATH, size)
    session = its
    for place = 1, h:below(3) do
      h:user(("member %d.%d"):format(number, place), mine, function() worker(h, mine, its, barrier, tally) end)
    end
  end
  function h.settle()
    h.world:advance(60)
    local left = waiting(h)
    h:expect(left < size, "%d wait, though %d are enough", left, size)
    h:expect(count(h, "^w%-") == left, "%d wait, but %d are counted", left, count(h, "^w%-"))
    h:expect(count(h, "^m%-") == left, "%d wait, but these take part: %s", left,
      table.concat(h.world:children(PATH) or {}, " "))
    for place = 1, left > 0 and size - left or 0 do
      h:user("last " .. place, zk, function()
        member(h, zk, session, session:cyclic_barrier(PATH, size), tally)
      end)
    end
  end
  function h.check()
    local rounds = in_rounds(h)
    for id, mine in pairs(tally) do
      local number = rounds[id] or 0
      h:expect(mine.through <= number, "%d are through, but %d were in rounds", mine.through, number)
      h:expect(number <= mine.through + mine.unknown, "%d were in rounds; but %d are through, %d unknown", number,
        mine.through, mine.unknown)
    end
    h:expect(#(h.world:children(PATH) or {}) == 0, "left: %s", table.concat(h.world:children(PATH) or {}, " "))
  end
end
