-- The report of the torture run.

local chaos = require "dev.torture.chaos"
local tally = require "dev.torture.tally"

local M = {}

local function say(...)
  io.write(string.format(...), "\n")
  io.flush()
end

function M.opening(seconds, seed, workers, coroutines, secure)
  say("torture: %d s, seed %d, %d processes with %d coroutines each, an ensemble of three servers%s", seconds, seed,
    workers, coroutines, secure and ", by TLS" or "")
end

function M.progress(world, seconds)
  say("  %4.0f s  %6d grants  %4d faults", seconds, #world.journal.holds, #world.faults)
end

local function seconds(value)
  return value and ("%.3f"):format(value) or "-"
end

-- "1.5 s", or "-".
local function in_seconds(value)
  return value and seconds(value) .. " s" or "-"
end

local function report_faults(world)
  local kinds = tally.recoveries(world.journal.holds, world.faults, world.timeout)
  local row = "%-16s %5s %10s   %9s %9s   %9s %9s"
  say("\n%-16s %5s %10s   %19s   %19s", "", "", "", "no grant of a lock", "worker back after")
  say(row, "fault", "times", "a holder's", "median", "longest", "median", "longest")
  for _, entry in ipairs(chaos.kinds) do
    local kind = kinds[entry[1]] or tally.nothing()
    say(row, entry[2], kind.times, kind.holders, in_seconds(tally.quantile(kind.stalls, 0.5)),
      in_seconds(tally.quantile(kind.stalls, 1)), in_seconds(tally.quantile(kind.backs, 0.5)),
      in_seconds(tally.quantile(kind.backs, 1)))
  end
end

local function report_figures(world)
  local journal = world.journal
  local handoffs, waits = tally.handoffs(journal.holds), tally.waits(journal.holds)
  local codes = {}
  for code, count in pairs(journal.given_up) do codes[#codes + 1] = count .. " " .. code end
  table.sort(codes)
  say("\n%.0f s, seed %d", world.seconds, world.seed)
  say("%d grants, %.1f a second; longest wait %s s", #journal.holds, #journal.holds / world.seconds,
    seconds(tally.quantile(waits, 1)))
  say("hand-off from a release to the next grant: median %s s, 99 %% %s s, longest %s s",
    seconds(tally.quantile(handoffs, 0.5)), seconds(tally.quantile(handoffs, 0.99)), seconds(tally.quantile(handoffs, 1)))
  say("ended without a grant: %s", table.concat(codes, ", "))
  say("%d writes: %d of unknown outcome, %d refused because the hold was over", #journal.writes,
    journal.unknown, journal.refused)
  say("%d items put, %d done, taken or removed; %d reads under the read lock, %d downgrades; %d passed a barrier", journal.queue.count,
    tally.size(journal.queue.ends), journal.reads, journal.downgrades, journal.meetings.passed)
  say("at most %d permits of the pool at once", journal.most_permits)
  say("a hold whose session was ended from outside was believed valid for %s s at most", seconds(journal.outlived))
end

-- Prints the report. Returns true if every check holds.
function M.report(world, checks)
  local failed = 0
  if world.seconds then
    report_figures(world)
    report_faults(world)
  end
  say("")
  for _, check in ipairs(checks) do
    if not check[2] then failed = failed + 1 end
    say("  %-44s %s", check[1], check[2] and "yes" or "NO: " .. check[3])
  end
  if failed > 0 then say("\nThe logs are in %s. The same choices again: SEED=%d", world.folder, world.seed) end
  say("\n%d passed, %d failed", #checks - failed, failed)
  return failed == 0
end

return M
