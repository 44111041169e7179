-- A pause of one coroutine that others end early. A wake-up that comes while it does not pause ends its next pause.

local core = require "zkrecipes.core"
local wait = require "zkrecipes.host.wait"

local Wakeup = {}
Wakeup.__index = Wakeup

-- Something has changed: ends the present pause, or the next one.
function Wakeup:wake()
  self.woken = true
  if self.record then wait.wake(self.host, self.record) end
end

-- Pauses until a wake-up, or for so many seconds (nil: any time).
function Wakeup:pause(seconds)
  if not self.woken then
    self.record = wait.record()
    wait.pause(self.host, self.record, seconds)
    self.record = nil
  end
  self.woken = false
end

local M = {}

function M.new(host) return setmetatable({ host = host, woken = false }, Wakeup) end

core.own(debug.getinfo(1, "S").source)
return M
