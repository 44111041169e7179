-- What the histories of all elections share (election.lua: in a queue; ranked.lua: by rank; unfair_election.lua). The rules: At any
-- instant at most one term is valid. Tokens grow. A named successor leads next, unless it has gone. A term can only be handed over to a
-- candidate that stands. The value and the readiness of a term are visible after the call that sets them, and not before; no other term's
-- value is ever in its znode. A guarded write of a term fails if a later one was elected before it began. A function run by `lead` runs
-- alone, and not again before its cool-down is over. Nothing is left in the end.

local M = {}

local READY, NEXT = "\0ready", "\0next-"

local SOON = 5 -- seconds in which the candidates ahead of a successor step aside if there are no faults

local LEASE = 15 -- seconds; no session's lease is longer

local GIVES_UP = { timeout = true, canceled = true, lost = true, connection_loss = true }

-- A session that the servers have ended may take its term for valid a moment longer, so it does not count.
local function valid(h, one) return one.term:valid() and h.world:alive(one.id) end

-- A write of another term must never change what this one says.
local function check_own(h, one)
  local value = (h.world:get(one.term.path) or ""):match "value %d+"
  h:expect(not value or not valid(h, one) or h.author[value] == one, "%s: %s is not its own", one.name, value)
end

-- For a moment after a write by hand (ranked.lua) two terms may be valid.
local function check_alone(h, one)
  check_own(h, one)
  if h.by_hand and h.world:now() < h.by_hand + LEASE then return end
  for _, other in ipairs(h.terms) do
    if other ~= one and valid(h, one) and valid(h, other) then h:expect(false, "%s and %s lead", one.name, other.name) end
  end
end

local function elected(h, one)
  local term = one.term
  h.terms[#h.terms + 1] = one
  check_alone(h, one)
  if not valid(h, one) then return end
  h:expect(term.token > h.token, "token %s after %s", term.token, h.token)
  h.token = term.token
  local heir = h.heir
  h.heir = nil
  h:expect(not heir or heir == term.path or h.by_hand or not h.world:get(heir), "%s leads, and not %s, who was named", one.name, heir or "")
  if h.elected then h.elected(one, heir == term.path) end
end

local function forget(h, one)
  for i, other in ipairs(h.terms) do
    if other == one then table.remove(h.terms, i) end
  end
end

-- True if the faults and their effects are over.
local function calm(h) return h.calm_at ~= nil and h.world:now() > h.calm_at end

-- ---- What leaders do -----------------------------------------------------------------------------

local function says(h, one, text) return (h.world:get(one.term.path) or ""):find(text, 1, true) ~= nil end

local function check_said(h, one, text, said, code, message)
  local gave_up = code == "connection_loss" and not one.term:valid()
  h:expect(said or code == "lost" or code == "closed" or gave_up, "to say %s: %s", text, message)
  h:expect(not said or not valid(h, one) or says(h, one, text), "%s does not say %s", one.name, text)
end

local DEEDS = {
  function(h, one)
    local slept, _, code = one.term:sleep(h:within(4))
    h:expect(slept or code == "lost", "sleep: %s", tostring(code))
    h:expect(slept or not one.term:valid(), "lost, and valid")
  end,
  function(h, one)
    h.readied[one.term.token] = true
    local said, message, code = one.term:ready()
    check_said(h, one, READY, said, code, message)
    one.ready = one.ready or said
  end,
  function(h, one)
    h.said = h.said + 1
    local value = "value " .. h.said
    h.author[value] = one
    local said, message, code = one.term:proclaim(value)
    check_said(h, one, value, said, code, message)
    if one.ready and said then check_said(h, one, READY, said) end
  end,
}

-- A guarded transaction that writes nothing.
local function check_guarded(h, one)
  local newest = h.token
  local done, message, code = one.term:multi { { "check", h.path } }
  h:expect(done or GIVES_UP[code] or code == "closed", "multi: %s", message)
  h:expect(not done or one.term.token >= newest, "%s may write after %s", one.name, newest)
end

local function enjoy(h, one)
  for _ = 1, h:below(3) do
    if one.term:valid() then h:pick(DEEDS)(h, one) end
    if h.guarded then check_guarded(h, one) end
    check_alone(h, one)
  end
end

local function some_heir(h, one, election)
  local list = election:candidates() or {}
  for i = #list, 1, -1 do
    if list[i].path == one.term.path then table.remove(list, i) end
  end
  return #list > 0 and h:pick(list) or nil
end

-- A hand-over has failed: the term must go on without a named successor.
local function check_not_named(h, zk, one)
  if not calm(h) or not valid(h, one) then return end
  zk.sleep(2)
  if not valid(h, one) then return end
  local named = (h.world:get(h.path) or ""):match "^%S+ (%S+)" or "-" -- by rank
  h:expect(not says(h, one, NEXT) and named == "-", "%s: the name is not taken back", one.name)
end

-- Resigns to a random candidate. True if that succeeded.
local function hand_over(h, zk, one, election)
  local heir = some_heir(h, one, election)
  if not heir then return end
  local gone = not h.world:get(heir.path)
  if gone then zk.sleep(h.stale + 1) end
  if not one.term:valid() then return end
  h.named[heir.path] = true
  local limit, was_calm, began = h:pick { 0, h:within(3), h:within(20), h:within(60) }, calm(h), h.world:now()
  local ok, message, code = one.term:resign(heir, limit)
  if ok then
    h:expect(not gone, "%s resigned to %s, who had gone", one.name, heir.path)
    h:expect(not one.term:valid(), "%s resigned, and is valid", one.name)
    if h.world:alive(one.id) then h.heir = heir.path end
    return true
  end
  h:expect(GIVES_UP[code] or code == "no_node", "resign: %s", message)
  local in_time = h.world:now() < began + limit - 0.001
  h:expect(code ~= "connection_loss" or not in_time or not one.term:valid(), "resign: %s, before its limit", message)
  h:expect(code ~= "timeout" or not was_calm or limit < SOON, "%s: nobody steps aside in %f s", one.name, limit)
  h:expect(code ~= "no_node" or not h.world:get(heir.path), "%s: %s does not stand?", one.name, heir.path)
  check_not_named(h, zk, one)
end

-- ---- Users ---------------------------------------------------------------------------------------

local function one_campaign(h, zk, session, election, name)
  local timeout = h:pick { 0, h:within(0.02), h:within(8), h:within(20), false } or nil
  if timeout == nil and h.quorum > 1 then timeout = 30 end -- the quorum may never be reached
  local one
  local _, message, code = h:attempt(zk, function()
    local term, message, code = election:campaign(timeout)
    if not term then return nil, message, code end
    one = { term = term, id = session.id or "0000000000000000", name = name .. " " .. term.path }
    elected(h, one)
    enjoy(h, one)
    if h:chance(0.5) then hand_over(h, zk, one, election) end
    check_alone(h, one)
    term:resign()
    h:expect(not term:valid(), "resigned, and valid")
    return true
  end)
  if one then
    one.term:resign()
    forget(h, one)
  end
  h:expect(not message or GIVES_UP[code], "campaign: %s", message)
end

local function worker(h, zk, session, election, name)
  while not h.over do
    one_campaign(h, zk, session, election, name)
    zk.sleep(h:chance(0.5) and 0 or h:within(3))
    if h:chance(0.05) then election:cancel() end
  end
end

-- A user that calls `lead` with a cool-down.
local function led(h, zk, session, election, name)
  local cooldown, ended = h:within(3), nil
  local function serve(term)
    local one = { term = term, id = session.id or "0000000000000000", name = name .. " " .. term.path }
    h:expect(not ended or h.world:now() >= ended + cooldown - 0.001, "%s: leads again too early", name)
    ended = nil
    elected(h, one)
    enjoy(h, one)
    if h:chance(0.5) then
      zk.sleep(h:within(12))
      h:expect(term:valid(), "%s: it goes on after its term", one.name)
    end
    if h:chance(0.3) then hand_over(h, zk, one, election) end
    check_alone(h, one)
    forget(h, one)
    ended = h.world:now()
  end
  -- After the loss of a term nothing else reports the errors of its function.
  local function watched(term)
    local ok, problem = zk.pcall(serve, term)
    if not ok and tostring(problem):find "violation" then h.problem = problem end
    if not ok then error(problem, 0) end
  end
  h:user(name .. " stops", zk, function()
    while not h.over do zk.sleep(1) end
    election:stop()
  end)
  local ok, message, code = election:lead(watched, { cooldown = cooldown, on_error = function(problem) h.problem = problem end })
  h:expect(not ok and code == "canceled", "lead: %s", message)
  h:expect(not h.problem, "%s", tostring(h.problem))
end

local function reader(h, zk, election)
  while not h.over do
    local leader, message, code = election:leader()
    h:expect(leader or not code or GIVES_UP[code], "leader: %s", message)
    h:expect(not leader or not leader.ready or h.by_hand or h.readied[leader.token], "ready, and did not say so")
    h:expect(not leader or not leader.value:find(NEXT, 1, true), "the value has a name in it")
    zk.sleep(h:within(3))
  end
end

-- options(): the options of a candidate's election. also(zk, election): optional; runs beside each candidate.
function M.start(h, path, options, also)
  h.terms, h.named, h.readied, h.author = {}, {}, {}, {}
  h.token, h.said, h.quorum, h.path = "", 0, h.quorum or 1, path
  for number = 1, 2 + h:below(3) do
    local zk = h:process()
    local session = h:session(zk)
    for place = 1, h:below(3) do
      local name, election = ("%d.%d"):format(number, place), session:election(path, options())
      local lives = place == 1 and h:chance(0.4) and led or worker
      h:user(name, zk, function() lives(h, zk, session, election, name) end)
      if also then h:user(name .. " also", zk, function() also(zk, election) end) end
    end
    if number == 1 then h:user("reader", zk, function() reader(h, zk, session:election(path, options())) end) end
  end
  function h.settle()
    h.calm_at = h.world:now() + 30
    h.world:advance(90)
    h.over = true
  end
  function h.check()
    collectgarbage()
    h.world:advance(20)
    h:expect(#(h.world:children(path) or {}) == 0, "left: %s", h.world:dump(path))
  end
end

return M
