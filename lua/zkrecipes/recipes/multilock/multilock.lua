-- session:multilock{ lock, rw:writer(), ... }: several locks as one, all or none.
--
-- A multilock acquires its locks one after the other, ordered by path, byte by byte. The order is the same in all processes, so two
-- callers that want some of the same locks cannot wait for each other in a circle. If it cannot acquire one lock, it releases those
-- that it acquired before.
--
-- What can go wrong: the coroutine is canceled or closed half-way (the end of the scope releases what was acquired); the session is
-- lost in between, and with it the first locks (the multilock releases the rest too).

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local failure = require "zkrecipes.failure"
local limits = require "zkrecipes.limit"
local multiholds = require "zkrecipes.recipes.multilock.multihold"
local classes = require "zkrecipes.classes"
local wait = require "zkrecipes.host.wait"

local function field(value, name)
  local ok, found = pcall(function() return value[name] end)
  return ok and found or nil
end

-- ---- Acquiring ---------------------------------------------------------------------------------

local Multilock = { __name = "zkrecipes.multilock" }
Multilock.__index = Multilock

local function failed(path, why, code) return nil, failure.say("multilock:acquire", path, why), code end

local function canceled(path) return failed(path, "the call was canceled", "canceled") end

-- Acquires the next lock; `attempt` stores which lock it waits for.
local function take(attempt, entry, timeout)
  if attempt.canceled then return canceled(entry.path) end
  attempt.waits_for = entry.lock
  local one, message, code = entry.lock:acquire(timeout)
  attempt.waits_for = nil
  if not one then return failed(entry.path, message, code) end
  attempt.hold.holds[entry.index] = one
  if attempt.canceled then return canceled(entry.path) end
  return true
end

-- Acquires all locks that the attempt's hold needs; on failure nil, message, code.
local function take_all(self, attempt, timeout)
  local hold = attempt.hold
  local host = core.host(self.session)
  local left = wait.limit(host, timeout == 0 and limits.try_seconds(self.session) or timeout)
  for _, entry in ipairs(self.order) do
    if left() == 0 then -- with timeout 0: the answers were too slow
      return limits.passed(self.session, "multilock:acquire " .. entry.path, timeout == 0)
    end
    local ok, message, code = take(attempt, entry, timeout == 0 and 0 or left())
    if not ok then return nil, message, code end
  end
  if not hold:valid() then return failed(self.order[1].path, "some locks were lost while others were acquired", "lost") end
  hold.since, hold.complete = host.adapter.now(), true
  return true
end

local function abandon(attempt)
  attempt.all[attempt] = nil
  if not attempt.hold.complete then attempt.hold:release() end
end

function Multilock:acquire(timeout)
  check.seconds(timeout, 1, "acquire", true)
  local host = core.host(self.session)
  local hold = multiholds.new(self.session, #self.order)
  local attempt = { hold = hold, all = self.attempts }
  self.came = self.came + 1
  self.attempts[attempt] = self.came
  local ok, message, code = wait.within(host, abandon, attempt, take_all, self, attempt, timeout)
  abandon(attempt)
  if ok then return hold end
  return nil, message, code
end

-- Ends the waiting acquires; returns their number. It cancels the lock handle that each waits for, so other attempts that wait
-- through the same handle end too.
function Multilock:cancel()
  local all = wait.in_order(self.attempts)
  for i = 1, #all do all[i].canceled = true end
  for i = 1, #all do
    local lock = all[i].waits_for
    if lock and field(lock, "cancel") then lock:cancel() end
  end
  return #all
end

Multilock.with = classes.with()
check.selves("multilock", Multilock, Multilock)

-- ---- Making ------------------------------------------------------------------------------------

local function bad(text, ...) check.bad(1, "multilock", text:format(...)) end

local function check_entry(session, lock, index)
  local path = field(lock, "path")
  if not field(lock, "acquire") or type(path) ~= "string" then
    bad("entry %d: a lock, or the reader() or writer() of a read/write lock, expected, got %s", index, check.shown(lock))
  end
  if field(lock, "session") ~= session then bad("entry %d: %s is of another session", index, path) end
  return { lock = lock, path = path, index = index }
end

-- Compares bytes, because the order of `<` depends on the locale, and the order must be the same in all processes.
local function comes_before(one, other)
  local a, b = one.path, other.path
  for i = 1, math.min(#a, #b) do
    local x, y = a:byte(i), b:byte(i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

local Session = {}

function Session.multilock(session, locks)
  check.list(locks, 1, "multilock", "list of locks")
  if #locks == 0 then bad("at least one lock expected") end
  local order, index_of = {}, {}
  for i = 1, #locks do
    local entry = check_entry(session, locks[i], i)
    if index_of[entry.path] then
      bad("entries %d and %d: both are %s, and one would wait for the other", index_of[entry.path], i, entry.path)
    end
    index_of[entry.path], order[i] = i, entry
  end
  table.sort(order, comes_before)
  return setmetatable({ session = session, order = order, attempts = setmetatable({}, { __mode = "k" }), came = 0 }, Multilock)
end

classes.extend(core.classes.session, Session)

core.own(debug.getinfo(1, "S").source)
