-- lock:request() beside downgrades: a writer that has become a reader stays a reader when other clients request the
-- lock.

local PATH = "/v/rw"

local function marked(h, hold)
  local data = h.world:get(hold.path)
  return data == nil or data:find("^__SHARED__") ~= nil
end

local function tolerable(h, message, code)
  h:expect(not message or code == "timeout" or code == "canceled" or code == "lost" or code == "connection_loss" or
    code == "conflict", "%s", message)
end

-- Acquires as a writer, downgrades, and checks that its mark stays while it reads.
local function one_hold(h, zk, rw)
  local mine
  local _, message, code = h:attempt(zk, function()
    local hold, problem, why = rw:write(h:within(8))
    if not hold then return nil, problem, why end
    mine = hold
    zk.sleep(h:within(1))
    local done
    done, problem, why = hold:downgrade()
    if not done then return nil, problem, why end
    local over = h.world:now() + h:within(6)
    repeat
      h:expect(marked(h, hold), "the mark of a downgrade is overwritten")
      zk.sleep(0.2)
    until h.world:now() > over or not hold:valid()
    return true
  end)
  if mine then mine:release() end
  tolerable(h, message, code)
end

local function reader(h, zk, rw)
  local _, message, code = h:attempt(zk, function()
    local hold, problem, why = rw:read(h:within(8))
    if not hold then return nil, problem, why end
    zk.sleep(h:within(1))
    return hold:release()
  end)
  tolerable(h, message, code)
end

local function asker(h, zk, session)
  local lock = session:lock(PATH)
  while not h.healed do
    local _, message, code = h:attempt(zk, function() return lock:request() end)
    tolerable(h, message, code)
    zk.sleep(h:within(0.5))
  end
end

return function(h)
  for number = 1, 3 do
    local zk = h:process()
    local session = h:session(zk)
    local rw = session:rwlock(PATH)
    h:user(number .. ".asker", zk, function() asker(h, zk, session) end)
    h:user(number .. ".user", zk, function()
      while not h.healed do
        if h:chance(0.7) then one_hold(h, zk, rw) else reader(h, zk, rw) end
        zk.sleep(h:within(1))
      end
    end)
  end
  function h.check()
    collectgarbage()
    h.world:advance(20)
    h:expect(#(h.world:children(PATH) or {}) == 0, "left: %s", h.world:dump(PATH))
  end
end
