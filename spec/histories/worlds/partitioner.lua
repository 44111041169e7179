-- Partitions. At any instant at most one hold of a part is valid. Tokens of a part grow, and guarded writes reach the leader in their
-- order. A function is stopped when its hold is lost, and does not run twice for a part in one partitioner. A reader's changes add up.
-- When the faults have stopped, each part has exactly one owner, and it is the member that the division names. Nothing is left in the end.

local division = require "zkrecipes.recipes.partitioner.division"
local random = require "zkrecipes.random"

local DIR, OUT = "/p", "/out"
local PARTS = { "a", "b/1", "c", "d", "e", "\0", "g", "queue", "i" }
local CALM = 120 -- seconds after the faults in which everything is divided

local GIVES_UP = { timeout = true, connection_loss = true, canceled = true, closed = true }
local MAY_FAIL = { lost = true, connection_loss = true, closed = true, no_node = true } -- no_node: the directory is not made yet

local function set_of(n)
  local set = {}
  for i = 1, n do set[i] = PARTS[i] end
  return set
end

-- ---- No two owners -------------------------------------------------------------------------------

-- A session that the servers have ended may take its hold for valid a moment longer, so it does not count.
local function owners(h, part)
  local names, last = {}, nil
  for _, one in ipairs(h.members) do
    if one.partitioner:hold(part) and h.world:alive(one.session.id or "0") then
      names[#names + 1] = one.name
      last = one
    end
  end
  return names, last
end

local function check_alone(h)
  for _, part in ipairs(PARTS) do
    local names = owners(h, part)
    h:expect(#names < 2, "%s and %s own %s", names[1], names[2], part)
  end
end

-- ---- The function --------------------------------------------------------------------------------

local function write(h, zk, part, hold)
  local path = OUT .. "/" .. zk.escape(part)
  local made, message, code = hold:create(path, hold.token)
  if code == "node_exists" then made, message, code = hold:set(path, hold.token) end
  h:expect(made or MAY_FAIL[code], "a guarded write: %s", message)
end

local function work(h, zk, one, part, hold)
  h:expect(not one.serves[part], "%s serves %s twice", one.name, part)
  one.serves[part] = true
  if hold:valid() and h.world:alive(one.session.id or "0") then
    h:expect(hold.token >= (h.tokens[part] or ""), "token %s of %s after %s", hold.token, part, h.tokens[part])
    h.tokens[part] = hold.token
  end
  check_alone(h)
  repeat
    if h:chance(0.4) and hold:valid() then write(h, zk, part, hold) end
    zk.sleep(h:within(4))
    h:expect(hold:valid(), "%s goes on with %s after its hold was lost", one.name, part)
    check_alone(h)
  until h:chance(0.1)
  if h:chance(0.5) then error("on purpose", 0) end
end

-- Errors of a function that is stopped are reported nowhere.
local function function_of(h, zk, one)
  return function(part, hold)
    local ok, problem = zk.pcall(work, h, zk, one, part, hold)
    one.serves[part] = nil
    if not ok and problem ~= zk.canceled and tostring(problem):find "violation" then h.problem = h.problem or problem end
    if problem == zk.canceled and h.over and not hold:valid() then
      h.problem = h.problem or ("violation: %s was released while the function of %s runs"):format(part, one.name)
    end
    if not ok then error(problem, 0) end
  end
end

local function run(h, zk, one)
  while not one.closing do
    local ok, message, code = one.partitioner:run(function_of(h, zk, one), { backoff = 0.1, on_error = function() end })
    h:expect(ok or code == "canceled" or code == "closed", "run: %s", message)
    h:expect(next(one.serves) == nil, "run has ended, and a function of %s runs", one.name)
    if ok or code == "closed" then return end
    zk.sleep(h:within(1))
  end
end

-- ---- A reader ------------------------------------------------------------------------------------

local function apply(h, known, change)
  local before = known[change.part]
  if change.kind == "gained" then
    h:expect(not before, "%s is gained twice", change.part)
    known[change.part] = change.token
  elseif change.kind == "ended" then
    h:expect(before == change.token, "%s ends with %s, not %s", change.part, change.token, tostring(before))
    h:expect(change.why, "%s ends, and no reason is told", change.part)
    known[change.part] = nil
  end
end

local function read(h, zk, one)
  local changes, known = one.partitioner:changes(), {}
  while true do
    if h:chance(0.2) then zk.sleep(h:within(3)) end
    local change, message, code = changes:next(h:within(6))
    h:expect(change or GIVES_UP[code], "next: %s", message)
    if change then apply(h, known, change) end
    if code == "closed" then break end
  end
  h:expect(next(known) == nil, "%s is closed, and %s has not ended for its reader", one.name, tostring(next(known)))
end

-- ---- A member ------------------------------------------------------------------------------------

local function set_parts(h, one, n)
  one.n = n
  local ok, message, code = one.partitioner:set_parts(set_of(n), h:within(5))
  h:expect(ok or GIVES_UP[code], "set_parts: %s", message)
end

local function check_mine(h, one)
  for _, part in ipairs(one.partitioner:mine()) do h:expect(one.partitioner:hold(part), "%s is mine without a hold", part) end
  check_alone(h)
end

local function behave(h, zk, one)
  zk.sleep(h:within(6))
  check_mine(h, one)
  if h.differ and h:chance(0.3) then set_parts(h, one, h:below(#PARTS)) end
  if h:chance(0.1) then one.partitioner:stop() end
  if h:chance(0.2) then h:attempt(zk, function() return one.partitioner:ready(h:within(3)) end) end
end

local function forget(h, one)
  for i, other in ipairs(h.members) do
    if other == one then table.remove(h.members, i) end
  end
end

local function close(h, one)
  one.closing = true
  local ok, message, code = one.partitioner:close(h:chance(0.5) and h:within(4) or nil)
  h:expect(ok or GIVES_UP[code], "close: %s", message)
  if not ok then h:expect(one.partitioner:close(), "close fails") end
  h:expect(#one.partitioner:mine() == 0 and next(one.serves) == nil, "%s is closed, and serves", one.name)
  forget(h, one)
end

local function join(h, zk, session, name, id)
  local n = h.differ and h:below(#PARTS) or #PARTS
  local one = { session = session, name = name, n = n, serves = {} }
  one.partitioner = h:expect(session:partitioner(DIR, set_of(n), { id = id, weight = h:pick { 1, 1, 1, 0.3, 2 },
    settle = h:pick { 0, 0.2, 1, 3 } }), "cannot join")
  h.members[#h.members + 1] = one
  one.tasks = { zk.spawn(run, h, zk, one) }
  if h:chance(0.5) then one.tasks[2] = zk.spawn(read, h, zk, one) end
  return one
end

local function life(h, zk, session, name, id)
  local one = join(h, zk, session, name, id)
  repeat behave(h, zk, one) until h.healed or h:chance(0.15)
  if h.healed then
    set_parts(h, one, #PARTS)
    while not h.over do zk.sleep(1) end
  end
  close(h, one)
  for _, task in ipairs(one.tasks) do
    local _, message, code = task:wait()
    h:expect(code ~= "error", "%s", message)
  end
end

-- ---- The end -------------------------------------------------------------------------------------

-- Who should have what: from the znodes of the members.
local function check_divided(h)
  local members = {}
  for _, name in ipairs(h.world:children(DIR .. "/members") or {}) do
    local weight, _, nonce = division.decode(h.world:get(DIR .. "/members/" .. name))
    members[#members + 1] = { id = name, weight = weight, nonce = nonce }
  end
  for _, part in ipairs(PARTS) do
    local names, one = owners(h, part)
    local owner = division.owner(part, members)
    h:expect(#names == (owner and 1 or 0), "%s has %d owners", part, #names)
    h:expect(not owner or one.partitioner.work.nonce == owner.nonce, "%s owns %s, not %s", names[1] or "", part, owner and owner.id or "")
  end
  for _, one in ipairs(h.members) do
    h:expect(#one.partitioner:differing() == 0, "%s is told of another set", one.name)
  end
end

local function check_writes(h)
  local last = {}
  for _, change in ipairs(h.changes) do
    if change.path:sub(1, #OUT + 1) == OUT .. "/" and change.data then
      h:expect(change.data >= (last[change.path] or ""), "%s: a write with %s after %s", change.path, change.data, last[change.path])
      last[change.path] = change.data
    end
  end
end

local function make_out(session)
  repeat local made, _, code = session:create(OUT, "") until made or code == "node_exists"
end

return function(h)
  h.members, h.tokens, h.differ = {}, {}, h:chance(0.4)
  local nonces, letters = 0, { "a", "b", "c", "d", "e", "f", "g", "h" }
  function random.hex()
    nonces = nonces + 1
    return ("%016x"):format(nonces)
  end
  math.randomseed(h.seed)
  local twins, place = h:chance(0.2), 0
  for number = 1, 1 + h:below(3) do
    local zk = h:process()
    local session = h:session(zk)
    if number == 1 then h:user("maker", zk, function() make_out(session) end) end
    for _ = 1, h:chance(0.3) and 2 or 1 do
      place = place + 1
      local id = twins and h:pick { "a", "b" } or letters[place]
      local name = ("%s (%d.%d)"):format(id, number, place)
      h:user(name, zk, function()
        zk.sleep(h:within(5))
        while not h.over do
          life(h, zk, session, name, id)
          if not h.over then zk.sleep(h:within(3)) end
        end
      end)
    end
  end
  function h.settle()
    h.world:advance(CALM)
    if not h.problem then check_divided(h) end
    h.over = true
  end
  function h.check()
    h:expect(not h.problem, "%s", tostring(h.problem))
    check_writes(h)
    h:expect(#(h.world:children(DIR .. "/members") or {}) == 0, "left: %s", h.world:dump(DIR))
    for _, name in ipairs(h.world:children(DIR .. "/parts") or {}) do
      h:expect(#(h.world:children(DIR .. "/parts/" .. name) or {}) == 0, "left: %s", h.world:dump(DIR))
    end
  end
end
