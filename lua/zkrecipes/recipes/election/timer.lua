-- A timer of the leader that remembers its last run, so that the next leader neither repeats a beat nor forgets one. A beat is a moment
-- at which the timer's schedule says "now". The record of the last run is the data of the znode <election's path>-timer.
--
-- 1. The new leader reads the record, and writes it again as it is. The answer tells the servers' clock.
-- 2. It compares the record with that clock. If beats have passed since the last run, one call makes up for all of them, or none
--    (`catch_up`). If not, it sleeps until the next beat.
-- 3. Before a call it writes the beat and "running" into the record, and after the call "done" or "failed". All writes are guarded by the
--    term: after the term is lost, the servers refuse them.
--
-- So no two leaders begin the same beat: a beat begins with a write, a later leader's read sees all writes of earlier leaders (it was
-- elected after they were refused), and it takes a beat only if it is later than the record's.
--
-- What can go wrong: a leader dies during a call, its function resigns, or the answer to "running" is lost for ever. Then the record says
-- "running", and the next leader cannot know how much of the work was done. It tells its function (`last.outcome` is "cut"), and repeats
-- the beat only if the user says that this is harmless (`recover`). The servers' clock goes back: nothing is called until it has passed
-- the last beat.

local check = require "zkrecipes.check"
local clocks = require "zkrecipes.server_clock"
local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.host.coroutines"
local cron = require "zkrecipes.recipes.election.cron"
local failure = require "zkrecipes.failure"
local lead = require "zkrecipes.recipes.election.lead"
local requests = require "zkrecipes.lost_answers"

local M = {}

local SHORTEST = 0.001 -- seconds between two beats
local EXACT = 600      -- seconds for which our clock counts on from the servers' clock
local LONGEST = 86400  -- seconds: a longer sleep is cut in parts

-- ---- The schedule of `every` ---------------------------------------------------------------------

local Every = {}
Every.__index = Every

-- How many beats there are from the last run's beat until this time. The time may be a beat, so it is not rounded down.
local function beats(record, seconds, time) return math.floor((time - record.due) / seconds + 1e-6) end

function Every:next(time, record) return record.due + (beats(record, self.seconds, time) + 1) * self.seconds end

function Every:between(from, to, record)
  local first, last = beats(record, self.seconds, from), beats(record, self.seconds, to)
  if last <= first then return nil, 0 end
  return record.due + last * self.seconds, last - first
end

-- ---- The record ----------------------------------------------------------------------------------

-- { due = the beat of the last run, outcome = "none": before the first run | "running" | "done" | "failed", ended = }, in seconds of the
-- servers' clock.
local OUTCOMES = { none = true, running = true, done = true, failed = true }

local function encode(record)
  return record and ("due %.3f\nended %.3f\noutcome %s\n"):format(record.due, record.ended, record.outcome) or ""
end

local FARTHEST = 1e11 -- seconds since 1970: a time beyond it, three thousand years ahead, is none that we have written

local function moment(text)
  local time = tonumber(text or "")
  if time and time < FARTHEST then return time end
end

-- Returns nil if there is none yet; false if it cannot be read.
local function decode(data)
  if data == nil or data == "" then return nil end
  local due, ended, outcome = data:match "^due (%d+%.%d%d%d)\nended (%d+%.%d%d%d)\noutcome (%l+)\n$"
  due, ended = moment(due), moment(ended)
  return due ~= nil and ended ~= nil and OUTCOMES[outcome] ~= nil and { due = due, ended = ended, outcome = outcome }
end

-- What the function is told of the last run.
local function last_run(record)
  if record.outcome == "none" then return nil end
  return { due = record.due, outcome = record.outcome == "running" and "cut" or record.outcome }
end

-- A time as the record has it: in whole milliseconds, and not later.
local function recorded(time) return math.floor(time * 1000) / 1000 end

-- ---- Requests ------------------------------------------------------------------------------------

local OVER = { lost = true, closed = true, connection_loss = true }

-- Raises unless the term is over: then there is nothing more to do.
local function refuse(timer, message, code)
  if not OVER[code] then error(failure.say("election:" .. timer.name, timer.election.path, message), 0) end
end

-- True; or nothing: the term is over. If the term's znode cannot be watched, it raises, so that the next campaign comes after a pause.
local function sleep(timer, term, seconds)
  local ok, message, code = term:sleep(seconds)
  if ok then return true end
  return refuse(timer, message, code)
end

-- Writes the record. True; or nothing: the term is over.
local function write(timer, term)
  local stat, message, code = requests.sure_while(term, term.set, term, timer.path, encode(timer.record))
  if not stat then return refuse(timer, message, code) end
  timer.clock:told(stat)
  return true
end

local function read(timer, term)
  local session = timer.election.session
  local data, stat, code = requests.sure_while(term, session.get, session, timer.path)
  if code == "no_node" then
    local made, message, why = requests.sure_while(term, term.create, term, timer.path)
    if made or why == "node_exists" then return true end
    return refuse(timer, message, why)
  end
  if code then return refuse(timer, stat, code) end
  timer.record = decode(data)
  if timer.record ~= false then return true end
  return refuse(timer, ("%s has no record of a timer; delete it, then the timer begins anew"):format(timer.path), "conflict")
end

-- Reads the record, or writes the first one. True; or nothing: the term is over.
local function remember(timer, term)
  timer.record = nil
  if not read(timer, term) or not write(timer, term) then return end
  if timer.record then return true end
  local at = timer.clock:time()
  timer.record = { due = timer.seconds and at - timer.seconds or at, ended = 0, outcome = "none" }
  return write(timer, term)
end

-- ---- Beats ---------------------------------------------------------------------------------------

-- The time from which on beats have not been called. Those within a long run are left out.
local function idle_since(record) return math.max(record.due, record.ended) end

-- Sleeps until there is a beat that was not called. Returns it; or nothing: the term is over. missed: how many were left out already.
local function next_beat(timer, term, missed)
  while true do
    local record, at = timer.record, timer.clock:time()
    local due, count = timer.schedule:between(idle_since(record), at, record)
    if due then return { due = due, missed = missed + count - 1 } end
    local wake = timer.schedule:next(math.max(idle_since(record), at), record)
    if not sleep(timer, term, math.min(math.max(wake - at, SHORTEST), LONGEST)) then return end
    if timer.clock:age() > EXACT and not write(timer, term) then return end
  end
end

-- Calls the function. True; or nothing: the term is over.
local function call(timer, term, beat)
  beat.last = last_run(timer.record)
  timer.record = { due = beat.due, ended = 0, outcome = "running" }
  if not write(timer, term) then return end
  local ok, problem = coroutines.protected(timer.fn, term, beat)
  timer.record.outcome = ok and "done" or "failed"
  if not beat.again then timer.record.ended = recorded(timer.clock:time()) end -- the beats since the run was cut have still to be called
  local kept = not timer.resigned(term) and write(timer, term)
  if not ok then error(problem, 0) end
  return kept
end

-- Calls the function for a run that was cut, if the user wants that. True; or nothing: the term is over.
local function recover(timer, term)
  if not timer.recover or timer.record.outcome ~= "running" then return true end
  return call(timer, term, { due = timer.record.due, missed = 0, again = true })
end

-- Leaves out all beats until now, but never the first one of `every`. Returns how many.
local function skip(timer)
  local record = timer.record
  if timer.seconds and record.outcome == "none" then return 0 end
  local _, count = timer.schedule:between(idle_since(record), timer.clock:time(), record)
  record.ended = math.max(record.ended, recorded(timer.clock:time()))
  return count
end

-- What the leader does in its term.
local function serve(timer, term)
  if not remember(timer, term) or not recover(timer, term) then return end
  local missed = timer.catch_up == "none" and skip(timer) or 0
  while true do
    local beat = next_beat(timer, term, missed)
    if not beat or not call(timer, term, beat) then return end
    missed = 0
  end
end

-- ---- Methods -------------------------------------------------------------------------------------

local EVERY, CRON = { remember = "boolean", catch_up = "string", recover = "boolean" }, { catch_up = "string", recover = "boolean" }

local function check_catch_up(options, name)
  local catch_up = options.catch_up
  if catch_up ~= nil and catch_up ~= "once" and catch_up ~= "none" then
    check.bad(3, name, ("option 'catch_up': \"once\" or \"none\" expected, got '%s'"):format(check.shown(catch_up)))
  end
  if name == "every" and not options.remember and (catch_up or options.recover) then
    check.bad(3, name, "options 'catch_up' and 'recover' need remember = true")
  end
end

local function run_remembered(election, name, schedule, fn, options, resigned)
  return lead.run(election, name, function(term)
    serve({ election = election, path = election.path .. "-timer", name = name, schedule = schedule, seconds = schedule.seconds,
      fn = fn, catch_up = options.catch_up, recover = options.recover, clock = clocks.new(election), resigned = resigned }, term)
  end, options, resigned)
end

-- Without a record: at once after the election, then every `seconds` from there.
local function run_plain(election, seconds, fn, options, resigned)
  local clock, timer = core.host(election).adapter.now, { election = election, name = "every" }
  return lead.run(election, "every", function(term)
    local from, count = clock(), 0
    repeat
      fn(term)
      count = math.max(count + 1, math.ceil((clock() - from) / seconds))
    until not sleep(timer, term, math.max(from + count * seconds - clock(), 0))
  end, options, resigned)
end

-- resigned(term): true if the user has resigned.
function M.methods(resigned)
  local methods = {}

  -- election:every(seconds, fn [, options]): calls fn on the leader.
  function methods:every(seconds, fn, options)
    check.seconds(seconds, 1, "every")
    if seconds < SHORTEST then check.bad(1, "every", ("seconds must be at least %g, got %g"):format(SHORTEST, seconds)) end
    check.fn(fn, 2, "every")
    options = lead.options(options, 3, "every", EVERY)
    check_catch_up(options, "every")
    if not options.remember then return run_plain(self, seconds, fn, options, resigned) end
    return run_remembered(self, "every", setmetatable({ seconds = seconds }, Every), fn, options, resigned)
  end

  -- election:cron(expression, fn [, options]): calls fn on the leader at the times of the expression, in UTC.
  function methods:cron(expression, fn, options)
    if type(expression) ~= "string" then check.bad(1, "cron", "string expected, got " .. type(expression)) end
    local schedule, problem = cron.parse(expression)
    if not schedule then check.bad(1, "cron", ("'%s': %s"):format(check.shown(expression), problem)) end
    check.fn(fn, 2, "cron")
    options = lead.options(options, 3, "cron", CRON)
    check_catch_up(options, "cron")
    return run_remembered(self, "cron", schedule, fn, options, resigned)
  end

  return methods
end

core.own(debug.getinfo(1, "S").source)
return M
