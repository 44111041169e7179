-- session:multilock{ lock, rw:writer(), ... }: several locks as one, all or none.
--
-- A multilock acquires its locks one after the other, ordered by path, byte by byte. The order is the same in all processes, so two
-- callers that want some of the same locks cannot wait for each other in a circle. If it cannot acquire one lock, it releases those
-- that it acquired before.
--
-- What can go wrong: the coroutine is canceled or closed half-way (the end of the scope releases what was acquired); the session is
-- lost in between, and with it the first locks (the multilock releases the rest too).

local check = require "zkrecipes.check"
local collected = require "zkrecipes.collected"
local core = require "zkrecipes.core"
local failure = require "zkrecipes.failure"
local limits = require "zkrecipes.limit"
local classes = require "zkrecipes.classes"
local tasks = require "zkrecipes.host.tasks"
local wait = require "zkrecipes.host.wait"

-- ---- The hold ----------------------------------------------------------------------------------

local Multihold = { __name = "zkrecipes.multihold" }
Multihold.__index = Multihold

-- Calls fn once for each part that is held: an outer section may hold a reentrant lock too.
local function each_held(parts, fn)
  for i = 1, parts.count do
    local hold = parts.holds[i]
    if hold and not parts.let_go[i] then
      parts.let_go[i] = true
      fn(hold)
    end
  end
end

local function release(hold) hold:release() end

function Multihold:release()
  self.released = true
  each_held(self, release)
  return true
end

-- A reentrant lock keeps its owner's hold alive, so a dropped multihold must release its parts itself. A part that was collected
-- before it is already released, and raises.
local function release_parts(parts)
  each_held(parts, function(hold) pcall(release, hold) end)
end

local function forgotten(parts)
  if not parts.host.engine:forked() then tasks.later(parts.host, release_parts, parts) end
end

-- Does not refer to the multihold.
local function guard(hold)
  return collected.guard(forgotten, { host = hold.host, holds = hold.holds, let_go = hold.let_go, count = hold.count })
end

function Multihold:valid()
  if self.released then return false end
  for i = 1, self.count do
    if not self.holds[i]:valid() then return false end
  end
  return true
end

-- The least of all parts: each lock's session has its own time left.
function Multihold:left()
  if self.released then return 0 end
  local least = math.huge
  for i = 1, self.count do least = math.min(least, self.holds[i]:left()) end
  return least
end

-- The reason from the first part that is over; nil if none is.
local function first_over(self)
  for i = 1, self.count do
    local why = self.holds[i]:lost(0)
    if why then return why end
  end
end

function Multihold:lost(timeout)
  check.seconds(timeout, 1, "lost", true)
  local waits = {}
  for i = 1, self.count do
    waits[i] = function() return self.holds[i]:lost(timeout) end
  end
  local why, message, code = tasks.any(core.host(self.holds[1]), waits)
  if why then return why end
  why = first_over(self)
  if why then return why end
  return nil, message, code
end

-- Calls fn once. Does not keep the hold from being collected.
function Multihold:on_lost(fn)
  check.fn(fn, 1, "on_lost")
  local told, self_of = false, setmetatable({ self }, { __mode = "v" })
  local function tell(_, why)
    local hold = self_of[1]
    if told or not hold then return end
    told = true
    fn(hold, why)
  end
  for i = 1, self.count do
    local ok, message, code = self.holds[i]:on_lost(tell)
    if not ok then return nil, message, code end
  end
  return true
end

-- ---- Guarded writes ----------------------------------------------------------------------------

-- The server answered "no node" for a part or for one of our checks: finds out whether a hold was lost. If the program releases the
-- hold meanwhile, there is nothing to report.
local function lost_one(self, limit)
  for i = 2, self.count do
    if self.released then return nil end
    local ok, message, code = limit:write(self.holds[i], "multi", { { "check", "/" } })
    if not ok and code == "lost" then return message end
  end
end

-- The program may have released one part alone, by lock:release of a reentrant lock.
local function check_write(self, name)
  local why = not self:valid() and not self.released and first_over(self) -- other coroutines run meanwhile
  if self.released or why == "released" then
    core.misuse(("bad call of '%s' (the hold was released; acquire again before writing under it)"):format(name))
  end
end

-- The first hold checks itself; the checks of the others follow the parts, so that these keep their numbers.
local function multi(self, name, parts, timeout)
  check_write(self, name)
  local limit = limits.new(self.session, timeout)
  local all, count = {}, #parts
  for i = 1, count do all[i] = parts[i] end
  for i = 2, self.count do all[count + i - 1] = { "check", self.holds[i].path } end
  local results, message, code = limit:write(self.holds[1], "multi", all)
  if results then
    for i = count + 1, #all do results[i] = nil end
    return results
  end
  local lost = code == "no_node" and lost_one(self, limit)
  if lost then return nil, lost, "lost" end
  return limit:told(nil, message, code)
end

local TIMEOUT = { timeout = "number" }

local function timeout_of(options, argument, name)
  local timeout = check.options(options, TIMEOUT, argument, name).timeout
  check.seconds(timeout, argument, name, true)
  return timeout
end

function Multihold:multi(parts, options)
  check.plain(parts, 1, "multi", "list of operations")
  return multi(self, "multi", parts, timeout_of(options, 2, "multi"))
end

local function write(self, name, timeout, path, ...)
  check.path(path, 1, name)
  local results, message, code = multi(self, name, { { name, path, ... } }, timeout)
  if results then return results[1] end
  return nil, message, code
end

function Multihold:create(path, data, options)
  local given, timeout = options, nil
  if type(options) == "table" then
    check.plain(options, 3, "create", "table of options")
    given = {}
    for key, value in next, options do given[key] = value end
    timeout, given.timeout = timeout_of({ timeout = given.timeout }, 3, "create"), nil
  end
  return write(self, "create", timeout, path, data, given)
end

function Multihold:set(path, data, version, options)
  return write(self, "set", timeout_of(options, 4, "set"), path, data, version)
end

function Multihold:delete(path, version, options)
  return write(self, "delete", timeout_of(options, 3, "delete"), path, version)
end

check.selves("multihold", Multihold, Multihold)
Multihold.__close = Multihold.release

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
  local hold = setmetatable({ session = self.session, host = host, holds = {}, let_go = {}, count = #self.order,
    complete = false }, Multihold)
  hold.guard = guard(hold)
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
    bad("entry %d: a lock, or the reader() or writer() of a read/write lock, expected, got %s", index, tostring(lock))
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
  check.plain(locks, 1, "multilock", "list of locks")
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
