-- How `pick` chooses among the instances of a service. Each strategy gets the service, the instances among which it may choose (one at
-- least), and the key; it returns one of them. None waits, and each takes a time that grows with the number of instances, except random.
--
-- random        each with the same probability
-- round_robin   the instance whose last use is the longest ago
-- weighted      by weight, evenly mixed: nginx's smooth round robin
-- least         fewest uses that are not over; among several the one whose last use is the longest ago
-- hash          rendezvous: each instance and the key give a number, and the largest wins. If an instance leaves, only its keys move

local core = require "zkrecipes.core"

local M = {}

local PRIME = 67108859 -- below 2^26: squares are exact in each Lua

-- ---- Numbers at random -------------------------------------------------------------------------

local GENERATOR, MOST = 16807, 2147483647
local seed

-- Below 1. math.random may give the same in two processes, and belongs to the user.
function M.random()
  if not seed then
    local file = assert(io.open("/dev/urandom", "rb"))
    local a, b, c, d = file:read(4):byte(1, 4)
    file:close()
    seed = (((a * 256 + b) * 256 + c) * 256 + d) % (MOST - 1) + 1
  end
  seed = seed * GENERATOR % MOST
  return (seed - 1) / (MOST - 1)
end

-- ---- Strategies --------------------------------------------------------------------------------

local strategies = {}

function strategies.random(_, list) return list[math.floor(M.random() * #list) + 1] end

local function longest_unused(list, is_better)
  local found = list[1]
  for i = 2, #list do
    local state = list[i].state
    if is_better(state, found.state) then found = list[i] end
  end
  return found
end

local function earlier(state, other) return state.last_use < other.last_use end

function strategies.round_robin(_, list) return longest_unused(list, earlier) end

local function freer(state, other)
  if state.uses ~= other.uses then return state.uses < other.uses end
  return state.last_use < other.last_use
end

function strategies.least(_, list) return longest_unused(list, freer) end

function strategies.weighted(_, list)
  local total, found = 0, nil
  for i = 1, #list do
    local entry = list[i]
    local weight, state = entry.record.weight, entry.state
    total = total + weight
    state.share = state.share + weight
    if not found or state.share > found.state.share then found = entry end
  end
  found.state.share = found.state.share - total
  return found
end

-- ---- Hash --------------------------------------------------------------------------------------

local function mixed(x, other)
  x = (x * x + other) % PRIME
  return (x * x + x + other * 3) % PRIME
end

-- A number below PRIME of this text, the same in each process.
function M.hash(text)
  local x = #text
  for i = 1, #text do x = (x * 257 + text:byte(i)) % PRIME end
  return mixed(mixed(x, 40503), 2654435)
end

-- From the equal distribution by the weight: an instance of twice the weight has twice the keys.
local function points(number, entry)
  local x = mixed(mixed((number + entry.hash) % PRIME, entry.hash), number)
  return math.log((x + 1) / (PRIME + 1)) / entry.record.weight
end

function strategies.hash(_, list, key)
  local number = M.hash(key)
  local found, most
  for i = 1, #list do
    local got = points(number, list[i])
    if not found or got > most or got == most and list[i].path < found.path then found, most = list[i], got end
  end
  return found
end

-- ---- Which may be chosen -----------------------------------------------------------------------

local function least_bad(list)
  local found = list[1]
  for i = 2, #list do
    if list[i].state.out_until < found.state.out_until then found = list[i] end
  end
  return found
end

-- Those that are not down. If all are: the first that will be back, or none.
local function candidates(service, takes_bad)
  local now, list = service.now(), service.enabled
  if service.out_until <= now then return list end
  local good = {}
  for i = 1, #list do
    if list[i].state.out_until <= now then good[#good + 1] = list[i] end
  end
  if #good == 0 and #list > 0 and takes_bad then return { least_bad(list) } end
  return good
end

M.strategies = strategies

-- The entry that is chosen, or nil if there is none.
function M.choose(service, strategy, key, takes_bad)
  local list = candidates(service, takes_bad)
  if #list == 0 then return nil end
  local entry = strategies[strategy](service, list, key)
  service.uses = service.uses + 1
  entry.state.last_use = service.uses
  return entry
end

core.own(debug.getinfo(1, "S").source)
return M
