-- Timers of the leader that remember (election:every with `remember`, election:cron). The rules:
--
-- * A beat begins once; only `recover` begins it again, and only if its run was cut. Beats are called in order, never early.
-- * The function is told how the last run ended and how many beats were missed, and both are true.
-- * No beat is forgotten: with `catch_up = "once"` a call makes up for the beats that have passed, and in the end the timer is up to date.
--   With "none" no call is for a beat before the election.
-- * At any instant at most one call runs in a valid term. Nothing is left in the end but the record.
--
-- The rules are checked against what the leader of the servers has written, not against what the library says.

local PATH, RECORD = "/t/job", "/t/job-timer"
local EPOCH = 1700000000 -- of the simulated servers' clock
local MINUTE = 60

local function close_to(a, b) return math.abs(a - b) < 0.0015 end

-- ---- The record ------------------------------------------------------------------------------------

-- All records that were written, in order, without those that repeat the one before. `read`: when the writer knew the one before.
local function records_of(h)
  local list, last_write = {}, nil
  for _, change in ipairs(h.changes) do
    if change.path == RECORD and change.kind == "set" then
      local due, ended, outcome = (change.data or ""):match "^due ([%d.]+).ended ([%d.]+).outcome (%l+)"
      local before = list[#list]
      if due and not (before and before.data == change.data) then
        list[#list + 1] = { due = tonumber(due), ended = tonumber(ended), outcome = outcome, at = change.at, data = change.data,
          read = last_write }
      end
      last_write = change.at
    end
  end
  return list
end

-- The number of the record with which this call began: the last one like it before the call.
local function record_of(records, call)
  for i = #records, 1, -1 do
    local record = records[i]
    if record.at <= call.began and record.outcome == "running" and close_to(record.due, call.due) then return i end
  end
end

-- How many beats there are after the run of `record` and not after `due`.
local function beats_until(h, record, due)
  local from = math.max(record.due, record.ended)
  if not h.seconds then return math.floor(due / MINUTE + 1e-6) - math.floor(from / MINUTE + 1e-6) end
  return math.floor((due - record.due) / h.seconds + 1e-5) - math.floor((from - record.due) / h.seconds + 1e-5)
end

-- ---- The rules ---------------------------------------------------------------------------------------

local OUTCOMES = { running = "cut", done = "done", failed = "failed" }

local function check_told(h, call, before)
  local told, wanted = call.last, OUTCOMES[before.outcome]
  h:expect((told and told.outcome) == wanted, "%.3f: told %s after %s", call.due, told and told.outcome or "nothing", before.data)
  h:expect(not told or close_to(told.due, before.due), "%.3f: told of another run than %s", call.due, before.data)
  if call.again then
    h:expect(h.recover and wanted == "cut" and close_to(before.due, call.due), "%.3f: again after %s", call.due, before.data)
    return
  end
  h:expect(call.due > before.due + 0.001, "%.3f: called after %s", call.due, before.data)
  local beats = beats_until(h, before, call.due)
  h:expect(call.missed == beats - 1, "%.3f: told that %d beats were missed, after %s", call.due, call.missed, before.data)
end

-- A beat that has passed when the leader looks at the record is made up for at once.
local function check_made_up(h, call, record, before)
  local first = h.seconds and before.outcome == "none"
  if call.again or h.catch_up == "none" and not first then return end
  local passed = beats_until(h, before, EPOCH + record.read) > 0
  h:expect(not passed or call.due <= EPOCH + record.read + 0.002, "%.3f: earlier beats are forgotten, after %s", call.due, before.data)
end

local function check_call(h, records, call, previous)
  local number = record_of(records, call)
  h:expect(number and number > 1, "%.3f: it was not written before the call", call.due)
  h:expect(call.began >= call.due - EPOCH - 0.002, "%.3f: called early, at %.3f", call.due, call.began)
  local before = records[call.again and number or number - 1]
  check_told(h, call, before)
  local first = h.seconds and before.outcome == "none"
  h:expect(h.catch_up ~= "none" or call.again or first or call.due - EPOCH > call.since - 0.002, "%.3f: made up for, elected at %.3f",
    call.due, call.since)
  local same_term = previous and previous.token == call.token
  if not same_term then check_made_up(h, call, records[number], before) end
  if not previous then return end
  h:expect(call.due > previous.due - 0.001, "%.3f: called after %.3f", call.due, previous.due)
  h:expect(not same_term or call.last and call.last.outcome == "done", "%.3f: not told that the last run is done", call.due)
end

-- What the records say of the end of a run is true.
local function check_ends(h, records)
  for i, record in ipairs(records) do
    h:expect(i == 1 or record.outcome ~= "none" or records[i - 1].outcome == "none", "the record begins anew: %s", record.data)
    local ends = record.outcome == "done" or record.outcome == "failed"
    local found = not ends
    for _, call in ipairs(h.calls) do
      if close_to(call.due, record.due) and call.ended == record.outcome and call.began <= record.at then found = true end
    end
    h:expect(found, "no run ended so: %s", record.data)
  end
end

local function check_up_to_date(h, records)
  local last = records[#records]
  h:expect(last, "there is no record")
  local period = h.seconds or MINUTE
  h:expect(h.stopped_at + EPOCH - last.due < period + h.longest + 12, "the last beat was at %.3f", last.due)
end

-- ---- Users -------------------------------------------------------------------------------------------

local function check_alone(h, one)
  for other in pairs(h.running) do
    local both = other ~= one and other.term:valid() and one.term:valid() and h.world:alive(other.id) and h.world:alive(one.id)
    h:expect(not both, "%.3f and %.3f run at once", one.due, other.due)
  end
end

local function run(h, zk, call)
  h:expect(call.term:valid(), "%.3f: it is called after its term", call.due)
  check_alone(h, call)
  if not h.healed or h:chance(0.3) then zk.sleep(h:pick { 0, 0, h:within(2), h:within(h.longest) }) end
  h:expect(call.term:valid(), "%.3f: it goes on after its term", call.due)
  check_alone(h, call)
  if h:chance(0.1) then
    call.ended = "failed"
    error("it fails", 0)
  end
  if h:chance(0.05) then call.term:resign() end
  call.ended = "done"
end

local function on_beat(h, zk, session, term, beat)
  local call = { term = term, id = session.id or "0000000000000000", token = term.token, began = h.world:now(),
    since = term.since - zk.now() + h.world:now(), due = beat.due, missed = beat.missed, again = beat.again, last = beat.last }
  h.calls[#h.calls + 1], h.running[call] = call, true
  local ok, problem = zk.pcall(run, h, zk, call)
  h.running[call] = nil
  if not ok and tostring(problem):find "violation" then h.problem = problem end
  if not ok then error(problem, 0) end
end

local function start(h, zk, session)
  local election = session:election(PATH, h.kind)
  local options = { remember = h.seconds and true or nil, catch_up = h.catch_up, recover = h.recover, backoff = 0, -- its pauses are random
    on_error = function(problem)
      if not tostring(problem):find("^it fails") then h.problem = "violation: " .. tostring(problem) end
    end }
  local function fn(term, beat) return on_beat(h, zk, session, term, beat) end
  h:user("stops", zk, function()
    while not h.over do zk.sleep(1) end
    election:stop()
  end)
  local ok, message, code
  if h.seconds then
    ok, message, code = election:every(h.seconds, fn, options)
  else
    ok, message, code = election:cron("* * * * *", fn, options)
  end
  h:expect(not ok and code == "canceled", "it ends: %s", message)
end

return function(h)
  h.calls, h.running = {}, {}
  h.seconds = h:pick { 2, 5, 20, false } or nil
  h.catch_up, h.recover, h.longest = h:pick { "once", "once", "none" }, h:chance(0.5), h:within(12)
  h.kind = h:pick { {}, {}, { fair = false }, { rank = 1 } }
  for number = 1, 2 + h:below(2) do
    local zk = h:process()
    local session = h:session(zk)
    h:user("timer " .. number, zk, function() start(h, zk, session) end)
  end
  function h.settle()
    h.world:advance(100)
    h.stopped_at, h.over = h.world:now(), true
  end
  function h.check()
    h:expect(not h.problem, "%s", tostring(h.problem))
    local records = records_of(h)
    for i, call in ipairs(h.calls) do check_call(h, records, call, h.calls[i - 1]) end
    check_ends(h, records)
    check_up_to_date(h, records)
    h.world:advance(20)
    h:expect(#(h.world:children(PATH) or {}) == 0, "left: %s", h.world:dump(PATH))
  end
end
