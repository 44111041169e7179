-- How `pick` chooses among the instances of a service. Each strategy gets the service, the instances among which it may choose (one at
-- least), and the key; it returns one of them. None waits, and each takes a time that grows with the number of instances, except random.
--
-- random        each with the same probability
-- round_robin   the instance whose last use is the longest ago
-- weighted      by weight, evenly mixed: nginx's smooth round robin
-- least         fewest uses that are not over; among several the one whose last use is the longest ago
-- hash          rendezvous hashing: if an instance leaves, only its keys move

local core = require "zkrecipes.core"
local random = require "zkrecipes.random"
local rendezvous = require "zkrecipes.rendezvous"

local M = {}

-- ---- Strategies --------------------------------------------------------------------------------

local strategies = {}

function strategies.random(_, list) return list[math.floor(random.number() * #list) + 1] end

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

local function total_weight(list)
  local total = 0
  for i = 1, #list do total = total + list[i].record.weight end
  return total
end

-- No share is beyond the total weight, unless another weight, or an instance that is not here any more, has left it behind. Such a share
-- would let one instance be picked alone for a long time, or not at all.
function strategies.weighted(_, list)
  local total, found = total_weight(list), nil
  for i = 1, #list do
    local state = list[i].state
    state.share = math.max(-total, math.min(state.share, total)) + list[i].record.weight
    if not found or state.share > found.state.share then found = list[i] end
  end
  found.state.share = found.state.share - total
  return found
end

-- An instance of twice the weight has twice the keys.
function strategies.hash(_, list, key)
  local number = rendezvous.hash(key)
  local found, most
  for i = 1, #list do
    local got = rendezvous.score(number, list[i].hash, list[i].record.weight)
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
  local now, list = service.host.adapter.now(), service.enabled
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
