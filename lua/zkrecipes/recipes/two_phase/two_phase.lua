-- Two-phase commit: several participants do something all together, or not at all. Composes plain requests and watched copies.
--
-- 1. The coordinator (`run`) creates the transaction's znode, and one in the inbox of each participant, in one multi.
-- 2. Each participant (`serve`) finds it in its inbox, calls `prepare`, and creates its vote. A vote is a yes.
-- 3. The last one to vote sees as many votes as there are participants, and decides: one multi checks that each vote exists, and writes
--    "committed" into the znode if that is still as it was created (version 0).
-- 4. All watch the znode. `run` returns. Each participant calls `commit`, until it succeeds, and acknowledges: in one multi it empties its
--    inbox and creates its mark.
-- 5. The last one to acknowledge sees all marks, and tidies: one multi deletes votes and marks, and leaves in the znode only the outcome.
--    It is kept for some time, so that the id is known. Then the znode is deleted.
--
-- There is one decision, because only a write on version 0 makes it, and version 0 ends with it. It makes no difference who writes it.
--
-- What can go wrong:
-- * A participant votes no: it writes "aborted" itself, on version 0. A no after a yes of the same name counts too, if nothing is decided.
-- * A vote does not come in time, or the last voter dies before step 3. Each process that waits decides when the time for votes is over: as
--   in 3 if all votes are there, otherwise "aborted". So a dead coordinator stops no participant.
-- * The clocks differ. The time is measured from the creation of the znode: by the coordinator with its own clock, which only has to run
--   evenly; by a participant as a difference of two times of the servers. A clock that is wrong decides too early or too late. It cannot
--   make two decisions, and it cannot commit without all votes.
-- * A participant dies. Its inbox keeps the transaction. If its vote exists, it is not asked again. What was called but not acknowledged
--   is called again.
-- * An answer is lost. A create is sent again until the znode exists; after a decision the znode is read; an acknowledgement is sent again
--   until the inbox is empty.
-- * A request of an earlier transaction with this id arrives late. Names of votes, of marks and in inboxes have the tag of their
--   transaction, so it cannot vote in the new one. A create fails as long as the outcome is kept.
-- * `run` is called again with an id: it joins that transaction, or returns its outcome, if participants and data are the same. If its
--   limit is shorter than the time for votes, it returns without the outcome: it does not abort what others may still vote for.
-- * The one that would tidy dies. A participant that serves looks for what is left, now and then (tidying.lua).

local check = require "zkrecipes.check"
local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"
local escape = require "zkrecipes.escape"
local failure = require "zkrecipes.failure"
local limits = require "zkrecipes.limit"
local participants = require "zkrecipes.recipes.two_phase.participant"
local paths = require "zkrecipes.path"
local records = require "zkrecipes.recipes.two_phase.record"
local requests = require "zkrecipes.lost_answers"
local transactions = require "zkrecipes.recipes.two_phase.transaction"

local TwoPhase = { __name = "zkrecipes.two_phase" }
TwoPhase.__index = TwoPhase

local KEEP = 3600         -- seconds
local PARTICIPANTS = 1000 -- of one transaction: a tidying multi has two parts for each
local FOR_VOTES, REST = 0.8, 2 -- the part of a limit in which votes may come; at most REST seconds are left for the decision
local ROUNDS = 6

-- ---- Arguments ---------------------------------------------------------------------------------

local function check_id(id, argument, method)
  if type(id) ~= "string" then check.bad(argument, method, "string expected, got " .. type(id)) end
  if id == "" then check.bad(argument, method, "the id is empty") end
end

local function check_names(names)
  check.list(names, 3, "run", "list of names")
  if #names == 0 then check.bad(3, "run", "at least one participant expected") end
  if #names > PARTICIPANTS then check.bad(3, "run", ("at most %d participants expected, got %d"):format(PARTICIPANTS, #names)) end
  local seen = {}
  for i = 1, #names do
    local name = names[i]
    if type(name) ~= "string" or name == "" then check.bad(3, "run", ("name of a participant expected at %d"):format(i)) end
    if seen[name] then check.bad(3, "run", ("the participant '%s' is named twice"):format(check.shown(name))) end
    seen[name] = true
  end
end

-- The names as they are in paths; or nil, message, code.
local function escaped(names)
  local list = {}
  for i = 1, #names do
    local name, message, code = escape(names[i])
    if not name then return nil, message, code end
    list[i] = name
  end
  return list
end

-- ---- The coordinator ---------------------------------------------------------------------------

local function make_folders(session, place, names)
  local folders = { place.folder .. "/transactions" }
  for i = 1, #names do folders[#folders + 1] = records.inbox(place, names[i]) end
  for i = 1, #folders do
    local made, message, code = requests.sure(session.create, session, folders[i], "", { parents = true })
    if not made and code ~= "node_exists" then return nil, message, code end
  end
  return true
end

local function create(session, place, record)
  local parts = { { "create", place.path, records.encode(record) } }
  for _, name in ipairs(record.names) do parts[#parts + 1] = { "create", records.entry(place, record.tag, name), "" } end
  return session:multi(parts)
end

local function other_transaction()
  return nil, "two_phase:run: another transaction has this id, with other data or participants", "conflict"
end

-- The transaction that has the id already; or nil, message, code.
local function join(session, place, record)
  local found, message, code = transactions.read(session, place)
  if not found then return nil, message, code end
  if not records.same(found.record, record) then return other_transaction() end
  return found
end

-- The transaction, new or found; or nil, message, code.
local function begin(session, place, record)
  local round, tx = 0, nil
  while true do
    local done, message, code = create(session, place, record)
    if done then return { place = place, record = record } end
    if code == "node_exists" then tx, message, code = join(session, place, record) end
    if tx then return tx end
    if code == "no_node" and round < ROUNDS then
      round = round + 1
      done, message, code = make_folders(session, place, record.names)
    end
    if not done and code ~= "connection_loss" then return nil, message, code end
  end
end

local function coordinate(two, place, record, limit)
  local session = limit.session
  local id, problem, why = requests.connected(session, limit.left())
  if not id then return nil, problem, why end
  record.tag = requests.tag(two.session, id)
  local began = limit.now()
  local tx, message, code = begin(session, place, record)
  if not tx then return nil, message, code end
  local over = began + tx.record.milliseconds / 1000 -- the time of the transaction, which may be longer than ours if it was found
  local function left() return math.max(over - limit.now(), 0) end
  return transactions.settle(session, tx, left, function() return math.min(left(), limit.left()) end)
end

-- The state of a transaction, and why it was aborted.
local function outcome_of(record)
  if record.why then return record.state, record.why end
  return record.state
end

-- The results of run.
local function told(two, id, found, message, code)
  if found then return outcome_of(found) end
  local why = failure.say("", "", message):sub(4)
  if code == "timeout" or code == "connection_loss" then -- it may have begun
    why, code = "the outcome is not known: " .. why, "connection_loss"
  end
  return nil, ("two_phase:run %s: transaction '%s': %s"):format(two.path, check.shown(id), why), code
end

-- two_phase:run(id, data, participants, timeout): "committed"; "aborted" and why; or nil, message, code.
function TwoPhase:run(id, data, names, timeout)
  check_id(id, 1, "run")
  if type(data) ~= "string" then check.bad(2, "run", "string expected, got " .. type(data)) end
  check_names(names)
  check.seconds(timeout, 4, "run")
  local place, message, code = records.place(self.path, id)
  if not place then return nil, message, code end
  local list, problem, why = escaped(names)
  if not list then return nil, problem, why end
  if timeout == 0 and limits.away(self.session) then return limits.unconnected(self.session, "two_phase:run " .. self.path) end
  local seconds = math.max(FOR_VOTES * timeout, timeout - REST)
  local record = { state = "open", milliseconds = math.floor(seconds * 1000), names = list, data = data }
  local limit = limits.new(self.session, timeout)
  return told(self, id, limit:told(coordinate(self, place, record, limit)))
end

-- ---- Looking -----------------------------------------------------------------------------------

-- two_phase:outcome(id [, timeout]): "committed"; "aborted" and why; "open"; false if the id is not known; or nil, message, code.
function TwoPhase:outcome(id, timeout)
  check_id(id, 1, "outcome")
  check.seconds(timeout, 2, "outcome", true)
  local place, message, code = records.place(self.path, id)
  if not place then return nil, message, code end
  local limit = limits.for_method(self.session, timeout)
  local ok, problem, why = limit.session:sync(place.path)
  if not ok then return limit:told(nil, problem, why) end
  local tx
  tx, message, code = transactions.get(limit.session, place)
  if tx then return outcome_of(tx.record) end
  if code == "no_node" then return false end
  return limit:told(nil, message, code)
end

-- The names of the transactions in inboxes, in order; and name > the names of the participants whose inboxes have it. Or nil, message,
-- code.
local function entries(two, session)
  local folder, order, found = two.path .. "/participants", {}, {}
  local names, message, code = session:children(folder)
  if code == "no_node" then return order, found end
  if not names then return nil, message, code end
  table.sort(names)
  for _, name in ipairs(names) do
    local list, problem, why = session:children(paths.child(folder, name))
    if not list and why ~= "no_node" then return nil, problem, why end
    for _, entry in ipairs(list or {}) do
      if not found[entry] then order[#order + 1], found[entry] = entry, {} end
      table.insert(found[entry], name)
    end
  end
  table.sort(order)
  return order, found
end

local function shown(tx, awaited)
  local record = tx.record
  return { id = tx.place.id, state = record.state, why = record.why, data = record.data, participants = records.unescaped(record.names),
    awaited = records.unescaped(awaited), seconds = record.milliseconds / 1000, since = tx.stat.ctime / 1000 }
end

-- What is pending of one transaction; false: nothing; or nil, message, code.
local function look(session, place, tag, inboxes)
  local tx, message, code = transactions.get(session, place)
  if code == "no_node" or tx and (tx.record.tag ~= tag or tx.record.sum) then return false end
  if not tx then return nil, message, code end
  if tx.record.state ~= "open" then return shown(tx, inboxes) end
  local awaited
  awaited, message, code = transactions.without(session, tx, "yes")
  if code == "no_node" then return false end
  if not awaited then return nil, message, code end
  return shown(tx, awaited)
end

-- two_phase:pending([timeout]): a list of the transactions that have not ended, by id.
function TwoPhase:pending(timeout)
  check.seconds(timeout, 1, "pending", true)
  local limit = limits.for_method(self.session, timeout)
  local order, found, code = entries(self, limit.session)
  if not order then return limit:told(nil, found, code) end
  local list = {}
  for _, entry in ipairs(order) do
    local place, tag = records.place_of_entry(self.path, entry)
    local one, problem, why = false, nil, nil
    if place then one, problem, why = look(limit.session, place, tag, found[entry]) end
    if one == nil then return limit:told(nil, problem, why) end
    if one then list[#list + 1] = one end
  end
  table.sort(list, function(a, b) return a.id < b.id end)
  return list
end

local HANDLERS = { "prepare", "commit", "abort" }

-- A copy of the user's table.
local function handlers_in(given)
  check.plain(given, 2, "serve", "table of functions")
  local known, copy = {}, {}
  for _, name in ipairs(HANDLERS) do
    known[name], copy[name] = true, given[name]
    check.fn(given[name], 2, "serve: " .. name)
  end
  for key in next, given do
    if not known[key] then check.unknown(key, known, 2, "serve") end
  end
  return copy
end

-- two_phase:serve(name, { prepare =, commit =, abort = }): a participant, which works until it is stopped.
function TwoPhase:serve(name, handlers)
  check_id(name, 1, "serve")
  return participants.start(self, name, handlers_in(handlers))
end

failure.name(TwoPhase, "two_phase")
check.selves("two_phase", TwoPhase, TwoPhase)

-- ---- The session's method ----------------------------------------------------------------------

local Session = {}

-- session:two_phase(path [, { keep = }])
function Session:two_phase(path, options)
  check.below_root(path, 1, "two_phase")
  local keep = check.options(options, { keep = "number" }, 2, "two_phase").keep or KEEP
  check.seconds(keep, 2, "two_phase")
  return setmetatable({ session = self, path = path, keep = keep }, TwoPhase)
end

classes.extend(core.classes.session, Session)

core.own(debug.getinfo(1, "S").source)
return TwoPhase
