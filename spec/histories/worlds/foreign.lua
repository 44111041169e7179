-- A lock in a directory with znodes of another program. Some are real contenders: ephemeral, with names that no recipe of ours gives. They
-- exclude our contenders, and ours exclude them. Others only look like contenders, but are not ephemeral: they exclude none. Such znodes
-- are also in the directories of other recipes: they never hold, never lead, and are not written.

local PATH, SLOTS, ELECTION, RANKED = "/f/lock", "/f/slots", "/f/election", "/f/ranked"
local KAZOOS = ("0123456789abcdef"):rep(2)
local LITTER = {
  [PATH] = { "s-lock-0000000000", "s-lock-0000000001", "s__WRIT__0000000003", "s-lock-0000000009", KAZOOS .. "__lock__0000000002" },
  [SLOTS] = { "s-9-lease-0000000000", "s-1-lease-0000000001", "s-2-lease-0000000004" },
  [ELECTION] = { "s-latch-0000000000", "t-latch-0000000000", "latch-s-latch-0000000003", KAZOOS .. "__lock__0000000002" },
  [RANKED] = { "s-rank-0000000000", "s-rank-0000000002" },
}
local DIRS = { PATH, SLOTS, ELECTION, RANKED }
local DATA = "99\ns" -- as a rank: the highest of all
local NOBODY = "0000000000000000"

local is_litter = {}
for _, names in pairs(LITTER) do
  for _, name in ipairs(names) do is_litter[name] = true end
end

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
  if mine then mine:release() end -- it was canceled from outside while it held
  h:expect(not message or code == "timeout" or code == "canceled" or code == "lost" or code == "connection_loss",
    "acquire: %s", message)
end

local function slots_turn(h, zk, slots)
  local limit, permits, hold = h:pick { 0, h:within(6) }, h:below(2), nil
  h:attempt(zk, function()
    hold = slots:acquire(limit, permits)
    if hold then zk.sleep(h:within(0.5)) end
  end)
  if hold then hold:release() end
end

-- A contender of another program, which knows only the order: the ephemeral znode with the lowest number holds.
local function foreign_turn(h, zk, session)
  local id = session.id
  local path = session:create(PATH .. "/x-lock-", "", { ephemeral = true, sequential = true, parents = true })
  if not path or not id or id ~= session.id then return end
  local mine = number(path)
  for _ = 1, 200 do
    local first = true
    for _, name in ipairs(h.world:children(PATH) or {}) do
      local other = number(name)
      if not is_litter[name] and other and other < mine then first = false end
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
  local dir = h:pick(DIRS)
  local path = dir .. "/" .. h:pick(LITTER[dir])
  if h:chance(0.6) then session:create(path, DATA, { parents = dir ~= SLOTS }) else session:delete(path) end
end

local function is_of_no_session(h, what, one)
  if one then h:expect(one.session ~= NOBODY, "%s: a znode that is not ephemeral, of %s", what, one.path or "the leader") end
end

-- Lists the contenders and the leader, and requests the lock.
local function look_turn(h, session)
  local election = session:election(ELECTION)
  for what, list in pairs { lock = session:lock(PATH):contenders(5) or {}, slots = session:semaphore(SLOTS):contenders(5) or {},
    election = election:candidates(5) or {} } do
    for _, one in ipairs(list) do is_of_no_session(h, what, one) end
  end
  is_of_no_session(h, "leader", election:leader(5) or nil)
  session:lock(PATH):request(5)
end

-- In the end everything can be acquired, whatever znodes are there. alone: no other session of ours wants anything.
local function take_all(h, session, alone)
  local slots, election, ranked = session:semaphore(SLOTS, 2), session:election(ELECTION), session:election(RANKED, { rank = 1 })
  for _ = 1, 2 do
    local hold = slots:acquire(60, 2) or slots:acquire(60, 2)
    h:expect(hold, "the slots are not granted: %s", h.world:dump(SLOTS))
    hold:release()
  end
  if alone then
    local hold = slots:acquire(0, 2) or slots:acquire(0, 2)
    h:expect(hold, "a try does not get the slots: %s", h.world:dump(SLOTS))
    hold:release()
  end
  for _, one in ipairs { election, ranked } do
    local term = one:campaign(60) or one:campaign(60)
    h:expect(term, "nobody leads: %s", h.world:dump(one.path))
    term:resign()
  end
end

return function(h)
  local ours = 1 + h:below(2)
  for index = 1, ours do
    local zk = h:process()
    local session = h:session(zk)
    local lock, slots = session:lock(PATH), session:semaphore(SLOTS, 2)
    h:user("ours " .. index, zk, function()
      while not h.healed do
        one_turn(h, zk, session, lock)
        slots_turn(h, zk, slots)
        zk.sleep(h:within(1))
      end
      local hold = lock:acquire() or lock:acquire() -- no foreign znode keeps us out
      h:expect(hold, "not granted")
      hold:release()
      take_all(h, session, (h.served or 0) == ours - 1)
      h.served = (h.served or 0) + 1
    end)
  end
  local zk = h:process()
  local session = h:session(zk)
  h:user("foreign", zk, function()
    while not h.healed do
      if h:chance(0.5) then foreign_turn(h, zk, session) end
      litter_turn(h, session)
      if h:chance(0.3) then look_turn(h, session) end
      zk.sleep(h:within(1))
    end
    session:close() -- a contender whose create lost its answer may be left
    while (h.served or 0) < ours do zk.sleep(1) end
    local cleaner = h:session(zk) -- our sessions watch the foreign znodes that they ignore
    for _, dir in ipairs(DIRS) do
      for _, name in ipairs(LITTER[dir]) do
        local data = cleaner:get(dir .. "/" .. name)
        h:expect(not data or data == DATA, "%s was written: %s", name, data)
        cleaner:delete(dir .. "/" .. name)
      end
    end
    cleaner:close()
  end)
  function h.check()
    h.world:advance(20)
    for _, dir in ipairs(DIRS) do
      for _, name in ipairs(h.world:children(dir) or {}) do h:expect(is_litter[name], "left: %s", h.world:dump(dir)) end
    end
  end
end
