-- The part of elections and terms that is written in Lua: sleeping until the term is lost, observing, and the arguments of methods.
-- lead.lua runs a function while the caller leads. How the data of a candidate's znode say something is known to C only
-- (src/recipes/election/value.h).

local check = require "zkrecipes.check"
local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"
local failure = require "zkrecipes.failure"
local lead = require "zkrecipes.recipes.election.lead"
local requests = require "zkrecipes.lost_answers"
local timer = require "zkrecipes.recipes.election.timer"
local wait = require "zkrecipes.host.wait"
local paths = require "zkrecipes.path"

local session_class, election_class, term_class = core.classes.session, core.classes.election, core.classes.term
local change_rank = classes.waiting(election_class.inner.change_rank)
local tell_rank, resign_to = classes.waiting(term_class.inner.tell_rank), classes.waiting(term_class.inner.resign_to)
local decode = election_class.inner.decode
local Session, Election, Term = {}, {}, {}

-- ---- Making ------------------------------------------------------------------------------------

local RANK_MAX = 2 ^ 53

local function check_rank(value, argument, name)
  if type(value) ~= "number" or value % 1 ~= 0 or value < -RANK_MAX or value > RANK_MAX then
    check.bad(argument, name, "rank: whole number of at most 2^53 expected, got " .. tostring(value))
  end
end

-- Election > its rules, if it is decided by rank: { rank, terms, stood }.
local rules_of = setmetatable({}, { __mode = "k" })

-- Returns the options with the quorum, and the rules made from the rank, if there is one.
local function take_rules(options)
  local given = {}
  check.plain(options, 2, "election", "table of options")
  for key, value in next, options do given[key] = value end
  local rank, quorum = given.rank, given.quorum
  if rank == nil and quorum == nil then return given end
  check_rank(rank, 2, "election")
  if given.fair ~= nil then check.bad(2, "election", "options 'rank' and 'fair' cannot be combined") end
  quorum = quorum or 1
  if type(quorum) ~= "number" or quorum % 1 ~= 0 or quorum < 1 then
    check.bad(2, "election", "option 'quorum': number of candidates expected, got " .. tostring(quorum))
  end
  given.quorum = quorum
  -- Weak values: a weak key would still be there when the term is collected already.
  return given, { rank = rank, stood = 0, terms = setmetatable({}, { __mode = "v" }) }
end

-- session:election(path [, options])
function Session:election(path, options)
  local rules
  if type(options) == "table" then options, rules = take_rules(options) end
  local election, message, code = session_class.core.election(self, path, options)
  if election then rules_of[election] = rules end
  return election, message, code
end

-- ---- Terms -------------------------------------------------------------------------------------

local unfair = setmetatable({}, { __mode = "k" }) -- the terms of elections with fair = false

function Election:campaign(timeout)
  local term, message, code = election_class.core.campaign(self, timeout)
  if not term then return nil, message, code end
  local rules = rules_of[self]
  if term.path == self.path then unfair[term] = true end
  if rules then
    rules.stood = rules.stood + 1
    rules.terms[rules.stood] = term
    term_class.inner.catch_up(term)
  end
  return term
end

-- term:proclaim(value): sets the value that others see from now on.
function Term:proclaim(value)
  if type(value) ~= "string" then check.bad(1, "proclaim", "string expected, got " .. type(value)) end
  return term_class.core.proclaim(self, value)
end

-- When a term ends, term:sleep returns once with an answer, even in a task that is canceled because of that end. This gives the
-- function a chance to end by itself. The task keeps, as `told`, the term whose end it was told.

-- True if this task is canceled, and either has had its chance or was canceled for another reason.
local function must_stop(term)
  local task = wait.task()
  if not task or not task.canceled then return false end
  if task.told == term or term:valid() then return true end
  task.told = term
  return false
end

-- election:update_rank(rank): sets the rank of this handle's candidates, present and later ones.
function Election:update_rank(rank)
  local rules = rules_of[self]
  if not rules then
    core.misuse("bad call of 'update_rank' (this election is not decided by rank; pass the option rank to session:election)")
  end
  check_rank(rank, 1, "update_rank")
  rules.rank = rank
  local ok, message, code = change_rank(self, rank)
  local numbers = {}
  for number in pairs(rules.terms) do numbers[#numbers + 1] = number end
  table.sort(numbers)
  for i = 1, #numbers do
    local term = rules.terms[numbers[i]]
    if term and term:valid() then
      local said, problem, why = tell_rank(term)
      if not said then ok, message, code = nil, problem, why end
    end
  end
  return ok, message, code
end

local function over(term)
  return nil, "term:sleep " .. term.path .. ": the term is over", "lost"
end

-- term:sleep(seconds): true; or nil, message, "lost" as soon as the term is over.
function Term:sleep(seconds)
  check.seconds(seconds, 1, "sleep")
  if must_stop(self) then error(wait.canceled, 0) end
  local slot, host, failed = term_class.start.lost(self, seconds)
  if not slot then return nil, host, failed end
  local why, message, code = wait.await(host, slot, nil, true)
  if why == wait.canceled then
    if must_stop(self) then error(wait.canceled, 0) end
    return over(self)
  end
  if why then return over(self) end
  if code == "timeout" then return true end
  return nil, message, code
end

-- ---- The leader --------------------------------------------------------------------------------

-- Puts what the data of a node say in their place: `value`, `ready`, `rank`.
local function read(election, node)
  node.value, node.ready, node.rank = decode(election, node.data)
  node.data = nil
  return node
end

-- election:leader([timeout]): { value, ready, token, session, since }; or nil: there is no leader.
function Election:leader(timeout)
  local node, message, code = election_class.core.leader(self, timeout)
  if node then return read(self, node) end
  if node == false then return nil end
  return nil, message, code
end

-- One step of observe(): the leader, or false, and how many changes were seen.
function Election:next_leader(seen)
  local node, count, code = election_class.core.next_leader(self, seen)
  if node then node = read(self, node) end
  return failure.told("election:next_leader", self.path, node, count, code)
end

local PASSES = requests.PASSES
local PAUSE = 0.5 -- seconds, after a failure that may pass

-- for leader in election:observe() do ... end: the present leader and every later one, false while there is no leader. Ends when the
-- session is closed.
function Election:observe()
  local seen, host = 0, core.host(self)
  return function()
    local node, count, code
    repeat
      if PASSES[code] then wait.pause(host, wait.record(), PAUSE) end
      node, count, code = self:next_leader(seen)
    until node ~= nil or not PASSES[code]
    if node ~= nil then seen = count end
    return node
  end
end

-- election:candidates([timeout]): in queue order, the leader first; by rank in the order in which they came.
function Election:candidates(timeout)
  local list, message, code = election_class.core.candidates(self, timeout)
  if not list then return nil, message, code end
  for i = 1, #list do
    local one = read(self, list[i])
    one.leading, one.holding, one.shared = one.holding, nil, nil
  end
  return list
end

-- ---- Leading -----------------------------------------------------------------------------------

local function check_successor(term, successor, timeout)
  if unfair[term] then
    core.misuse("bad call of 'resign' (with fair = false no candidate waits in a queue, so no successor can be named)")
  end
  if type(successor) ~= "table" or type(successor.token) ~= "string" or type(successor.path) ~= "string" then
    check.bad(1, "resign", "candidate expected, got " .. type(successor))
  end
  if successor.path == term.path then check.bad(1, "resign", "the successor must be another candidate") end
  check.seconds(timeout, 2, "resign", true)
end

-- term:resign(): ends the term at once; idempotent. With a successor, an entry of candidates(), it first waits until no other
-- candidate can lead next. If that fails, the term continues.
function Term:resign(successor, timeout)
  if successor ~= nil then
    check_successor(self, successor, timeout)
    local ok, message, code = resign_to(self, paths.name(successor.path), timeout)
    if not ok then return nil, message, code end
  end
  return term_class.core.resign(self)
end

local resigned = term_class.inner.resigned
for name, method in pairs(lead.methods(resigned)) do Election[name] = method end
for name, method in pairs(timer.methods(resigned)) do Election[name] = method end

classes.extend(session_class, Session)
classes.extend(election_class, Election)
classes.extend(term_class, Term)

core.own(debug.getinfo(1, "S").source)
