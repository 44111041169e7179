-- The revocable lock: a holder is told each request that has reached it, and the data of its znode are put back.

local PATH = "/v/lock"
local REQUEST = "__REVOKE__"

-- Holds for a while, or until everything is quiet; then a holder that was requested must have been told.
local function one_hold(h, zk, session, lock)
  local stay = h:chance(0.5)
  local mine
  local _, message, code = h:attempt(zk, function()
    local hold, message, code = lock:acquire(h:pick { 0, h:within(8) })
    if not hold then return nil, message, code end
    mine = hold
    h.called[hold.path] = h.called[hold.path] or {}
    local until_when = h.world:now() + h:within(8)
    repeat
      zk.sleep(0.5)
    until not hold:valid() or (h.world:now() > until_when and not stay) or h.quiet or h.gone[hold.path]
    local valid = hold:valid() and session.state == "connected" and h.quiet and not h.gone[hold.path]
    for _, change in ipairs(valid and h.changes or {}) do
      if change.path == hold.path and change.kind == "set" and h.asked[change.session] then
        local last = h.called[hold.path][#h.called[hold.path]]
        h:expect(last and last >= change.at, "asked at %f, told at %f", change.at, last or 0)
        h:expect(h.world:get(hold.path) ~= REQUEST, "the data are not put back")
      end
    end
    hold:release()
    return true
  end)
  if mine then mine:release() end
  h:expect(not message or code == "timeout" or code == "canceled" or code == "lost" or code == "connection_loss",
    "acquire: %s", message)
end

local function on_request(h, hold)
  h:expect(h.called[hold.path], "asked of nobody")
  table.insert(h.called[hold.path], h.world:now())
  if h:chance(0.2) then
    h.gone[hold.path] = true
    hold:release()
  end
end

local function asker(h, zk, session)
  local lock = session:lock(PATH)
  while not h.healed do
    local count, message, code = h:attempt(zk, function()
      h.asked[session.id or 0] = true
      return lock:request()
    end)
    h:expect(count or code == "canceled" or code == "connection_loss" or code == "no_node" or code == "lost", "request: %s",
      message)
    zk.sleep(h:within(4))
  end
end

return function(h)
  h.called, h.gone, h.asked, h.quiet = {}, {}, {}, false
  for number = 1, 2 + h:below(2) do
    local zk = h:process()
    local session = h:session(zk)
    if number == 1 then
      h:user("asker", zk, function() asker(h, zk, session) end)
    else
      local lock = session:lock(PATH, { data = "mine", on_request = function(hold) on_request(h, hold) end })
      for place = 1, h:below(2) do
        h:user(("%d.%d"):format(number, place), zk, function()
          while not h.healed do
            one_hold(h, zk, session, lock)
            zk.sleep(h:within(1))
          end
        end)
      end
    end
  end
  function h.settle()
    h.world:advance(40)
    h.quiet = true
  end
  function h.check()
    collectgarbage()
    h.world:advance(20)
    h:expect(#(h.world:children(PATH) or {}) == 0, "left: %s", h.world:dump(PATH))
  end
end
