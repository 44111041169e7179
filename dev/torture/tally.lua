-- Figures from the journal of the torture run: waits, hand-offs, and how long a fault has effects.

local M = {}

---@param values number[] is sorted
---@return number|nil value the smallest value that is not exceeded by this share of all values
function M.quantile(values, share)
  table.sort(values)
  return values[math.max(1, math.ceil(share * #values))]
end

function M.size(set)
  local count = 0
  for _ in pairs(set) do count = count + 1 end
  return count
end

local function by_lock(holds)
  local lists = {}
  for _, hold in ipairs(holds) do
    lists[hold.lock] = lists[hold.lock] or {}
    table.insert(lists[hold.lock], hold)
  end
  for _, list in pairs(lists) do
    table.sort(list, function(a, b) return a.granted < b.granted end)
  end
  return lists
end

function M.waits(holds)
  local waits = {}
  for i, hold in ipairs(holds) do waits[i] = hold.granted - hold.asked end
  return waits
end

-- The time from a release to the next grant, if the next holder was already waiting.
function M.handoffs(holds)
  local times = {}
  for _, list in pairs(by_lock(holds)) do
    for i = 2, #list do
      local released = not list[i].permits and list[i - 1].released
      if released and list[i].asked < released and list[i].granted >= released then
        times[#times + 1] = list[i].granted - released
      end
    end
  end
  return times
end

-- The longest time without a grant of one of the locks, from the beginning of the fault until it has no effect any more.
local function stall(lists, from, to)
  local longest = 0
  for _, list in pairs(lists) do
    local before = from
    for _, hold in ipairs(list) do
      if hold.granted >= from and before <= to then
        longest = math.max(longest, hold.granted - before)
        before = hold.granted
      end
    end
  end
  return longest
end

-- The time from the end of a fault to the next grant of the worker that it hit.
local function back(holds, fault)
  local first = math.huge
  for _, hold in ipairs(holds) do
    if hold.worker == fault.worker and hold.granted > fault.to then first = math.min(first, hold.granted) end
  end
  return first < math.huge and first - fault.to or nil
end

function M.nothing()
  return { times = 0, holders = 0, stalls = {}, backs = {} }
end

-- How long the faults of each kind had effects.
---@param faults table[] { kind, worker (none: a server), holder: whether it held a lock, from, to }
---@param after number seconds for which a fault may have effects after its end
---@return table<string, {times: integer, holders: integer, stalls: number[], backs: number[]}> by kind
function M.recoveries(holds, faults, after)
  local kinds, lists = {}, by_lock(holds)
  for _, fault in ipairs(faults) do
    local kind = kinds[fault.kind] or M.nothing()
    kinds[fault.kind] = kind
    kind.times, kind.holders = kind.times + 1, kind.holders + (fault.holder and 1 or 0)
    table.insert(kind.stalls, stall(lists, fault.from, fault.to + after))
    if fault.worker then table.insert(kind.backs, back(holds, fault)) end
  end
  return kinds
end

return M
