-- The single barrier: no waiter passes while it is closed. When it stays open, all waiters pass. In some histories memory is exhausted now
-- and then.

local PATH, SHUT = "/b/gate", "/b/shut"

local function operator(h, zk, session)
  local barrier = session:barrier(PATH)
  while not h.healed do
    h:attempt(zk, function() return barrier:close() end)
    zk.sleep(h:within(4))
    if h:chance(0.7) then h:attempt(zk, function() return barrier:open() end) end
    zk.sleep(h:within(2))
  end
end

local function waiter(h, zk, session)
  local barrier = session:barrier(PATH)
  while not h.healed do
    local began = h.world:now()
    local timeout = h:pick { 0, h:within(0.01), h:within(6), false } or nil
    local passed, message, code = h:attempt(zk, function() return barrier:wait(timeout) end)
    h:expect(not passed or h:was(PATH, false, began - h.stale, h.world:now()), "passed a closed barrier, waited from %f to %f",
      began, h.world:now())
    local late = timeout and (code == "timeout" or code == "connection_loss")
    h:expect(passed or late or code == "canceled" or h.starves and code == "no_memory", "wait: %s", message)
    zk.sleep(h:within(1))
  end
end

-- Waits at a barrier that is never opened: only the waiters that give up can clean up.
local function wait_in_vain(h, zk, session)
  local barrier = session:barrier(SHUT)
  while not h.healed do
    h:attempt(zk, function() return barrier:close() and barrier:wait(h:within(3)) end)
    zk.sleep(h:within(8))
  end
end

return function(h)
  local opener
  for number = 1, 1 + h:below(3) do
    local zk = h:process()
    local session = h:session(zk)
    opener = opener or session
    if number <= 2 then h:user("operator " .. number, zk, function() operator(h, zk, session) end) end
    if h:chance(0.3) then h:user("in vain " .. number, zk, function() wait_in_vain(h, zk, session) end) end
    for place = 1, h:below(4) do
      h:user(("waiter %d.%d"):format(number, place), zk, function() waiter(h, zk, session) end)
    end
  end
  h.starves = h:chance(0.3)
  function h.settle()
    h.world:advance(60) -- until the operators have ended
    h:expect(opener:barrier(PATH):open(), "cannot open")
  end
end
