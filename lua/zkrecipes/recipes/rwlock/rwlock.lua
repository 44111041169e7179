-- The read/write lock's part in Lua: its two sides as locks, and the refusal of an acquire that would wait for its own coroutine.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local classes = require "zkrecipes.classes"
local wait = require "zkrecipes.host.wait"

local class = core.classes.rwlock
local Rwlock = {}

-- ---- A coroutine that would wait for itself ----------------------------------------------------

local WEAK_KEYS, WEAK_VALUES = { __mode = "k" }, { __mode = "v" }

-- Lock > coroutine > path of a hold > hold. Keeps none of them alive.
local taken = setmetatable({}, WEAK_KEYS)

local function note(rw, hold)
  local co = wait.self(core.host(rw))
  taken[rw] = taken[rw] or setmetatable({}, WEAK_KEYS)
  taken[rw][co] = taken[rw][co] or setmetatable({}, WEAK_VALUES)
  taken[rw][co][hold.path] = hold
end

local function refuse(rw, name, held_shared)
  local way_out = name == "read" and "downgrade the hold or release it first" or "release it first"
  core.misuse(("rwlock:%s %s: this coroutine holds the lock for %s and would wait for itself; %s"):format(name, rw.path,
    held_shared and "reading" or "writing", way_out))
end

-- Raises if the coroutine would wait for its own hold. Only readers do not conflict with each other.
local function check_own(rw, name, shares)
  if not taken[rw] then return end
  local host = core.host(rw)
  local self = wait.self(host)
  for other, holds in pairs(taken[rw]) do
    for _, hold in pairs((other == self or wait.follows(host, self, other)) and holds or {}) do
      if hold:valid() and not (shares and hold.shared) then refuse(rw, name, hold.shared) end
    end
  end
end

local function refusing(name, shares)
  local acquire = class.core[name]
  return function(self, timeout)
    check_own(self, name, shares)
    local hold, message, code = acquire(self, timeout)
    if not hold then return nil, message, code end
    note(self, hold)
    return hold
  end
end

Rwlock.read, Rwlock.write = refusing("read", true), refusing("write", false)

-- ---- The two sides -----------------------------------------------------------------------------

local Side, meta = {}, { __name = "zkrecipes.side" }

local READS = { read = 1, write = 0 }

function Side:acquire(timeout) return self.rw[self.way](self.rw, timeout) end

-- These apply to all attempts of the rwlock on this side, also to those that were not made through this object.
function Side:cancel() return class.inner.cancel_side(self.rw, READS[self.way]) end

function Side:attempts() return class.inner.attempts_side(self.rw, READS[self.way]) end

function Side:contenders(timeout) return self.rw:contenders(timeout) end

Side.with = classes.with()
check.selves("side", Side, meta)

function meta.__index(side, key)
  if key == "path" or key == "session" then return side.rw[key] end
  return Side[key]
end

function meta.__tostring(side) return ("zkrecipes.rwlock: %s (%s)"):format(side.path, side.way) end

local function side_of(rw, way) return setmetatable({ rw = rw, way = way }, meta) end

function Rwlock:reader() return side_of(self, "read") end

function Rwlock:writer() return side_of(self, "write") end

classes.extend(class, Rwlock)

core.own(debug.getinfo(1, "S").source)
