-- The multilock: it holds all of its locks or none, and each lock has one holder at a time. A waiter without a limit
-- gets its turn, in whatever order it names the locks. Nothing is left in the end.

local PATHS = { "/m/a", "/m/b", "/m/c" }

-- Some of the locks, in any order.
local function some(h, session)
  local left, locks, paths = { 1, 2, 3 }, {}, {}
  for _ = 1, 1 + h:below(2) do
    local number = table.remove(left, h:below(#left))
    locks[#locks + 1] = session:lock(PATHS[number])
    paths[PATHS[number]] = true
  end
  return session:multilock(locks), paths
end

-- A session that the servers have ended may take its locks for valid a moment longer, so it does not count.
local function valid(h, turn) return turn.hold:valid() and h.world:alive(turn.id) end

local function check_alone(h, turn)
  for _, other in ipairs(h.turns) do
    for path in pairs(turn.paths) do
      h:expect(other == turn or not other.paths[path] or not (valid(h, turn) and valid(h, other)), "%s and %s have %s",
        turn.name, other.name, path)
    end
  end
end

local function one_turn(h, zk, session, name)
  local turn
  local _, message, code = h:attempt(zk, function()
    local multi, paths = some(h, session)
    local id = session.id
    local hold, message, code = multi:acquire(h:pick { 0, h:within(0.02), h:within(8), false, false } or nil)
    if not hold then return nil, message, code end
    turn = { hold = hold, id = session.id == id and id or "0000000000000000", paths = paths, name = name }
    h.turns[#h.turns + 1] = turn
    check_alone(h, turn)
    zk.sleep(h:chance(0.5) and 0 or h:within(3))
    check_alone(h, turn)
    hold:release()
    h:expect(not hold:valid(), "released, and valid")
    return true
  end)
  if turn and code then turn.hold:release() end -- the coroutine ended before the release
  for i = #h.turns, 1, -1 do
    if h.turns[i] == turn then table.remove(h.turns, i) end
  end
  h:expect(not message or code == "timeout" or code == "canceled" or code == "lost" or code == "connection_loss",
    "acquire: %s", message)
end

local function worker(h, zk, session, name)
  while not h.healed do
    one_turn(h, zk, session, name)
    zk.sleep(h:chance(0.5) and 0 or h:within(1))
  end
end

return function(h)
  h.turns = {}
  h:crowd(3, 4, function(zk, session)
    return function(name) worker(h, zk, session, name) end
  end)
  function h.settle()
    h.world:advance(60)
    collectgarbage()
    h.world:advance(20)
  end
  function h.check()
    for _, path in ipairs(PATHS) do
      h:expect(#(h.world:children(path) or {}) == 0, "left: %s", h.world:dump(path))
    end
  end
end
