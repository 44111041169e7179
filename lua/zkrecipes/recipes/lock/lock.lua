-- Features of locks that are written in Lua:
--
--   reentrant    the coroutine that holds the lock acquires it again without a request; its releases are counted
--   on_request   others ask the holder to release; see revocable.lua
--   cohort       the coroutines that use one handle share one znode; see cohort.lua

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local classes = require "zkrecipes.classes"
local late = require "zkrecipes.late"
local own_holds = require "zkrecipes.recipes.lock.own_holds"
local wait = require "zkrecipes.host.wait"

local session_class, lock_class, hold_class = core.classes.session, core.classes.lock, core.classes.hold
local Session, Lock, Hold = {}, {}, {}

local WAYS = { reentrant = "boolean", on_request = "function", cohort = "boolean" }
-- The core's options, and ours.
local OPTIONS = { data = true, fair = true, max_queue = true, reentrant = true, on_request = true, cohort = true }

local weak_keys = { __mode = "k" }

local counts = setmetatable({}, weak_keys) -- hold of a reentrant lock > how often it is acquired

-- ---- Making ------------------------------------------------------------------------------------

-- Separates the core's options from ours.
local function divide(options)
  local given, way = {}, nil
  check.plain(options, 2, "lock", "table of options")
  for name, value in next, options do
    local wanted = WAYS[name]
    if not OPTIONS[name] then check.unknown(name, OPTIONS, 2, "lock") end
    if wanted and type(value) ~= wanted then
      check.bad(2, "lock", ("option '%s': %s expected, got %s"):format(name, wanted, type(value)))
    elseif wanted and value then
      way = way or { owners = setmetatable({}, weak_keys) }
      way[name] = value
    elseif not wanted then
      given[name] = value
    end
  end
  if way and way.reentrant and way.cohort then
    check.bad(2, "lock", "options 'reentrant' and 'cohort' cannot be combined")
  end
  return given, way
end

-- Loads what this way needs. True, or nil and a message.
local function equip(way)
  local problem
  if way.cohort then
    way.cohorts, problem = late.load "recipes.lock.cohort"
    if not way.cohorts then return nil, problem end
  end
  if way.on_request then
    way.revocable, problem = late.load "recipes.lock.revocable"
    if not way.revocable then return nil, problem end
  end
  return true
end

function Session:lock(path, options)
  local way
  if type(options) == "table" then options, way = divide(options) end
  if way then
    local ok, problem = equip(way)
    if not ok then return nil, "session:lock: " .. problem, "unsupported" end
  end
  local lock, message, code = session_class.core.lock(self, path, options)
  if not lock then return nil, message, code end
  if way then
    way.data = options.data
    core.keep(lock, "way", way)
  end
  return lock
end

-- ---- Acquiring from the servers --------------------------------------------------------------------

local acquire_core, acquire_unnoted = lock_class.core.acquire, classes.waiting(lock_class.start.acquire)

-- Acquires the lock from the servers.
local function acquire(lock, timeout)
  local way = core.kept(lock, "way")
  local take = way and way.cohort and acquire_unnoted or acquire_core
  if not way or not way.on_request then return take(lock, timeout) end
  local hold, message, code = take(lock, timeout)
  if hold then way.revocable.attend(lock, hold, way) end
  return hold, message, code
end

-- ---- Reentrant ---------------------------------------------------------------------------------

local function me(lock) return wait.self(core.host(lock)) end

-- The hold of the running coroutine, or nil. `owners` keeps the hold alive: a program that calls lock:release() need not keep it.
local function own(lock, way)
  local host, owners = core.host(lock), way.owners
  local self = wait.self(host)
  if owners[self] and counts[owners[self]] then return owners[self] end
  for other, hold in pairs(owners) do -- holds of an earlier phase of the request, whose coroutine is over
    if counts[hold] and wait.follows(host, self, other) then
      owners[other], owners[self] = nil, hold
      return hold
    end
  end
end

local function enter(lock, way, timeout)
  local hold = own(lock, way)
  if not hold then
    local message, code
    hold, message, code = acquire(lock, timeout)
    if not hold then return nil, message, code end
    way.owners[me(lock)], counts[hold] = hold, 0
  elseif not hold:valid() then
    return nil, "lock:acquire " .. lock.path .. ": the lock was lost while this coroutine held it; release the hold first", "lost"
  end
  counts[hold] = counts[hold] + 1
  return hold
end

function Hold:release()
  local count = counts[self]
  if count and count > 1 then
    counts[self] = count - 1
    return true
  end
  if count then counts[self] = nil end
  return hold_class.core.release(self)
end

-- lock:release(): releases the last acquire of the running coroutine.
function Lock:release()
  local way = core.kept(self, "way")
  if not (way and way.reentrant) then
    core.misuse("calling 'release' on a lock that is not reentrant; call hold:release()")
  end
  local hold = own(self, way)
  if not hold then core.misuse("calling 'release' on " .. self.path .. ", which this coroutine does not hold") end
  return hold:release()
end

-- ---- All ways ----------------------------------------------------------------------------------

local function acquire_cohort(lock, way, timeout)
  check.seconds(timeout, 1, "acquire", true)
  way.members = way.members or way.cohorts.new(core.host(lock), lock, acquire, lock_class.core.cancel, lock_class.core.attempts)
  return way.members:acquire(timeout)
end

local function acquire_in(lock, way, timeout)
  if way and way.reentrant then return enter(lock, way, timeout) end
  if way and way.cohort then return acquire_cohort(lock, way, timeout) end
  return acquire(lock, timeout)
end

-- Raises: without a time limit the coroutine would wait for itself forever.
local function refuse_own(lock)
  core.misuse(("lock:acquire %s: this coroutine holds the lock and would wait for itself; release it first, or make the lock " ..
    "with reentrant = true"):format(lock.path))
end

function Lock:acquire(timeout)
  local way = core.kept(self, "way")
  local enters = way and way.reentrant and own(self, way)
  local lasts = not enters and not (way and way.on_request) -- with on_request another coroutine may release it
  if timeout == nil and lasts and own_holds.holds(self) then refuse_own(self) end
  local hold, message, code = acquire_in(self, way, timeout)
  if hold then
    own_holds.note(self, hold)
  elseif code == "timeout" and own_holds.holds(self) then
    message = timeout == 0 and ("lock:acquire %s: this coroutine itself holds the lock"):format(self.path) or
      message .. "; this coroutine itself holds the lock"
  end
  return hold, message, code
end

function Lock:cancel()
  local way = core.kept(self, "way")
  if way and way.members then return way.members:cancel() end
  return lock_class.core.cancel(self)
end

function Lock:attempts()
  local way = core.kept(self, "way")
  local all = lock_class.core.attempts(self)
  return way and way.members and way.members:attempts(all) or all
end

classes.extend(session_class, Session)
classes.extend(lock_class, Lock)
classes.extend(hold_class, Hold)

core.own(debug.getinfo(1, "S").source)
