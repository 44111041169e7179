-- Which member a part belongs to: rendezvous hashing (Thaler and Ravishankar, 1996), with weights (Schindelhauer and Schomaker, 2005).
--
-- 1. Each pair of a part and a member has a number, which looks random and is the same in every process.
-- 2. The part belongs to the member with the highest score: weight / -ln(number).
--
-- So a member that comes takes parts only for itself, and a member that goes leaves only its own: no other part moves. All processes must
-- compute the same to the last bit, in every Lua. So the numbers are products below 2^53 modulo a prime, and the logarithm is a sum of
-- our own, because those of two C libraries may differ.

local core = require "zkrecipes.core"

local M = {}

local PRIME = 2 ^ 31 - 1
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

-- ---- The set -----------------------------------------------------------------------------------

-- mark(parts): a text by which members compare their sets; the order does not matter.
function M.mark(parts)
  local one, two = 0, 0
  for i = 1, #parts do
    one = (one + hash(parts[i], 1)) % PRIME
    two = (two + hash(parts[i], 2)) % PRIME
  end
  return ("%d-%08x%08x"):format(#parts, one, two)
end

-- ---- Members -----------------------------------------------------------------------------------

-- The data of a member's znode: "2 64-0123456789abcdef 5d0c...": its weight, the mark of its set, and a text that no other object has.
function M.encode(weight, mark, nonce) return ("%.17g %s %s"):format(weight, mark, nonce) end

-- Gives weight, mark, nonce; or nothing if these are not the data of a member.
function M.decode(data)
  local weight, mark, nonce = (data or ""):match "^(%S+) (%d+%-%x+) (%x+)$"
  weight = tonumber(weight)
  if weight and weight > 0 and weight < math.huge then return weight, mark, nonce end
end

-- ---- The division ------------------------------------------------------------------------------

local function all_equal(members)
  for i = 2, #members do
    if members[i].weight ~= members[1].weight then return false end
  end
  return true
end

-- owner(part, members): the member with the highest score. members: a list of { id =, weight = }, in any order.
-- (With equal weights the highest number has the highest score.)
local function owner(part, members, equal)
  local base, best, highest = hash(part), nil, -1
  for i = 1, #members do
    local member = members[i]
    member.hash = member.hash or hash(member.id, 3)
    local score = mix(base + member.hash)
    if not equal then score = member.weight / minus_ln((score + 0.5) / PRIME) end
    if score > highest or score == highest and member.id < best.id then best, highest = member, score end
  end
  return best
end

function M.owner(part, members) return owner(part, members, all_equal(members)) end

-- of(id, parts, members): the parts that belong to the member, as a list, in their order.
function M.of(id, parts, members)
  local mine, equal = {}, all_equal(members)
  for i = 1, #parts do
    local best = owner(parts[i], members, equal)
    if best and best.id == id then mine[#mine + 1] = parts[i] end
  end
  return mine
end

core.own(debug.getinfo(1, "S").source)
return M
