-- Prepares the classes of the core for users: a method that only starts something in the core waits for the result here. A class gets
-- `with` if it has `acquire`, and `on_lost` if it has `lost`. Recipes add their Lua methods by `extend`.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.host.coroutines"
local activity = require "zkrecipes.status.activity"
local tasks = require "zkrecipes.host.tasks"
local wait = require "zkrecipes.host.wait"

local M = {}

-- start gives slot, host; or nil, message, code. await(host, slot, self): how to wait; nil: the wait is not shown. Arguments: as many as
-- a method of the core can have.
local function waiting(start, await)
  return function(self, a, b, c, d, e, f)
    wait.check()
    local slot, host, code = start(self, a, b, c, d, e, f)
    if not slot then return nil, host, code end
    if await then return await(host, slot, self) end
    return wait.await(host, slot, wait.slot(host, slot, self))
  end
end

M.waiting = waiting

-- ---- with --------------------------------------------------------------------------------------

-- Releases once: a reentrant hold counts.
local Once = {}

function Once.__close(once)
  local hold = once.hold
  once.hold = nil
  if hold then hold:release() end
end

-- If fn returns nothing, `with` returns true, so that `assert` can tell it from a lock that was not acquired.
local function finish(once, ok, ...)
  Once.__close(once)
  if not ok then error((...), 0) end
  if select("#", ...) == 0 then return true end
  return ...
end

local PERMITS_MAX = 2147483647

-- object:with([timeout, [permits,]] fn): acquires, runs fn(hold), releases in any case. counts: it has permits.
local function with(counts)
  return function(self, timeout, permits, fn)
    local argument = 3
    if permits == nil and fn == nil then
      timeout, fn, argument = nil, timeout, 1
    elseif fn == nil then
      permits, fn, argument = nil, permits, 2
    end
    check.fn(fn, argument, "with")
    if permits ~= nil and not counts then check.bad(2, "with", "function expected, got " .. type(permits)) end
    if permits ~= nil then check.count(permits, PERMITS_MAX, 2, "with") end
    local hold, message, code = self:acquire(timeout, permits)
    if not hold then return nil, message, code end
    local once = setmetatable({ hold = hold }, Once)
    return finish(once, coroutines.scope(once, coroutines.protected, fn, hold))
  end
end

M.with = with

-- ---- on_lost -----------------------------------------------------------------------------------

-- Waits without referring to the hold, so that it can still be collected.
local function tell_when_lost(host, slot, expected, hold_of, fn)
  local record = expected[1]
  expected[1] = nil
  local why = wait.await(host, slot, record)
  local hold = hold_of[1]
  if hold and why and why ~= "released" then fn(hold, why) end
end

local function on_lost(start)
  return function(self, fn)
    wait.check()
    check.fn(fn, 1, "on_lost")
    local slot, host, code = start(self, nil, 1) -- 1: wait also when the znode cannot be watched
    if not slot then return nil, host, code end
    local hold_of, expected = setmetatable({ self }, { __mode = "v" }), { wait.expect(host, slot) }
    local function on_end() -- perhaps before it began
      if expected[1] then expected[1]:give_up() end
    end
    tasks.behind(host, { on_end = on_end }, tell_when_lost, host, slot, expected, hold_of, fn)
    return true
  end
end

-- ---- All classes -------------------------------------------------------------------------------

-- Adds methods that are written in Lua, some in the place of the core's. `self` of each is checked here.
local function extend(class, methods)
  for name, method in pairs(methods) do
    class.added[name] = check.checked(class.meta, name, method)
    class.methods[name] = class.added[name]
  end
end

M.extend = extend

local function how_shown(kind, name)
  if activity.gives[name] then return activity.await_hold end
  return activity.waits[kind] == name and activity.await or nil
end

-- What the core gives: { meta =, methods =, start =, inner = }; start: methods that start something, inner: those that users do not
-- get. Added are `core`: the methods as they are here, whatever takes their place for users; and `added`: those of `extend`.
local function make_ready(kind, class)
  for name, start in pairs(class.start) do class.methods[name] = waiting(start, how_shown(kind, name)) end
  activity.follow(class)
  class.core, class.added = {}, {}
  for name, method in pairs(class.methods) do class.core[name] = method end
  extend(class, { with = class.start.acquire and with(),
    on_lost = class.start.lost and on_lost(class.start.lost) })
end

for kind, class in pairs(core.classes) do make_ready(kind, class) end

-- defer(kind, name, load): a method that load() adds, or adds to; it returns true, or nil and a message. The first call runs it; so does
-- the function that `defer` returns, with the same results.
function M.defer(kind, name, load)
  local class = core.classes[kind]
  local methods, first = class.methods

  local function now()
    local there = methods[name]
    local ok, problem = load()
    if not ok then return nil, problem end
    methods[name] = there -- perhaps a wrapper of `first`
    if there == first then methods[name] = class.added[name] or class.core[name] end
    return true
  end

  first = check.checked(class.meta, name, function(self, ...)
    local ok, problem = now()
    if not ok then return nil, ("%s:%s: %s"):format(kind, name, problem), "unsupported" end
    return (class.added[name] or class.core[name])(self, ...)
  end)
  methods[name] = first
  return now
end

core.own(debug.getinfo(1, "S").source)
return M
