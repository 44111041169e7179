-- Locks of every kind and read/write locks on one path. A plain lock counts as a writer. At any instant there is one holder, or any number
-- of readers. Every call ends. Nothing is left in the end.

local PATH, OTHER = "/x/shared", "/x/other"

-- The kinds of locks: each function(session) returns an object with `acquire`.
local WAYS = {
  lock = function(session) return session:lock(PATH) end,
  reentrant = function(session) return session:lock(PATH, { reentrant = true }) end,
  cohort = function(session) return session:lock(PATH, { cohort = true }) end,
  revocable = function(session) return session:lock(PATH, { on_request = function(hold) hold:release() end }) end,
  multilock = function(session) return session:multilock { session:lock(OTHER), session:lock(PATH) } end,
  writer = function(session) return session:rwlock(PATH):writer() end,
  reader = function(session) return session:rwlock(PATH):reader() end,
}
local NAMES = { "lock", "reentrant", "cohort", "revocable", "multilock", "writer", "writer", "reader", "reader", "reader" }

-- A session that the servers have ended may take its hold for valid a moment longer, so it does not count.
local function valid(h, turn) return turn.hold:valid() and h.world:alive(turn.id) end

local function check_alone(h, turn)
  for other in pairs(h.turns) do
    h:expect(other == turn or turn.shares and other.shares or not (valid(h, turn) and valid(h, other)), "%s and %s are valid together",
      turn.name, other.name)
  end
end

local function tolerable(h, message, code)
  h:expect(not message or code == "timeout" or code == "canceled" or code == "lost" or code == "connection_loss", "%s", message)
end

-- A writer counts as a reader from this call on, also if the call fails.
local function downgrade(h, turn)
  turn.shares = true
  local _, message, code = turn.hold:downgrade()
  tolerable(h, message, code)
end

local function enjoy(h, zk, turn)
  check_alone(h, turn)
  zk.sleep(h:chance(0.5) and 0 or h:within(3))
  check_alone(h, turn)
  if turn.way ~= "writer" or h:chance(0.5) then return end
  downgrade(h, turn)
  zk.sleep(h:within(2))
  check_alone(h, turn)
end

-- Releases dropped holds now, because the collector's own time differs from run to run.
local function attempt(h, zk, fn)
  local note = {}
  local value, message, code = h:attempt(zk, fn, note)
  if note.struck then collectgarbage() end
  return value, message, code
end

local function one_turn(h, zk, session, lock, name, way)
  local turn
  local _, message, code = attempt(h, zk, function()
    local id = session.id
    local hold, message, code = lock:acquire(h:pick { 0, h:within(0.02), h:within(8), false, false } or nil)
    if not hold then return nil, message, code end
    turn = { hold = hold, id = session.id == id and id or "0000000000000000", way = way, shares = way == "reader" }
    turn.name = name .. "." .. way
    h.turns[turn] = true
    enjoy(h, zk, turn)
    hold:release()
    return true
  end)
  if turn and code then turn.hold:release() end -- the coroutine ended before the release
  if turn then h.turns[turn] = nil end
  tolerable(h, message, code)
end

local function worker(h, zk, session, locks, name)
  while not h.healed do
    local way = h:pick(NAMES)
    one_turn(h, zk, session, locks[way], name, way)
    if h:chance(0.1) then tolerable(h, select(2, attempt(h, zk, function() return locks.lock:request(h:within(2)) end))) end
    zk.sleep(h:chance(0.5) and 0 or h:within(1))
  end
end

return function(h)
  h.turns = {}
  h:crowd(3, 4, function(zk, session)
    local locks = {}
    for _, way in ipairs(NAMES) do locks[way] = locks[way] or WAYS[way](session) end
    return function(name) worker(h, zk, session, locks, name) end
  end)
  function h.settle()
    h.world:advance(60)
    collectgarbage()
    h.world:advance(20)
  end
  function h.check()
    for _, path in ipairs { PATH, OTHER } do
      h:expect(#(h.world:children(path) or {}) == 0, "left: %s", h.world:dump(path))
    end
  end
end
