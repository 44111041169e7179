-- Elections by rank, after Spinnaker (Rao, Shekita, Tata: "Using Paxos to Build a Scalable, Consistent, and Highly
-- Available Datastore", 2011, section 6): once there are `quorum` candidates, the candidate with the highest rank leads; of equal
-- ranks, the one that came first.
--
-- 1. A candidate creates its znode, its seat, in the directory. The seat's data are its rank and its value.
-- 2. The data of the directory name the seat that leads. It leads as long as its znode exists. Wait until that znode is gone.
-- 3. If the znode is gone, or no seat was named, read all candidates. If they are fewer than the quorum, or another candidate is the
--    best, wait until something in the directory changes, or for a while (ranks may change), and go to 2.
-- 4. If our candidate is the best, write its name into the directory, on two conditions: the directory has not changed since we read
--    it (version), and our seat exists (the guard of the term). This write decides the election, and its zxid is the token.
--
-- A leader that resigns to a successor first writes the successor's name after its own, together with the token and the time that
-- this write would hide. While the successor is a candidate, it counts as the best.
--
-- Safety comes from the write in step 4: a seat's name is unique and its znode never comes back, and of two writes over the same
-- version one fails. The ranks only decide which candidate tries.
--
-- What can go wrong: the answer to the write is lost (the candidate reads the directory again, which names the leader). The best
-- candidate's session is alive, but its process does not act (the others wait for it until its session ends).

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.host.coroutines"
local failure = require "zkrecipes.failure"
local limits = require "zkrecipes.limit"
local classes = require "zkrecipes.classes"
local activity = require "zkrecipes.status.activity"
local values = require "zkrecipes.recipes.election.value"
local tasks = require "zkrecipes.host.tasks"
local wait = require "zkrecipes.host.wait"
local paths = require "zkrecipes.path"

local M = {}

local LOOK_AGAIN = 1 -- seconds
-- After 2^32 writes. The server does not compare the version -1: two writes over it would both succeed, and both would lead.
local WRAPPED = "the directory is at version -1, which a server does not compare; write its data once more by hand"

local stand, elected = classes.waiting(core.classes.election.inner.stand), core.classes.term.inner.elected
local list = core.classes.election.core.candidates
local watch_directory, watch_seat = core.classes.session.core.watch, core.classes.session.inner.watch_znode

-- ---- Who leads ---------------------------------------------------------------------------------

local name_of = paths.name

local function child(election, name) return paths.child(election.path, name) end

local SEAT, NOBODY = "(%x+%-%d+%-rank%-%d+)", "-"

-- Returns the name in the directory's data (or nil), the directory's stat as the deciding write left it, and the successor's name, if
-- there is one; or nil, nil, message, code.
local function read_directory(session, election)
  local data, stat, code = session:get(election.path)
  if type(stat) ~= "table" then return nil, nil, stat, code end
  if not data then return nil, stat end
  local name, heir, token, since = data:match("^" .. SEAT .. " (%S+) (%x+) (%d+)$")
  if not name then return data:match("^" .. SEAT .. "$"), stat end
  stat.mzxid, stat.mtime = token, tonumber(since)
  return name, stat, heir ~= NOBODY and heir or nil
end

-- The path of the leader's znode; false: there is no leader; or nil, message, code.
function M.leading(election, rules)
  local name, stat, message, code = read_directory(rules.session, election)
  if name then return child(election, name) end
  if stat or code == "no_node" then return false end
  return nil, message, code
end

-- Returns { data, token, session, since }; false: there is no leader; or nil, message, code.
function M.leader(election, rules)
  local session, before = rules.session, nil
  while true do
    local name, stat, message, code = read_directory(session, election)
    if not stat and code ~= "no_node" then return nil, message, code end
    if not name or name == before then return false end
    local data, seat, why = session:get(child(election, name))
    if type(seat) == "table" then
      return { by_rank = true, data = data, token = stat.mzxid, session = seat.ephemeral_owner, since = stat.mtime / 1000 }, name
    end
    if why ~= "no_node" then return nil, seat, why end
    before = name -- it is gone; if the directory does not name another seat by now, there is no leader
  end
end

local function mark_of(node) return node and node.token .. node.data or "nobody" end

-- Runs fn(watch, ...) with the watch from open(session, path), and closes the watch after that; or nil, message, code.
local function watched(open, session, path, fn, ...)
  session = limits.real(session)
  local watch, message, code = open(session, path)
  if not watch then return nil, message, code end
  local results = coroutines.pack(wait.within(core.host(session), watch.close, watch, fn, watch, ...))
  watch:close()
  return coroutines.unpack(results)
end

local function wait_if_same(watch, election, rules, mark)
  local now = M.leader(election, rules)
  if now ~= nil and mark_of(now) == mark then watch:wait() end
  return true
end

-- Waits until the leader may differ from this one; `node` and `name` are as leader() returned them.
local function await_other(election, rules, node, name)
  if name then return watched(watch_seat, rules.session, child(election, name), wait_if_same, election, rules, mark_of(node)) end
  return watched(watch_directory, rules.session, election.path, wait_if_same, election, rules, mark_of(node))
end

-- Waits until there were more than `seen` changes, then returns what leader() returns, and the number of changes.
function M.next_leader(election, seen, rules)
  if type(seen) ~= "number" or seen % 1 ~= 0 then
    check.bad(1, "next_leader", "integer expected, got " .. (type(seen) == "number" and tostring(seen) or type(seen)))
  end
  while true do
    local node, name, code = M.leader(election, rules)
    if node == nil then return nil, name, code end
    if mark_of(node) ~= rules.mark then rules.mark, rules.changes = mark_of(node), rules.changes + 1 end
    if rules.changes > seen then return node, rules.changes end
    local ok, message, why = await_other(election, rules, node, name)
    if not ok then return nil, message, why end
  end
end

-- ---- A campaign --------------------------------------------------------------------------------

-- Waits for an event of the watch: true, or false if none came; or nil, message, "no_auth". A campaign that is canceled closes the
-- watch.
local function wait_for(attempt, watch, seconds)
  if attempt.canceled then return true end
  attempt.watch = watch
  local _, message, code = watch:wait(seconds)
  attempt.watch = nil
  if code == "no_auth" then return nil, message, code end
  return code ~= "timeout"
end

-- The token of the candidate that should lead, or nil.
local function best(candidates, quorum, heir)
  for i = 1, heir and #candidates or 0 do
    if name_of(candidates[i].path) == heir then return candidates[i].token end
  end
  if #candidates < quorum then return nil end
  local chosen, highest
  for i = 1, #candidates do
    local rank = values.split(candidates[i].data)
    if rank and (not highest or rank > highest) then chosen, highest = candidates[i].token, rank end
  end
  return chosen
end

-- How many candidates would lead before the one with this token; nil: it is not among them.
local function count_ahead(candidates, seat, heir)
  local own, at, ahead = nil, nil, 0
  for i = 1, #candidates do
    if candidates[i].token == seat then own, at = values.split(candidates[i].data) or -math.huge, i end
  end
  if not own then return nil end
  for i = 1, #candidates do
    local rank = name_of(candidates[i].path) == heir and math.huge or values.split(candidates[i].data)
    if i == at and rank == math.huge then return 0 end
    if rank and (rank > own or rank == own and i < at) then ahead = ahead + 1 end
  end
  return ahead
end

-- Checks now and then that our seat still exists: the watch continues in the next session, our seat does not.
local function wait_while_there(watch, race, path)
  local there = race.session:exists(path)
  if not there then return there ~= false end
  repeat
    local limit = race.left()
    local over, message, code = wait_for(race.attempt, watch, math.min(limit or LOOK_AGAIN, LOOK_AGAIN))
    if code then return nil, message, code end
  until over or limit == 0 or race.attempt.canceled or not race.term:valid()
  return true
end

-- Waits until the leader's znode is gone. Returns whether it existed; or nil, message, code.
local function await_end(race, name)
  local path = child(race.election, name)
  return watched(watch_seat, race.session, path, wait_while_there, race, path)
end

local function lead_or_wait(watch, race, stat, heir)
  local candidates, message, code = list(race.election, race.limit:rest())
  if code == "no_auth" then return nil, message, code end
  race.attempt.ahead = candidates and count_ahead(candidates, race.attempt.seat, heir)
  local written
  if candidates and best(candidates, race.quorum, heir) == race.attempt.seat then
    written, message, code = race.limit:write(race.term, "multi", { { "set", race.election.path, race.name, stat.version } })
  else
    message, code = select(2, wait_for(race.attempt, watch, math.min(race.left() or LOOK_AGAIN, LOOK_AGAIN)))
  end
  if written then return written[1].mzxid end
  if code ~= "bad_version" then return nil, message, code end
end

-- Tries to lead if our candidate is the best; if not, waits until that may have changed. Returns our token, nothing, or nil, message,
-- code.
local function decide(race, stat, heir)
  if stat.version == -1 then return nil, WRAPPED, "bad_version" end
  return watched(watch_directory, race.session, race.election.path, lead_or_wait, race, stat, heir)
end

-- Steps 2 to 4 once. Returns what decide() returns.
local function look(race)
  local name, stat, heir, why = read_directory(race.session, race.election)
  if not stat then return nil, heir, why == "no_node" and "lost" or why end
  if name == race.name then return stat.mzxid end
  local there, message, code
  if name then
    race.attempt.ahead = nil -- known only when the leader is gone
    there, message, code = await_end(race, name)
  end
  if code then return nil, message, code end
  if not there then return decide(race, stat, heir) end
end

local function run(race, begin)
  begin(race.term, race.limit)
  repeat
    local token, message, code = look(race)
    if token or code and code ~= "connection_loss" then return token, message, code end -- else the directory shows the outcome
    if race.attempt.canceled then return nil, "the call was canceled", "canceled" end
    if not race.term:valid() then return nil, "the session was lost", "lost" end
  until race.left() == 0
  return nil
end

-- Deletes the seat, if there is one.
local function leave(race)
  race.rules.attempts[race.attempt] = nil
  if race.attempt.watch then race.attempt.watch:close() end
  if race.term then race.term:resign() end
end

-- True if there is no leader; or nil, message, code.
local function nobody_leads(election, rules)
  local leader, message, code = M.leader(election, rules)
  if leader then return nil, "another candidate leads", "timeout" end
  return leader == false or nil, message, code
end

local function contend(race, timeout, begin)
  local election, rules, attempt = race.election, race.rules, race.attempt
  local term, message, code = true, nil, nil
  if timeout == 0 then term, message, code = nobody_leads(election, race) end
  if term then term, message, code = stand(election, race.limit:rest()) end
  if not term then return nil, message, code end
  race.term, race.name, attempt.seat = term, name_of(term.path), term.token
  rules.attempts[attempt] = attempt.seat
  local token, why, word = run(race, begin)
  if not token then
    leave(race)
    if not word then return limits.passed(rules.session, "election:campaign " .. election.path) end
    return nil, why, word
  end
  rules.attempts[attempt] = nil
  elected(term, token)
  return term
end

-- rules: { session, quorum, attempts }; begin(term) is called as soon as the seat exists.
function M.campaign(election, rules, timeout, begin)
  check.seconds(timeout, 1, "campaign", true)
  local host = core.host(election)
  local since = host.adapter.now()
  local limit = limits.new(rules.session, timeout)
  local race = { election = election, rules = rules, session = limit.session, limit = limit, left = limit.left,
    quorum = rules.quorum, attempt = { since = since } }
  return activity.outcome(host, since, failure.told("election:campaign", election.path,
    limit:told(activity.during(host, election, leave, contend, race, timeout, begin))))
end

-- Writes the name of the successor; if the directory names `named`, removes that name. Repeats until the outcome is certain: writing
-- twice does no harm.
local function write_successor(election, limit, term, heir, named)
  local written, message, code
  repeat
    local _, stat, now, why = read_directory(limit.session, election)
    if not stat then
      message, code = now, why == "no_node" and "lost" or why
    elseif not term:valid() then
      message, code = "the term is over", "lost"
    elseif stat.version == -1 then
      return nil, WRAPPED, "bad_version"
    elseif named and now ~= named then
      return true
    else
      local data = ("%s %s %s %.0f"):format(name_of(term.path), heir or NOBODY, stat.mzxid, stat.mtime)
      local parts = { { "set", election.path, data, stat.version } }
      if heir then parts[2] = { "check", child(election, heir) } end
      written, message, code = limit:write(term, "multi", parts)
    end
  until written or code ~= "connection_loss" and code ~= "bad_version" or not term:valid()
  return written, message, code
end

local function take_back(naming)
  local election, term, heir = naming[1], naming[2], naming[3]
  tasks.behind(core.host(election), {}, write_successor, election, limits.new(election.session), term, nil, heir)
end

-- Names the seat of this path as the successor, which leads when the term has ended.
function M.name_successor(election, limit, term, path)
  local heir = name_of(path)
  local naming = { election, term, heir }
  local done, message, code = wait.within(core.host(election), take_back, naming, write_successor, election, limit, term, heir)
  if done then return true end
  if limit:over(code) then take_back(naming) end
  if code == "no_node" then message = "the successor is no longer a candidate" end
  return failure.told("term:resign", term.path, nil, message, code)
end

-- ---- The attempts that wait --------------------------------------------------------------------

-- The attempts that have a seat, for election:attempts.
function M.attempts(rules)
  local all = wait.in_order(rules.attempts)
  for i = 1, #all do all[i] = { ahead = all[i].ahead, since = all[i].since } end
  return all
end

-- Ends the waiting campaigns; returns their number.
function M.cancel(rules)
  local all = wait.in_order(rules.attempts)
  for i = 1, #all do
    all[i].canceled = true
    if all[i].watch then all[i].watch:close() end
  end
  return #all
end

core.own(debug.getinfo(1, "S").source)
return M
