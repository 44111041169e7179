-- Resigns to a named successor, in an election with a queue; src/recipes/election/make_room.c has the story, and waits. Here the term's
-- znode gets the successor's number, and loses it again if the term continues.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local classes = require "zkrecipes.classes"
local failure = require "zkrecipes.failure"
local wait = require "zkrecipes.host.wait"

local M = {}

local make_room = classes.waiting(core.classes.term.inner.make_room)

-- Waits until the successor is next, and returns true. If a candidate is in between, and `between` is nil, returns its name and the
-- successor's number instead.
local function look(race, between)
  return race.limit:call("term:resign " .. race.term.path, function(left) return make_room(race.term, race.heir, between, left) end)
end

local function await_next(race)
  local between, number, code = look(race)
  if not between or between == true then return between, number, code end
  race.named = true
  local told, message, why = race.name(number)
  if not told then return nil, message, why end
  return look(race, between)
end

local function stop(race)
  if race.named then race.take_back(race) end
end

-- Waits until the successor is next: true; or nil, message, code. race: { election, term; heir: the name of its znode; limit: see
-- limit.lua; name(number): writes the number, take_back(race): takes it back }; sets race.named.
function M.make_room(race)
  local ok, message, code = race.limit:told(wait.within(core.host(race.election), stop, race, await_next, race))
  local valid = race.term:valid()
  if ok and valid then return true end
  stop(race)
  if ok or code == "connection_loss" and not valid then message, code = "the term is over", "lost" end
  if code == "timeout" then message = "the time limit passed before the candidates in between had stepped aside" end
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
