-- The part of elections and terms that is written in Lua: what a leader says about itself, sleeping until the term is lost, observing,
-- resigning to a named successor (successor.lua). lead.lua runs a function while the caller leads. How the data of a candidate's znode
-- say something is known to C only (src/recipes/election/value.h).

local check = require "zkrecipes.check"
local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"
local failure = require "zkrecipes.failure"
local lead = require "zkrecipes.recipes.election.lead"
local limits = require "zkrecipes.limit"
local requests = require "zkrecipes.lost_answers"
local successors = require "zkrecipes.recipes.election.successor"
local tasks = require "zkrecipes.host.tasks"
local timer = require "zkrecipes.recipes.election.timer"
local wait = require "zkrecipes.host.wait"
local paths = require "zkrecipes.path"

local session_class, election_class, term_class = core.classes.session, core.classes.election, core.classes.term
local change_rank = classes.waiting(election_class.inner.change_rank)
local resign_to = classes.waiting(term_class.inner.resign_to)
local decode, marks = election_class.inner.decode, term_class.inner.marks
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

-- Term > { value =, ready =, rank =, successor = }, the data that its znode must have; also `election`, `resigned`.
local says = setmetatable({}, { __mode = "k" })

local function begin(election, term, value, rank)
  says[term] = { election = election, value = value, ready = false, rank = rank }
  return term
end

-- `losses`: { how many answers were lost }.
local function write(term, say, limit, losses)
  local before, behind = marks(term, say.value, say.ready and 1 or 0, say.successor or -1, say.rank)
  local data = before .. say.value .. behind
  local done, message, code
  if limit then
    done, message, code = limit:write(term, "set", term.path, data)
  else
    done, message, code = term:set(term.path, data)
  end
  if code ~= "connection_loss" then return done, message, code end
  losses[1] = losses[1] + 1
  if not core.lost_too_large(losses[1], #data) then return nil, message, code end
  return nil, ("the link broke %d times at a request with %d bytes of data; use a smaller value, or raise the servers' jute.maxbuffer")
    :format(losses[1], #data), "too_large"
end

-- Writes the term's data; repeats the write if the answer was lost. Writing twice does no harm, and each write has the latest data.
-- `name`: the name of the method.
local function tell(term, name, limit)
  local say = says[term]
  if say.resigned then core.misuse(("bad call of '%s' (the term was resigned; campaign again first)"):format(name)) end
  local stat, message, code = requests.sure_while(term, write, term, say, limit, { 0 })
  if stat then return true end
  return failure.told("term:" .. name, term.path, nil, message, code)
end

-- The same, and no caller waits for it.
local function tell_behind(election, term, name)
  tasks.behind(core.host(election), {}, function()
    if term:valid() and not says[term].resigned then tell(term, name) end
  end)
end

function Election:campaign(timeout)
  local term, message, code = election_class.core.campaign(self, timeout)
  if not term then return nil, message, code end
  local rules = rules_of[self]
  begin(self, term, (decode(self, self.value)), rules and rules.rank)
  if rules then
    rules.stood = rules.stood + 1
    rules.terms[rules.stood] = term
    if term_class.inner.outdated(term) then tell_behind(self, term, "campaign") end
  end
  return term
end

-- term:proclaim(value): sets the value that others see from now on.
function Term:proclaim(value)
  if type(value) ~= "string" then check.bad(1, "proclaim", "string expected, got " .. type(value)) end
  local say = says[self]
  local before = say.value
  say.value = value
  local ok, message, code = tell(self, "proclaim")
  if code == "too_large" and say.value == value then say.value = before end -- with the large value no later write would succeed
  return ok, message, code
end

-- term:ready(): the leader has finished its preparations.
function Term:ready()
  says[self].ready = true
  return tell(self, "ready")
end

-- When a term ends, term:sleep returns once with an answer, even in a task that is canceled because of that end. This gives the
-- function a chance to end by itself. Task > the term whose end it was told.
local told = setmetatable({}, { __mode = "k" })

-- True if this task is canceled, and either has had its chance or was canceled for another reason.
local function must_stop(term)
  local task = wait.task()
  if not task or not task.canceled then return false end
  if told[task] == term or term:valid() then return true end
  told[task] = term
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
    if term then says[term].rank = rank end
    if term and term:valid() then
      local said, problem, why = tell(term, "update_rank")
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

-- number: of the successor's seat; nil: no successor any more.
local function name_successor(term, number)
  says[term].successor = number
  term_class.inner.named(term, number or -1)
end

local function take_back(race)
  local term = race.term
  name_successor(term, nil)
  tell_behind(race.election, term, "resign")
end

-- Waits until no candidate is between the term and its successor.
local function make_room(term, election, successor, limit)
  return successors.make_room { election = election, term = term, heir = paths.name(successor.path), limit = limit,
    name = function(number)
      name_successor(term, number)
      return tell(term, "resign", limit)
    end,
    take_back = take_back }
end

-- term:resign(): ends the term at once; idempotent. With a successor, an entry of candidates(), it first waits until no other
-- candidate can lead next. If that fails, the term continues.
function Term:resign(successor, timeout)
  local say = says[self]
  if successor ~= nil then
    local election, rules = say.election, rules_of[say.election]
    successors.check(self, election, successor, timeout)
    if rules then
      local ok, message, code = resign_to(self, paths.name(successor.path), timeout)
      if not ok then return nil, message, code end
    else
      local limit = limits.new(election.session, timeout)
      local ok, message, code = make_room(self, election, successor, limit)
      if not ok then return nil, message, code end
    end
  end
  say.resigned = true
  return term_class.core.resign(self)
end

function term_class.meta.__close(term) term:resign() end

local function resigned(term) return says[term].resigned end
for name, method in pairs(lead.methods(resigned)) do Election[name] = method end
for name, method in pairs(timer.methods(resigned)) do Election[name] = method end

classes.extend(session_class, Session)
classes.extend(election_class, Election)
classes.extend(term_class, Term)

core.own(debug.getinfo(1, "S").source)
