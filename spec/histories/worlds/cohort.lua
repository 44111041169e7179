-- The cohort lock. At most one turn is valid over all processes. Within a process turns are in order. Every waiter gets its turn. Nothing
-- is left in the end.

local PATH = "/k/lock"

-- A session that the servers have ended may take its lock for valid a moment longer, so it does not count.
local function valid(h, turn) return turn.hold and turn.hold:valid() and h.world:alive(turn.id) end

local function check_alone(h, turn)
  for _, other in ipairs(h.turns) do
    if other ~= turn and valid(h, turn) and valid(h, other) then
      h:expect(false, "%s and %s have the lock", turn.name, other.name)
    end
  end
end

-- Checks that no earlier caller of this handle still waits.
local function check_order(h, queue, ticket)
  for other in pairs(queue.waiting) do
    h:expect(other.number > ticket.number or other.struck or other.late <= h.world:now(), "%d before %d", ticket.number, other.number)
  end
end

local function enjoy(h, zk, turn)
  local stop = h.world:now() + h:within(4)
  if h:chance(0.4) then
    local why, _, code = turn.hold:lost(h:within(4))
    h:expect(why == "lost" or code == "timeout", "lost: %s", tostring(why or code))
    h:expect(not why or not turn.hold:valid(), "lost, and valid")
  else
    zk.sleep(h:chance(0.5) and 0 or stop - h.world:now())
  end
  check_alone(h, turn)
end

local function one_turn(h, zk, session, queue, name)
  local timeout = h:pick { 0, h:within(0.02), h:within(8), h:within(20), false, false } or nil
  queue.came = queue.came + 1
  local ticket = { number = queue.came, late = timeout and h.world:now() + timeout or math.huge }
  local turn
  local _, message, code = h:attempt(zk, function()
    if timeout ~= 0 then queue.waiting[ticket] = true end
    local hold, message, code = queue.lock:acquire(timeout)
    queue.waiting[ticket] = nil
    if not hold then return nil, message, code end
    h:expect(hold:valid(), "%s is given a turn that is over", name)
    if timeout ~= 0 and queue.cohort then check_order(h, queue, ticket) end
    turn = { hold = hold, id = session.id or "0000000000000000", name = name .. "#" .. ticket.number }
    h.turns[#h.turns + 1] = turn
    check_alone(h, turn)
    enjoy(h, zk, turn)
    if h:chance(0.97) then hold:release() else turn.hold, turn.dropped = nil, true end
    if not h.healed and h:chance(0.03) then h.world:pause(zk, h:within(12)) end -- before the next turn begins
    return true
  end, ticket)
  if turn and code then turn.hold, turn.dropped = nil, true end -- the coroutine ended before the release
  queue.waiting[ticket] = nil
  h:expect(not message or code == "timeout" or code == "canceled" or code == "lost" or code == "connection_loss",
    "acquire: %s", message)
end

-- Removes dropped turns from the list. True if there were any.
local function sweep(h)
  local dropped = false
  for i = #h.turns, 1, -1 do
    local turn = h.turns[i]
    dropped = dropped or turn.dropped
    if turn.dropped then table.remove(h.turns, i) end
  end
  return dropped
end

local function worker(h, zk, session, queue, name)
  while not h.healed do
    one_turn(h, zk, session, queue, name)
    if sweep(h) then collectgarbage() end -- ends the dropped turns
    zk.sleep(h:chance(0.5) and 0 or h:within(1))
    if h:chance(0.05) then queue.lock:cancel() end
  end
end

return function(h)
  h.turns = {}
  h:crowd(3, 4, function(zk, session)
    local cohort = h:chance(0.8)
    local queue = { lock = session:lock(PATH, { cohort = cohort }), cohort = cohort, came = 0, waiting = {} }
    return function(name) worker(h, zk, session, queue, name) end
  end)
  function h.settle()
    h.world:advance(40)
    for _ = 1, 3 do
      sweep(h)
      collectgarbage()
      h.world:advance(10)
    end
  end
  function h.check()
    for _, turn in ipairs(h.turns) do
      h:expect(not (turn.hold and turn.hold:valid()), "%s still has the lock", turn.name)
    end
    collectgarbage()
    h.world:advance(20)
    h:expect(#(h.world:children(PATH) or {}) == 0, "left: %s", h.world:dump(PATH))
  end
end
