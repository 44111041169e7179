-- The servers' clock, as it was when one of our writes was done: the time in the write's stat, carried on with a local clock that runs
-- evenly. It is behind the servers' clock by the time that the answer took, never ahead of it.
--
-- What can go wrong: another server becomes the leader, and its clock differs.

local core = require "zkrecipes.core"

local Clock = {}
Clock.__index = Clock

-- Learns the time from the stat of a write that was just answered.
function Clock:told(stat)
  self.told_at = self.now()
  self.ahead = stat.mtime / 1000 - self.told_at
end

-- Seconds since 1970, on the servers' clock.
function Clock:time() return self.now() + self.ahead end

-- Seconds since the servers told the time.
function Clock:age() return self.now() - self.told_at end

local M = {}

-- object: of the session, or the session itself. now: the local clock, for differences.
function M.new(object) return setmetatable({ now = core.host(object).adapter.now }, Clock) end

core.own(debug.getinfo(1, "S").source)
return M
