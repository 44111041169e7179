-- Which member a part belongs to: by rendezvous hashing (rendezvous.lua), so if a member comes or goes, only the parts that it gets or
-- had move. All members compute the same.

local core = require "zkrecipes.core"
local rendezvous = require "zkrecipes.rendezvous"

local M = { WEIGHT_MAX = 1e6 }

local hash, PRIME = rendezvous.hash, rendezvous.PRIME

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
  if weight and weight > 0 and weight <= M.WEIGHT_MAX then return weight, mark, nonce end
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
    local score = equal and rendezvous.number(base, member.hash) or rendezvous.score(base, member.hash, member.weight)
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
