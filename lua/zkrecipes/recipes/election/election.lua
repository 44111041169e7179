-- What elections and their terms can do beyond the core: values with a mark of readiness (value.lua), sleeping
-- until the term is lost, observing, resigning to a named successor (successor.lua). lead.lua has what runs a function while
-- one leads, ranked.lua how ranks decide.

local check = require "zkrecipes.check"
local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"
local values = require "zkrecipes.recipes.election.value"
local lead = require "zkrecipes.recipes.election.lead"
local limits = require "zkrecipes.limit"
local ranked = require "zkrecipes.recipes.election.ranked"
local requests = require "zkrecipes.lost_answers"
local successors = require "zkrecipes.recipes.election.successor"
local tasks = require "zkrecipes.host.tasks"
local wait = require "zkrecipes.host.wait"

local session_class, election_class, term_class = core.classes.session, core.classes.election, core.classes.term
local Session, Election, Term = {}, {}, {}

-- ---- Making ------------------------------------------------------------------------------------

-- Election > how it is decided by rank: { session, rank, quorum, attempts, terms }.
local rules_of = setmetatable({}, { __mode = "k" })

-- The options without those of an election by rank, which become rules.
local function take_rules(session, options)
  local given = {}
  check.plain(options, 2, "election", "table of options")
  for key, value in next, options do given[key] = value end
  local rank, quorum = given.rank, given.quorum
  given.rank, given.quorum = nil, nil
  if rank == nil and quorum == nil then return given end
  values.check_rank(rank, 2, "election")
  if given.fair ~= nil then check.bad(2, "election", "options 'rank' and 'fair' do not go together") end
  quorum = quorum or 1
  if type(quorum) ~= "number" or quorum % 1 ~= 0 or quorum < 1 then
    check.bad(2, "election", "option 'quorum': number of candidates expected, got " .. tostring(quorum))
  end
  local terms = setmetatable({}, { __mode = "v" }) -- a key would still be there when it is collected already
  local attempts = setmetatable({}, { __mode = "k" }) -- one that was killed keeps none
  return given, { session = session, rank = rank, quorum = quorum, changes = 0, attempts = attempts, stood = 0, terms = terms }
end

-- session:election(path [, options])
function Session:election(path, options)
  local rules
  if type(options) == "table" then
    options, rules = take_rules(self, options)
    if type(options.value) == "string" or rules and options.value == nil then
      options.value = values.encode { value = options.value or "", rank = rules and rules.rank }
    end
  end
  local election, message, code = session_class.core.election(self, path, options)
  if election then rules_of[election] = rules end
  return election, message, code
end

-- ---- Terms -------------------------------------------------------------------------------------

-- Term > { value =, ready =, rank =, successor = } for what its node is to say; `election`, `resigned`.
local says = setmetatable({}, { __mode = "k" })

local function begin(election, term, value, rank)
  says[term] = { election = election, value = value, ready = false, rank = rank }
  return term
end

local function write(term, say, limit)
  if limit then return limit:write(term, "set", term.path, values.encode(say)) end
  return term:set(term.path, values.encode(say))
end

-- Written again when the answer was lost: twice does no harm, and it is always the latest that is written. `name`: of
-- the method.
local function tell(term, name, limit)
  local say = says[term]
  if say.resigned then core.misuse(("bad call of '%s' (the term was resigned; campaign again first)"):format(name)) end
  local stat, message, code = requests.sure_while(term, write, term, say, limit)
  if stat then return true end
  return nil, (message:gsub("^term:set ", "term:" .. name .. " ")), code
end

function Election:campaign(timeout)
  local rules = rules_of[self]
  if rules then
    local value, first = values.first(self.value, true)
    return ranked.campaign(self, rules, timeout, function(term, limit)
      rules.stood = rules.stood + 1
      rules.terms[rules.stood] = begin(self, term, value, rules.rank)
      if rules.rank ~= first then tell(term, "campaign", limit) end
    end)
  end
  local term, message, code = election_class.core.campaign(self, timeout)
  if term then begin(self, term, (values.first(self.value))) end
  return term, message, code
end

function Election:cancel()
  local rules = rules_of[self]
  return election_class.core.cancel(self) + (rules and ranked.cancel(rules) or 0)
end

function Election:attempts()
  local all, rules = election_class.core.attempts(self), rules_of[self]
  local seated = rules and ranked.attempts(rules) or {}
  for i = 1, #seated do all[#all + 1] = seated[i] end
  return all
end

-- term:proclaim(value): what others see from now on.
function Term:proclaim(value)
  values.check(value, 1, "proclaim")
  local say = says[self]
  local before = say.value
  say.value = value
  local ok, message, code = tell(self, "proclaim")
  if code == "too_large" and say.value == value then say.value = before end -- or no later write would succeed
  return ok, message, code
end

-- term:ready(): what there was to do at the start is done.
function Term:ready()
  says[self].ready = true
  return tell(self, "ready")
end

-- A term that is over wakes its sleepers with an answer once, also in a task that is stopped because of it: the
-- function's first chance to end by itself. Task > the term it was told of.
local told = setmetatable({}, { __mode = "k" })

-- True when this task is canceled and has had its chance, or was canceled for another reason.
local function must_stop(term)
  local task = wait.task()
  if not task or not task.canceled then return false end
  if told[task] == term or term:valid() then return true end
  told[task] = term
  return false
end

-- election:update_rank(rank): of this handle's candidates, those that stand and later ones.
function Election:update_rank(rank)
  local rules = rules_of[self]
  if not rules then core.misuse("bad call of 'update_rank' (this election is not decided by rank)") end
  values.check_rank(rank, 1, "update_rank")
  rules.rank = rank
  local ok, message, code = true, nil, nil
  local numbers = {}
  for number in pairs(rules.terms) do numbers[#numbers + 1] = number end
  table.sort(numbers)
  for i = 1, #numbers do
    local term = rules.terms[numbers[i]]
    if term then says[term].rank = rank end
    if term and term:valid() then ok, message, code = tell(term, "update_rank") end
  end
  if ok then return true end
  return nil, message, code
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

-- ---- Who leads ---------------------------------------------------------------------------------

-- election:leader([timeout]): { value, ready, token, session, since }; or nil: nobody leads.
function Election:leader(timeout)
  local node, message, code
  if rules_of[self] then
    check.seconds(timeout, 1, "leader", true)
    local limit = limits.new(self.session, timeout)
    node, message, code = limit:told(ranked.leader(self, limit))
  else
    node, message, code = election_class.core.leader(self, timeout)
  end
  if node then return values.decode(node) end
  if node == false then return nil end
  return nil, message, code
end

-- One step of observe(): the leader, or false, and how many changes were seen.
function Election:next_leader(seen)
  local rules = rules_of[self]
  local node, count, code = (rules and ranked.next_leader or election_class.core.next_leader)(self, seen, rules)
  if node then node = values.decode(node) end
  return node, count, code
end

local PASSES = requests.PASSES
local PAUSE = 0.5 -- seconds, after a failure that may pass

-- for leader in election:observe() do ... end: the present leader and every later one, false when nobody leads;
-- ends when the session is closed.
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

-- election:candidates([timeout]): in queue order, the leader first.
function Election:candidates(timeout)
  local list, message, code = election_class.core.candidates(self, timeout)
  if not list then return nil, message, code end
  local rules, leading = rules_of[self], nil
  if rules then
    local limit = limits.new(self.session, timeout)
    leading, message, code = ranked.leading(self, limit)
    if leading == nil then return limit:told(nil, message, code) end
  end
  for i = 1, #list do
    list[i].by_rank = rules ~= nil
    local one = values.decode(list[i])
    one.leading, one.holding, one.shared = one.holding, nil, nil
    if rules then one.leading = one.path == leading end
  end
  return list
end

-- ---- Leading -----------------------------------------------------------------------------------

-- The number of its seat; nil: none any more.
local function name_successor(term, number)
  says[term].successor = number
  term_class.inner.named(term, number or -1)
end

local function take_back(race)
  local term = race.term
  name_successor(term, nil)
  tasks.behind(core.host(race.election), {}, function() -- nobody waits for that
    if term:valid() and not says[term].resigned then tell(term, "resign") end
  end)
end

-- Until nobody stands between the term and its successor.
local function make_room(term, election, successor, limit)
  return successors.make_room { election = election, session = limit.session, term = term,
    leader = term.path:match "[^/]*$", heir = successor.path:match "[^/]*$", left = limit.left,
    name = function(number)
      name_successor(term, number)
      return tell(term, "resign", limit)
    end,
    take_back = take_back }
end

-- term:resign(): at once; idempotent. With a successor, one of candidates(): waits until nobody else can lead next, or
-- fails, and the term goes on.
function Term:resign(successor, timeout)
  local say = says[self]
  if successor ~= nil then
    local election, rules = say.election, rules_of[say.election]
    successors.check(self, election, successor, timeout)
    local limit = limits.new(election.session, timeout)
    local ok, message, code
    if rules then
      ok, message, code = ranked.name_successor(election, limit, self, successor.path)
    else
      ok, message, code = make_room(self, election, successor, limit)
    end
    if not ok then return limit:told(nil, message, code) end
  end
  say.resigned = true
  return term_class.core.resign(self)
end

function term_class.meta.__close(term) term:resign() end

for name, method in pairs(lead.methods(function(term) return says[term].resigned end)) do Election[name] = method end

classes.extend(session_class, Session)
classes.extend(election_class, Election)
classes.extend(term_class, Term)

core.own(debug.getinfo(1, "S").source)
