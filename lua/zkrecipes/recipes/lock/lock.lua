-- Features of locks that are written in Lua:
--
--   reentrant    the coroutine that holds the lock acquires it again without a request; its releases are counted
--   on_request   lock:request() writes a word into the holder's znode (src/recipes/lock_request.c); the holder watches
--                its znode, restores its data and calls on_request(hold)
--   cohort       the coroutines that use one handle share one znode; see cohort.lua

local check = require "zkrecipes.check"
local cohorts = require "zkrecipes.recipes.lock.cohort"
local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.host.coroutines"
local dispatch = require "zkrecipes.host.dispatch"
local classes = require "zkrecipes.classes"
local own_holds = require "zkrecipes.recipes.lock.own_holds"
local requests = require "zkrecipes.lost_answers"
local tasks = require "zkrecipes.host.tasks"
local wait = require "zkrecipes.host.wait"

local session_class, lock_class, hold_class = core.classes.session, core.classes.lock, core.classes.hold
local Session, Lock, Hold = {}, {}, {}

local REQUEST = "__REVOKE__"

local WAYS = { reentrant = "boolean", on_request = "function", cohort = "boolean" }
-- The core's options, and ours.
local OPTIONS = { data = true, fair = true, max_queue = true, reentrant = true, on_request = true, cohort = true }

local weak_keys, weak = { __mode = "k" }, { __mode = "kv" }

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

function Session:lock(path, options)
  local way
  if type(options) == "table" then options, way = divide(options) end
  local lock, message, code = session_class.core.lock(self, path, options)
  if not lock then return nil, message, code end
  if way then
    way.data = options.data
    core.keep(lock, "way", way)
  end
  return lock
end

-- ---- Revocable ---------------------------------------------------------------------------------

-- Restores the znode's data from before the request. Repeats the write while the answer is lost and the hold is valid.
local function restore(hold, path, data) requests.sure_while(hold, hold.set, hold, path, data) end

-- Reports an error of on_request. The next request is handled all the same.
local function call(host, on_request, hold)
  local ok, problem = coroutines.protected(on_request, hold)
  if ok then return end
  if problem == wait.canceled then error(problem, 0) end
  tasks.behind(host, {}, error, problem, 0)
end

local function is_over(hold_of) return not hold_of[1] or hold_of[1]:lost(0) and true end

-- Looks for a request. Returns true while the hold is not over. Refers to the hold only during the call.
local function look(session, path, hold_of, way)
  local found = requests.sure(session.get, session, path)
  if is_over(hold_of) then return false end
  local hold = hold_of[1]
  if found == REQUEST and hold:valid() then
    restore(hold, path, way.data)
    call(core.host(session), way.on_request, hold)
  end
  return true
end

local AGAIN = 1 -- seconds until it tries again to get a watch

-- Returns a watch on the hold's znode; nil: the hold is over, or the session is closed. While the session has no room for a watch, it
-- does not see requests: the log says so once.
local function watch_hold(session, path, hold_of)
  local host, told = core.host(session), false
  repeat
    local watch, message, code = session_class.inner.watch_znode(session, path)
    if watch or not requests.PASSES[code] then return watch end
    if not told then
      local text = "%s: cannot watch for requests to release the lock: %s; it keeps trying"
      dispatch.tell(host, "warning", text:format(path, message), session)
    end
    told = true
    wait.pause(host, wait.record(), AGAIN)
  until is_over(hold_of)
end

-- Handles requests until the hold is over. Does not refer to the hold while it waits, so that the hold can be collected.
local function attend(session, path, hold_of, way)
  local watch = watch_hold(session, path, hold_of)
  if not watch then return end
  wait.within(core.host(session), watch.close, watch, function()
    while look(session, path, hold_of, way) and watch:wait() do end
  end)
  watch:close()
end

local acquire_core, acquire_unnoted = lock_class.core.acquire, classes.waiting(lock_class.start.acquire)

-- Acquires the lock from the servers.
local function acquire(lock, timeout)
  local way = core.kept(lock, "way")
  local take = way and way.cohort and acquire_unnoted or acquire_core
  if not way or not way.on_request then return take(lock, timeout) end
  local hold, message, code = take(lock, timeout)
  if hold then
    tasks.behind(core.host(lock), {}, attend, lock.session, hold.path,
      setmetatable({ hold }, weak), way)
  end
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

function hold_class.meta.__close(hold) hold:release() end

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
  way.members = way.members or cohorts.new(core.host(lock), lock, acquire, lock_class.core.cancel, lock_class.core.attempts)
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
