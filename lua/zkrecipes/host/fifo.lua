-- A first-in, first-out list that makes no garbage: push fills one array while pop empties the other, then the two are
-- swapped.

local M = {}
M.__index = M

function M.new()
  return setmetatable({ filling = {}, filled = 0, emptying = {}, at = 1, last = 0 }, M)
end

function M:push(value)
  self.filled = self.filled + 1
  self.filling[self.filled] = value
end

function M:empty()
  return self.at > self.last and self.filled == 0
end

-- Calls fn(value) for all values, the oldest first.
function M:each(fn)
  for i = self.at, self.last do fn(self.emptying[i]) end
  for i = 1, self.filled do fn(self.filling[i]) end
end

-- The oldest value, or nil.
function M:pop()
  if self.at > self.last then
    if self.filled == 0 then return nil end
    self.filling, self.emptying = self.emptying, self.filling
    self.at, self.last, self.filled = 1, self.filled, 0
  end
  local value = self.emptying[self.at]
  self.emptying[self.at] = false
  self.at = self.at + 1
  return value
end

return M
