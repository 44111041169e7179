-- The reentrant lock: one coroutine at a time holds it, until it has released it as often as acquired.

local PATH = "/r/lock"

-- True if it is held, or its session has ended.
local function check_held(h, hold, id, depth)
  h:expect(select(2, h.world:get(hold.path)) or not h.world:alive(id), "released at depth %d", depth)
end

-- Acquires some levels deep, by `acquire` or `with`, and releases them. Every level gives the same hold.
local function descend(h, zk, lock, hold, id, depth)
  if depth == 0 then return end
  local function inside(inner)
    h:expect(inner == hold, "another hold at depth %d", depth)
    if h:chance(0.3) then zk.sleep(h:within(1)) end
    descend(h, zk, lock, hold, id, depth - 1)
    return true
  end
  local way = h:below(3)
  local done, code, _
  if way == 1 then
    done, _, code = lock:with(h:within(1), inside)
  else
    local inner, _, why = lock:acquire(h:pick { 0, 1 })
    done, code = inner and inside(inner), why
    if inner and way == 2 then inner:release() elseif inner then lock:release() end
  end
  h:expect(done or code == "lost", "entering again: %s", tostring(code))
  check_held(h, hold, id, depth)
end

local function one_turn(h, zk, session, lock)
  local mine
  local _, message, code = h:attempt(zk, function()
    local hold, message, code = lock:acquire(h:pick { 0, h:within(6), false } or nil)
    if not hold then return nil, message, code end
    mine = hold
    local id = session.id or "0000000000000000"
    local valid = hold:valid() and h.world:alive(id)
    h:expect(not (valid and h.holder and h.holder.hold:valid() and h.world:alive(h.holder.id)), "two hold it")
    if valid then h.holder = { hold = hold, id = id } end
    check_held(h, hold, id, 0)
    collectgarbage "step"
    descend(h, zk, lock, hold, id, h:below(4))
    if h:chance(0.5) then hold:release() else lock:release() end
    h:expect(not hold:valid(), "valid after its last release")
    return true
  end)
  while mine and code == "canceled" and mine:valid() do mine:release() end -- canceled from outside while it held
  h:expect(not message or code == "timeout" or code == "canceled" or code == "lost" or code == "connection_loss",
    "acquire: %s", message)
end

return function(h)
  h:crowd(2, 3, function(zk, session)
    local lock = session:lock(PATH, { reentrant = true })
    return function()
      while not h.healed do
        one_turn(h, zk, session, lock)
        zk.sleep(h:chance(0.5) and 0 or h:within(1))
      end
    end
  end)
  function h.check()
    collectgarbage()
    h.world:advance(20)
    h:expect(#(h.world:children(PATH) or {}) == 0, "left: %s", h.world:dump(PATH))
  end
end
