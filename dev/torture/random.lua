-- Random choices that a seed repeats, the same ones on every Lua: Park and Miller's generator.

local Random = {}
Random.__index = Random

---@param seed integer
---@param stream? integer different streams of one seed are independent
local function new(seed, stream)
  local self = setmetatable({ state = (seed * 7919 + (stream or 0) * 104729) % 2147483646 + 1 }, Random)
  for _ = 1, 10 do self:next() end
  return self
end

---A number from 0 up to 1, exclusive.
function Random:next()
  self.state = self.state * 48271 % 2147483647
  return (self.state - 1) / 2147483646
end

function Random:between(low, high)
  return low + (high - low) * self:next()
end

function Random:chance(probability)
  return self:next() < probability
end

function Random:pick(list)
  return list[1 + math.floor(self:next() * #list)]
end

---The list in random order, as a new one.
function Random:shuffled(list)
  local result = {}
  for i, value in ipairs(list) do
    local at = 1 + math.floor(self:next() * i)
    result[i] = result[at]
    result[at] = value
  end
  return result
end

return { new = new }
