-- Resigns to a named successor, in an election with a queue:
--
-- 1. List the directory. If the successor is not in it, fail. If no candidate is between the leader and the successor, resign.
-- 2. If there is one, write the successor's number into the data of the leader's znode, after the value. The candidate that watches
--    the leader's znode reads it. If it is ahead of the successor, it steps aside: it deletes its seat and creates a new one at the end
--    of the queue (contest.c). Then the next candidate watches the leader's znode and does the same.
-- 3. Wait until the candidate just ahead of the successor is gone, and go to 1.
--
-- The successor's number never makes a candidate the leader: the queue decides as always, each candidate deletes only its own seat,
-- and the leader resigns as always. So there is one leader and tokens grow, whatever happens to the number.
--
-- What can go wrong: the successor leaves, or a candidate in between does not step aside in time (Curator's participants cannot):
-- the leader removes the successor's number, and the term continues. Candidates that have stepped aside stay at the end of the queue.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local failure = require "zkrecipes.failure"
local wait = require "zkrecipes.host.wait"
local paths = require "zkrecipes.path"

local M = {}

-- The number at the end of a contender's name.
local function number_of(name) return tonumber(name:match "[-_](%d%d%d%d%d%d%d%d%d%d)$") end

-- ---- Waiting -----------------------------------------------------------------------------------

-- The candidate between the two that is nearest to the second; false: there is none; or nil if one of the two is missing, and whether
-- the first exists.
local function nearest_between(names, leader, heir)
  local first, last, name, nearest, there = number_of(leader), number_of(heir), false, -1, {}
  for i = 1, #names do
    there[names[i]] = true
    local number = number_of(names[i])
    if number and number > first and number < last and number > nearest then name, nearest = names[i], number end
  end
  if there[leader] and there[heir] then return name end
  return nil, there[leader]
end

local function over() return nil, "the term is over", "lost" end

-- Lists the directory and returns nearest_between(); or nil, message, code. The program may have learned of the successor from another
-- server, which is ahead of ours: so it syncs and lists once more before it fails.
local function look(race)
  local session, dir, leads = race.session, race.election.path, nil
  for round = 1, 2 do
    if round == 2 then
      local synced, message, code = session:sync(dir)
      if not synced then return nil, message, code end
    end
    local names, message, code = session:children(dir)
    if not names then return nil, message, code end
    local between
    between, leads = nearest_between(names, race.leader, race.heir)
    if between ~= nil then return between end
  end
  if not leads then return over() end
  return nil, "the successor is no longer a candidate", "no_node"
end

-- Waits until this candidate is gone.
local function await(race, name)
  if race.left() == 0 then return nil, "the time limit passed before the candidates in between had stepped aside", "timeout" end
  if not race.named then
    race.named = true
    local told, message, code = race.name(number_of(race.heir))
    if not told then return nil, message, code end
  end
  local gone, message, code = race.session:await_gone(paths.child(race.election.path, name), race.left())
  if code == "timeout" then message = "the time limit passed before the candidates in between had stepped aside" end
  return gone, message, code
end

-- Waits until the successor is next; returns true.
local function await_next(race)
  while true do
    local between, message, code = look(race)
    if between and race.term:valid() then between, message, code = await(race, between) end
    if code and code ~= "connection_loss" then return nil, message, code end
    if not race.term:valid() then return over() end
    if between == false then return true end
  end
end

local function stop(race)
  if race.named then race.take_back(race) end
end

-- Waits until the successor is next: true; or nil, message, code. race: { election, session, term; leader, heir: their znodes' names;
-- left(): see wait.limit; name(number): writes the name, take_back(race): takes it back }; sets race.named.
function M.make_room(race)
  local ok, message, code = wait.within(core.host(race.election), stop, race, await_next, race)
  if ok then return true end
  stop(race)
  return failure.told("term:resign", race.term.path, nil, message, code)
end

-- ---- Arguments ---------------------------------------------------------------------------------

function M.check(term, election, successor, timeout)
  if term.path == election.path then
    core.misuse("bad call of 'resign' (with fair = false no candidate waits in a queue, so no successor can be named)")
  end
  if type(successor) ~= "table" or type(successor.token) ~= "string" or type(successor.path) ~= "string" then
    check.bad(1, "resign", "candidate expected, got " .. type(successor))
  end
  if successor.path == term.path then check.bad(1, "resign", "the successor must be another candidate") end
  check.seconds(timeout, 2, "resign", true)
end

core.own(debug.getinfo(1, "S").source)
return M
