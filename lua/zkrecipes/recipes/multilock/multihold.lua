-- The hold of a multilock: the holds of all its locks as one. It is valid while all of them are, and a write under it is guarded by all.
--
-- What can go wrong: the program drops it (its parts are released when it is collected); the program releases one part alone.

local check = require "zkrecipes.check"
local collected = require "zkrecipes.collected"
local core = require "zkrecipes.core"
local limits = require "zkrecipes.limit"
local tasks = require "zkrecipes.host.tasks"

local M = {}

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

-- A hold of `count` locks of this session: put the hold of each into `holds`, then set `complete`.
function M.new(session, count)
  local hold = setmetatable({ session = session, host = core.host(session), holds = {}, let_go = {}, count = count, complete = false },
    Multihold)
  hold.guard = guard(hold)
  return hold
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
  check.list(parts, 1, "multi", "list of operations")
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

core.own(debug.getinfo(1, "S").source)
return M
