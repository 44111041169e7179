-- The election by rank; see leaders.lua. When the faults are long over, the leader is the named successor, or the candidate with the
-- highest rank among the candidates of a moment ago, which were a quorum. Then a quorum of candidates elects a leader in time, whatever was
-- done to their ranks. The names of candidates have their ranks. In some histories another client writes the directory's data by hand.

local leaders = require "spec.histories.worlds.leaders"

local PATH = "/e/ranked"
local MOMENT = 3 -- seconds from the listing of the candidates until the winner is told
local SOON = 0.5 -- seconds until a leader has read what is written
local STUCK = 5 -- seconds in which a quorum of candidates elects one of them

local function is_seat(path) return path:find(PATH .. "/", 1, true) == 1 end

-- The znodes of the candidates of the last MOMENT.
local function stood(h)
  local since, all = h.world:now() - MOMENT, {}
  for path, lives in pairs(h.lives) do
    local last = lives[#lives]
    local ended = last and h.ends[last.session]
    local here = last and (last.kind == "create" or last.at > since) and not (ended and ended < since)
    if is_seat(path) and here then all[#all + 1] = path end
  end
  return all
end

local function rank_of(h, path)
  return tonumber((h.world:get(path) or ""):match "^(%-?%d+)\n")
end

-- The name of each candidate that waits has the rank that its data have. (One that has lost its term by hand is leaving.)
local function check_names(h, winner)
  if h.by_hand then return end
  for path in pairs(h.lives) do
    local rank = is_seat(path) and path ~= winner and rank_of(h, path)
    h:expect(not rank or tonumber(path:match "%-(%-?%d+)%-rank%-%d+$") == rank, "%s has the rank %d", path, rank or 0)
  end
end

local function check_winner(h, one, was_named)
  check_names(h, one.term.path)
  if not h.calm_at or h.world:now() < h.calm_at or was_named or h.named[one.term.path] or h.by_hand then return end
  local all, mine = stood(h), rank_of(h, one.term.path)
  h:expect(#all >= h.quorum, "%s was elected by %d, not by %d", one.name, #all, h.quorum)
  for _, path in ipairs(mine and h.fixed and all or {}) do
    local rank = rank_of(h, path)
    local before = h.lives[path][1].at < h.world:now() - MOMENT
    h:expect(not rank or not before or rank <= mine, "%s with rank %d leads, and not %s with %d", one.name, mine, path, rank or 0)
  end
end

local function leads(h, data) return h.world:get(PATH .. "/" .. (data:match "^%S+" or "nobody")) ~= nil end

local function check_not_stuck(h, zk)
  local data, before, left = h.world:get(PATH) or "", h.world:children(PATH) or {}, 0
  if not h.calm_at or h.world:now() < h.calm_at or leads(h, data) then return end
  zk.sleep(STUCK)
  if h.over or h.world:get(PATH) ~= data then return end
  for _, name in ipairs(before) do left = left + (h.world:get(PATH .. "/" .. name) and 1 or 0) end
  h:expect(left < h.quorum, "nobody leads, though %d stand", left)
end

-- Half of the calls are stopped in the middle.
local function update(h, zk, election)
  local rank = h:below(9)
  local task = zk.spawn(function() return election:update_rank(rank) end)
  if h:chance(0.5) then
    zk.sleep(h:within(0.02))
    task:cancel()
  end
  task:wait()
end

-- Without faults a leader that is not named any more knows it soon.
local function check_named(h, zk)
  local _, before = h.world:get(PATH)
  zk.sleep(SOON)
  local data, stat = h.world:get(PATH)
  local calm = h.calm_at and h.world:now() > h.calm_at and not h.over
  if not calm or not before or stat.version ~= before.version then return end
  for _, one in ipairs(h.terms) do
    local valid = one.term:valid() and h.world:alive(one.id)
    h:expect(not valid or one.term.path == PATH .. "/" .. data:match "^%S*", "%s is valid, and not named: %s", one.name, data)
  end
end

-- Names nobody, a candidate, or a leader that has gone.
local function write_by_hand(h, zk)
  local session, old = h:session(zk), ""
  while not h.over do
    zk.sleep(h:within(20))
    local names = h.world:children(PATH) or {}
    local data = h:pick { "", old, #names > 0 and h:pick(names) or "" }
    h.by_hand = h.world:now()
    if not session:set(PATH, data) then zk.sleep(1) end
    h.by_hand, old = h.world:now(), (h.world:get(PATH) or ""):match "^%S*"
    check_named(h, zk)
  end
end

return function(h)
  h.guarded, h.quorum, h.fixed = true, h:below(3), h:chance(0.7)
  h.elected = function(one, was_named) check_winner(h, one, was_named) end
  leaders.start(h, PATH, function() return { value = "v", rank = h:below(9), quorum = h.quorum } end, function(zk, election)
    while not h.over do
      if not h.fixed then update(h, zk, election) end
      zk.sleep(h:within(6))
      check_not_stuck(h, zk)
    end
  end)
  if h:chance(0.2) then
    local zk = h:process()
    h:user("by hand", zk, function() write_by_hand(h, zk) end)
  end
end
