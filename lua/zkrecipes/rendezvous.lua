-- Rendezvous hashing (Thaler and Ravishankar, 1996), with weights (Schindelhauer and Schomaker, 2005): which of several owners a key has.
--
-- 1. Each pair of a key and an owner has a number, which looks random and is the same in every process.
-- 2. The key belongs to the owner with the highest score: weight / -ln(number).
--
-- So an owner that comes takes keys only for itself, and an owner that goes leaves only its own: no other key moves. All processes must
-- compute the same to the last bit, in every Lua. So the numbers are products below 2^53 modulo a prime, and the logarithm is a sum of
-- our own, because those of two C libraries may differ.

local core = require "zkrecipes.core"

local M = { PRIME = 2 ^ 31 - 1 }

local PRIME = M.PRIME
local HALF = 2 ^ 16
local LN2 = 0.69314718055994531

-- ---- Numbers -----------------------------------------------------------------------------------

-- a * b modulo the prime.
local function product(a, b)
  local low = b % HALF
  return (a * ((b - low) / HALF) % PRIME * HALF + a * low) % PRIME
end

-- A permutation: 5 does not divide PRIME - 1.
local function fifth(x)
  local square = product(x, x)
  return product(product(square, square), x)
end

-- Similar sums give numbers that have nothing in common.
local function mix(x) return fifth((fifth(x % PRIME) + 1640531527) % PRIME) end

-- hash(text): a number below the prime. seed: another one gives another number.
local function hash(text, seed)
  local number = seed or 0
  for i = 1, #text do number = (number * 257 + text:byte(i) + 1) % PRIME end
  return mix(number)
end

M.hash = hash

-- -ln(u) for 0 < u < 1, by the series of artanh.
local function minus_ln(u)
  local doublings = 0
  while u < 0.5 do u, doublings = u * 2, doublings + 1 end
  local z = (u - 1) / (u + 1)
  local square, sum, power = z * z, 0, z
  for n = 1, 33, 2 do
    sum = sum + power / n
    power = power * square
  end
  return doublings * LN2 - 2 * sum
end

-- ---- Scores ------------------------------------------------------------------------------------

-- number(key, owner): the number of a pair; both are numbers of `hash`. Among owners of equal weight, the highest number has the
-- highest score.
function M.number(key, owner) return mix(key + owner) end

function M.score(key, owner, weight) return weight / minus_ln((mix(key + owner) + 0.5) / PRIME) end

core.own(debug.getinfo(1, "S").source)
return M
