-- Resigning to a named successor, in an election with a queue:
--
-- 1. List the directory. The successor does not stand there: say so. Nobody stands between the leader and it: resign.
-- 2. Else name it, in the data of the leader's own node, behind the value. Who waits for that node and stands before
--    the successor steps aside: leaves its seat, and takes one at the end (contest.c). The one behind it is next then,
--    reads the same, and does the same.
-- 3. Wait until the one just ahead of the successor is gone, and begin anew.
--
-- Nobody leads because of a name: the queue decides as ever, each seat is left by its owner alone, and the leader
-- resigns as ever. So there is one leader, and tokens grow, whatever becomes of the name.
--
-- What can go wrong: the successor leaves, or somebody between does not step aside in time (a participant of Curator
-- does not know how to): the name is taken back, and the term goes on. Who has stepped aside by then stays at the end.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local wait = require "zkrecipes.host.wait"

local M = {}

-- The number at the end of a contender's name.
local function number_of(name) return tonumber(name:match "[-_](%d%d%d%d%d%d%d%d%d%d)$") end

-- ---- Waiting -----------------------------------------------------------------------------------

-- Who stands between the two, nearest to the second; false: nobody. nil: one is not there; and whether the first is.
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

-- The same; or nil, message, code. Whoever told us of the successor may have asked another server.
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
  return nil, "the successor does not stand any more", "no_node"
end

-- Waits until this one is gone.
local function await(race, name)
  if race.left() == 0 then return nil, "the time limit passed", "timeout" end
  if not race.named then
    race.named = true
    local told, message, code = race.name(number_of(race.heir))
    if not told then return nil, message, code end
  end
  local path = race.election.path
  local gone, message, code = race.session:await_gone((path == "/" and "" or path) .. "/" .. name, race.left())
  if code == "timeout" then message = "the time limit passed" end
  return gone, message, code
end

-- True when the successor is next.
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

-- Until the successor is next: true; or nil, message, code. race: { election, session, term; leader, heir: the names of their nodes;
-- left(): see wait.limit; name(number): writes the name, take_back(race): takes it back }; sets race.named.
function M.make_room(race)
  local ok, message, code = wait.within(core.host(race.election), stop, race, await_next, race)
  if ok then return true end
  stop(race)
  return nil, ("term:resign %s: %s"):format(race.election.path, message), code
end

-- ---- Arguments ---------------------------------------------------------------------------------

function M.check(term, election, successor, timeout)
  if term.path == election.path then
    core.misuse("bad call of 'resign' (nobody stands in an election that is not fair: no successor can be named)")
  end
  if type(successor) ~= "table" or type(successor.token) ~= "string" or type(successor.path) ~= "string" then
    check.bad(1, "resign", "candidate expected, got " .. type(successor))
  end
  if successor.path == term.path then check.bad(1, "resign", "a term does not follow itself") end
  check.seconds(timeout, 2, "resign", true)
end

core.own(debug.getinfo(1, "S").source)
return M
