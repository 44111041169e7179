-- A stand-in for the module `timerwheel`, which Debian has not: what copas calls of it, for the few timers of tests.

local wheel = {}
wheel.__index = wheel

local M = {}

function M.new(options)
  return setmetatable({ now = options.now, on_error = options.err_handler, timers = {}, last = 0, running = 0 }, wheel)
end

function wheel:count() return self.running end

function wheel:set(delay, callback, argument)
  self.last, self.running = self.last + 1, self.running + 1
  self.timers[self.last] = { at = self.now() + delay, callback = callback, argument = argument }
  return self.last
end

function wheel:cancel(id)
  if not self.timers[id] then return false end
  self.timers[id], self.running = nil, self.running - 1
  return true
end

function wheel:step()
  local now, due = self.now(), {}
  for id, timer in pairs(self.timers) do
    if timer.at <= now then due[id] = timer end
  end
  for id, timer in pairs(due) do
    if self:cancel(id) then xpcall(function() timer.callback(timer.argument) end, self.on_error) end
  end
end

return M
