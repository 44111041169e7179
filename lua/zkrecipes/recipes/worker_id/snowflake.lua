-- session:snowflake(path, options): ids of 64 bits, ordered by time, unique in all processes of a path. After Twitter's Snowflake (2010):
-- from the highest bit on, 0, 41 bits of milliseconds since the epoch, 10 bits of the worker's number, 12 bits of a sequence.
--
-- 1. snowflake:acquire gets a number below 1024 (worker_id), and reads the number's bound (bound.lua). If that is far ahead of the clock,
--    because an earlier holder's clock was wrong, it tries the next number.
-- 2. snowflake_ids:next gives one id after the other. Its time is the clock's, but never before the last id's, and always after the bound
--    that it began with: so the ids keep their order if the clock is set back. When the sequence of a millisecond is used up, it takes the
--    next millisecond.
-- 3. Before it uses a time after the bound that it has written, it raises the bound, by a guarded write; the others of this process wait
--    for it meanwhile. The first steps are small, and they double up to three seconds; a holder that begins ahead of the clock asks for
--    one millisecond at first. So programs that take a number for a few ids, one after the other, do not drive its bound far ahead.
--
-- What can go wrong: the hold is not valid any more: no id is given. The clock is far behind the ids (a minute), because it was set
-- back, or is behind those of the earlier holders of eight free numbers: `conflict`, until the clock has caught up. The coroutine that
-- raises the bound is killed: the next one raises it. The coroutine that acquires is killed: the end of the scope releases its numbers.

local bounds = require "zkrecipes.recipes.worker_id.bound"
local check = require "zkrecipes.check"
local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"
local failure = require "zkrecipes.failure"
local limits = require "zkrecipes.limit"
local paths = require "zkrecipes.path"
local wait = require "zkrecipes.host.wait"
local waiters = require "zkrecipes.host.waiters"

local WORKERS, SEQUENCES = 1024, 4096
local TIMES = 2 ^ 41
local EPOCH = 1577836800 -- 2020-01-01, in seconds since 1970
local EPOCH_MAX = 2 ^ 33 -- seconds
local FIRST, STEP = 8, 3000 -- how far ahead of the ids the bound is written, in ms: at first, and at most
local AHEAD = 60000      -- how far ahead of the clock the ids may be, in ms
local TRIES = 8          -- numbers whose ids are further ahead, before an acquire gives up

local valid = core.classes.hold.core.valid

-- ---- Ids ---------------------------------------------------------------------------------------

local Ids = { __name = "zkrecipes.snowflake_ids" }
Ids.__index = Ids

local UNIT = SEQUENCES * WORKERS -- ids of all workers in a millisecond
local HALF = 1e6                 -- 10^6: numbers below 2^53 are exact in every Lua, and 2^63 is not

-- The first id of this millisecond, in two parts: the digits before the last six, and the rest, which may be more than six digits.
local function begin_time(ids, ms)
  local time = ms - ids.epoch
  local low = time % HALF
  ids.last, ids.high = ms, (time - low) / HALF * UNIT
  ids.low = low * UNIT + ids.number * SEQUENCES
end

local function text(ids)
  local low = ids.low + ids.sequence
  local rest = low % HALF
  local high = ids.high + (low - rest) / HALF
  if high == 0 then return ("%.0f"):format(rest) end
  return ("%.0f%06.0f"):format(high, rest)
end

local function say(ids, why, code) return nil, "snowflake_ids:next " .. ids.path .. ": " .. why, code end

local function refuse(ids)
  local code = ids.session.state == "closed" and "closed" or "lost"
  return say(ids, ("another process may have the number %d by now; acquire again"):format(ids.number), code)
end

local function behind(ids, ms, now)
  return say(ids, ("the clock of this machine is %.1f s behind the ids that were given for the number %d, which %s records")
    :format((ms - now) / 1000, ids.number, ids.bound.path), "conflict")
end

local function beyond(ids)
  return say(ids, "the clock of this machine is not within the 69 years that begin with the epoch", "conflict")
end

-- ---- The bound ---------------------------------------------------------------------------------

-- Later ids have times after all those that other holders may have used.
local function go_on(ids)
  local floor = ids.bound.floor
  if ids.last < floor then ids.last, ids.sequence = floor, SEQUENCES - 1 end
end

local function raised(ids)
  ids.raising = false
  go_on(ids)
  ids.waiters:wake()
end

-- Raises the bound to this time at least; true, or nil, message, code.
local function raise(ids, ms, limit)
  ids.raising = true
  local step = ids.step or ms > ids.clock() and 0 or FIRST
  local ok, message, code = wait.within(core.host(ids.session), raised, ids, bounds.raise, ids.bound, ids.hold, ms, step, limit)
  raised(ids)
  if ok then ids.step = math.min(math.max(2 * step, 1), STEP) end
  return ok, message, code
end

-- Waits until another coroutine has raised the bound.
local function await(ids, limit)
  local record = ids.waiters:enter()
  if wait.pause(core.host(ids.session), record, limit:rest()) then return true end
  record:give_up()
  return limits.passed(ids.session, "wait", true)
end

-- The time `ms` is after the bound: true when it has been raised; or nil, message, code.
local function make_room(ids, ms, limit)
  if ms < ids.epoch or ms + STEP >= ids.epoch + TIMES then return beyond(ids) end
  local ok, message, code
  if ids.raising then ok, message, code = await(ids, limit) else ok, message, code = raise(ids, ms, limit) end
  if ok then return true end
  return failure.told("snowflake_ids:next", ids.path, limit:told(nil, message, code))
end

-- ---- next --------------------------------------------------------------------------------------

-- The next time and the next sequence in it. Gives the time; or nothing if that is too far ahead of the clock.
local function next_time(ids)
  local now, ms, sequence = ids.clock(), ids.last, ids.sequence + 1
  if now > ms then return now, 0, now end
  if sequence == SEQUENCES then return ms + 1, 0, now end
  return ms, sequence, now
end

-- snowflake_ids:next([timeout]): the next id; waits only when the bound must be raised.
function Ids:next(timeout)
  check.seconds(timeout, 1, "next", true)
  if self.released then core.misuse "calling 'next' on ids whose number was released; acquire again" end
  local limit
  while true do
    if not valid(self.hold) then return refuse(self) end
    local ms, sequence, now = next_time(self)
    if ms - now > AHEAD then return behind(self, ms, now) end
    if ms <= self.bound.last then
      if ms ~= self.last then begin_time(self, ms) end
      self.sequence = sequence
      return text(self)
    end
    limit = limit or limits.for_method(self.session, timeout)
    local ok, message, code = make_room(self, ms, limit)
    if not ok then return nil, message, code end
  end
end

function Ids:valid() return self.hold:valid() end

function Ids:lost(timeout) return self.hold:lost(timeout) end

function Ids:release()
  self.released = true
  return self.hold:release()
end

Ids.__close = Ids.release

check.selves("snowflake_ids", Ids, Ids)

-- ---- The recipe --------------------------------------------------------------------------------

local Snowflake = { __name = "zkrecipes.snowflake" }
Snowflake.__index = Snowflake

local function make(snowflake, hold, limit)
  local session, number = snowflake.session, hold.number
  local host = core.host(session)
  local bound, message, code = bounds.new(paths.child(snowflake.path, ("used-%d"):format(number)), snowflake.epoch, limit)
  if not bound then return nil, message, code end
  local ids = setmetatable({ session = session, path = snowflake.path, epoch = snowflake.epoch, hold = hold, number = number,
    bound = bound, clock = host.wall_ms or core.wall_ms, waiters = waiters.new(host), raising = false,
    last = 0, sequence = SEQUENCES - 1 }, Ids)
  go_on(ids)
  return ids
end

local function far_behind(ids)
  return nil, ("the clock of this machine is more than a minute behind the ids of %d free numbers; the last is %d, which %s records, " ..
    "by %.0f s; correct the clock, or wait as long"):format(TRIES, ids.number, ids.bound.path, (ids.last - ids.clock()) / 1000), "conflict"
end

-- Acquires a number, and then others while it has ids that are too far ahead of the clock; the attempt keeps these, because the
-- smallest free number would be the same again. Gives the ids; or nil, message, code.
local function take(snowflake, attempt, limit, timeout)
  for i = 1, TRIES do
    local hold, message, code = snowflake.workers:acquire(limit.try and 0 or timeout and limit:rest())
    if not hold then return nil, message, code end
    attempt[i] = hold
    local ids
    ids, message, code = make(snowflake, hold, limit)
    if not ids then return nil, message, code end
    if ids.last - ids.clock() <= AHEAD then
      attempt[i] = nil
      return ids
    end
    if i == TRIES then return far_behind(ids) end
  end
end

local function abandon(attempt)
  for i = 1, #attempt do attempt[i]:release() end
end

-- snowflake:acquire([timeout]): gets a number, and gives the ids of it.
function Snowflake:acquire(timeout)
  check.seconds(timeout, 1, "acquire", true)
  local limit, attempt = limits.new(self.session, timeout), {}
  local ids, message, code = wait.within(core.host(self.session), abandon, attempt, take, self, attempt, limit, timeout)
  abandon(attempt)
  if ids then return ids end
  return failure.told("snowflake:acquire", self.path, limit:told(nil, message, code))
end

check.selves("snowflake", Snowflake, Snowflake)

local Session = {}

-- session:snowflake(path [, options]): epoch: seconds since 1970.
function Session:snowflake(path, options)
  check.path(path, 1, "snowflake")
  local epoch = check.options(options, { epoch = "number" }, 2, "snowflake").epoch or EPOCH
  if not (epoch >= 0 and epoch <= EPOCH_MAX) then
    check.bad(2, "snowflake", ("option 'epoch': 0 to %.0f seconds since 1970 expected, got %s"):format(EPOCH_MAX, tostring(epoch)))
  end
  local workers, message, code = self:worker_id(path, WORKERS)
  if not workers then return nil, failure.say("session:snowflake", path, message), code end
  return setmetatable({ session = self, path = path, epoch = math.floor(epoch * 1000), workers = workers }, Snowflake)
end

classes.extend(core.classes.session, Session)

core.own(debug.getinfo(1, "S").source)
