-- The torture of the lease: volleys of trials (trials.lua), and the time from the ends of the holders to the grants of their rivals.
--
--   lua dev/torture/lease.lua T ROUNDS [TICK]      T in ticks; TICK: "told" (default), "untold", or seconds as `tick`
--
-- LEASE_PAUSE=1 also pauses the leader, for half a tick to two ticks.

local trials = require "dev.torture.trials"
local zk = require "zkrecipes"

local SERVERS_TICK = 0.5 -- seconds
local TIMEOUT = (tonumber(arg[1]) or 2) * SERVERS_TICK
local ROUNDS = tonumber(arg[2]) or 200
local TICK = arg[3] ~= "untold" and (tonumber(arg[3]) or SERVERS_TICK) or nil
local PAUSE = os.getenv("LEASE_PAUSE")
local HELD = { false, false, 1 / 16, 1 / 8, 1 / 4, 1 / 2 } -- parts of the timeout; false: from ping to ping
if TIMEOUT < 2 * SERVERS_TICK then HELD = { 1 / 32, 1 / 16, 1 / 8 } end

local function pick(list) return list[math.random(#list)] end

local function quantile(sorted, part)
  return sorted[math.max(1, math.ceil(#sorted * part))]
end

local function report(margins, before)
  table.sort(margins)
  local violations = 0
  for _, margin in ipairs(margins) do
    if margin < 0 then violations = violations + 1 end
  end
  print(("T = %g s (%g ticks), %s, %s: %d rounds (%d more had lost their lock before), %d violations"):format(TIMEOUT,
    TIMEOUT / SERVERS_TICK, TICK and ("tick = %g"):format(TICK) or "tick not told",
    PAUSE and "leader paused" or "leader not paused", #margins, before, violations))
  print(("margin: least %.3f s, 1 %% %.3f s, median %.3f s, most %.3f s"):format(margins[1], quantile(margins, 0.01),
    quantile(margins, 0.5), margins[#margins]))
  return violations
end

local violations
zk.run(function()
  math.randomseed(os.time())
  local field = trials.open { tick = SERVERS_TICK, minimum = TIMEOUT < 2 * SERVERS_TICK and TIMEOUT or nil }
  local margins, before = {}, 0
  while #margins < ROUNDS and before < 10 * ROUNDS do
    local held = pick(HELD)
    local some, others = field:volley { holders = math.min(10, ROUNDS), timeout = TIMEOUT, tick = TICK,
      held = held and held * TIMEOUT or nil, pause = PAUSE and SERVERS_TICK * (0.5 + 1.5 * math.random()) or nil }
    for _, margin in ipairs(some) do margins[#margins + 1] = margin end
    before = before + others
  end
  field:close()
  assert(#margins > 0, "no holder was valid when it was struck")
  violations = report(margins, before)
end)
print(violations == 0 and "1 passed, 0 failed" or "0 passed, 1 failed")
os.exit(violations == 0 and 0 or 1)
