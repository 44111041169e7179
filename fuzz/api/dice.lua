-- Random numbers that are the same on every Lua: the generator of Park and Miller.

local Dice = {}
Dice.__index = Dice

local function new(seed)
  local dice = setmetatable({ state = seed % 2147483646 + 1 }, Dice)
  for _ = 1, 4 do dice:below(2) end
  return dice
end

-- 0 to limit - 1.
function Dice:below(limit)
  self.state = self.state * 48271 % 2147483647
  return self.state % limit
end

function Dice:one_in(n) return self:below(n) == 0 end

function Dice:pick(list) return list[self:below(#list) + 1] end

-- Another generator, so that the numbers of one coroutine do not depend on the others.
function Dice:fork() return new(self:below(2147483646)) end

return new
