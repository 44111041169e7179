-- A lock among znodes of another program: some are its contenders (ephemeral, with a name that no recipe gives), and are kept out
-- by ours and keep ours out; others only look like contenders and are not ephemeral: they keep nobody out.

local PATH = "/f/lock"
local LITTER = { "s-lock-0000000000", "s-lock-0000000001", "s__WRIT__0000000003", "s-lock-0000000009" }

local function number(name) return tonumber(name:match "%d%d%d%d%d%d%d%d%d%d$") end

local function ours_valid(h)
  local held = h.holder
  return held and held.hold:valid() and h.world:alive(held.id)
end

local function foreign_valid(h)
  local held = h.foreigner
  return held and h.world:alive(held.id) and h.world:get(held.path) ~= nil
end

local function one_turn(h, zk, session, lock)
  local limit, mine = h:pick { 0, h:within(6), false } or nil, nil
  local _, message, code = h:attempt(zk, function()
    local hold, message, code = lock:acquire(limit)
    if not hold then return nil, message, code end
    mine = hold
    local id = session.id or "0000000000000000"
    if hold:valid() and h.world:alive(id) then
      h:expect(not ours_valid(h) and not foreign_valid(h), "two hold it")
      h.holder, h.grants = { hold = hold, id = id }, (h.grants or 0) + 1
    end
    zk.sleep(h:within(1))
    hold:release()
    return true
  end)
  if mine then mine:release() end -- canceled from outside while it held
  h:expect(not message or code == "timeout" or code == "canceled" or code == "lost" or code == "connection_loss",
    "acquire: %s", message)
end

-- As a program does that knows nothing of ours but the order: the lowest number of those that are ephemeral holds.
local function foreign_turn(h, zk, session)
  local id = session.id
  local path = session:create(PATH .. "/x-lock-", "", { ephemeral = true, sequential = true, parents = true })
  if not path or not id or id ~= session.id then return end
  local mine = number(path)
  for _ = 1, 200 do
    local first = true
    for _, name in ipairs(h.world:children(PATH) or {}) do
      local other = number(name)
      if name:sub(1, 1) ~= "s" and other and other < mine then first = false end
    end
    if not h.world:alive(id) then return end
    if first then
      h:expect(not ours_valid(h), "a foreign contender is first while ours holds")
      h.foreigner = { id = id, path = path }
      zk.sleep(h:within(1))
      break
    end
    zk.sleep(0.1)
  end
  session:delete(path)
end

local function litter_turn(h, session)
  local path = PATH .. "/" .. h:pick(LITTER)
  if h:chance(0.6) then session:create(path, "", { parents = true }) else session:delete(path) end
end

return function(h)
  local ours = 1 + h:below(2)
  for index = 1, ours do
    local zk = h:process()
    local session = h:session(zk)
    local lock = session:lock(PATH)
    h:user("ours " .. index, zk, function()
      while not h.healed do
        one_turn(h, zk, session, lock)
        zk.sleep(h:within(1))
      end
      local hold = lock:acquire() or lock:acquire() -- nothing that lies there keeps us out
      h:expect(hold, "not granted")
      hold:release()
      h.served = (h.served or 0) + 1
    end)
  end
  local zk = h:process()
  local session = h:session(zk)
  h:user("foreign", zk, function()
    while not h.healed do
      if h:chance(0.5) then foreign_turn(h, zk, session) end
      litter_turn(h, session)
      zk.sleep(h:within(1))
    end
    session:close() -- a contender whose create had a lost answer may be left
    while (h.served or 0) < ours do zk.sleep(1) end
    local cleaner = h:session(zk) -- ours watch what they ignore, as long as it is there
    for _, name in ipairs(LITTER) do cleaner:delete(PATH .. "/" .. name) end
    cleaner:close()
  end)
  function h.check()
    h.world:advance(20)
    for _, name in ipairs(h.world:children(PATH) or {}) do
      h:expect(name:sub(1, 1) == "s", "left: %s", h.world:dump(PATH))
    end
  end
end
