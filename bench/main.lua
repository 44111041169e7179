#!/usr/bin/env lua5.4
-- The benchmark: every contestant in every row of the plan, in turn (A B A B), on servers of its own.
--
--   make bench [ROUNDS=5] [MINUTES=10] [ONLY=free,try] [MEMBERS=3] [FSYNC=yes] [HOSTS=...] [DOCS=1]
--
-- Writes build/bench/result.md and picture.svg; with DOCS=1 the page in docs/.
--
-- 1. Start a server, or an ensemble (MEMBERS), which forces its log to the disk only with FSYNC=yes.
-- 2. Run round by round, row by row, one contestant after the other, so that other load of the machine affects all alike. When the minutes
--    are over, no further round of any row begins, but each row has one.
-- 3. Print and write medians, the least and the most of the rounds, and ratios.

package.path = "lua/?.lua;./?.lua;" .. package.path

local measure = require "bench.driver.measure"
local report = require "bench.driver.report"
local testing = require "zkrecipes.testing"

local contestants = require "bench.driver.contestants"
local plan = require "bench.driver.plan"

local function option(name)
  local value = os.getenv(name)
  return value and value ~= "" and value or nil
end

local ROUNDS = tonumber(option("ROUNDS") or 5)
local SECONDS = tonumber(option("MINUTES") or 10) * 60
local MEMBERS = tonumber(option("MEMBERS") or 1)
local FSYNC = option("FSYNC") == "yes"

local function say(...) io.stderr:write(string.format(...), "\n") end

-- ---- The servers -------------------------------------------------------------------------------

local function start_servers()
  if option("HOSTS") then return { hosts = option("HOSTS"), stop = function() end } end
  local options = { config = { forceSync = FSYNC and "yes" or "no", maxClientCnxns = 0 },
    jvm = { "-Xmx3g", "-XX:TieredStopAtLevel=4" } }
  if MEMBERS > 1 then
    options.members = MEMBERS
    return assert(testing.ensemble(options))
  end
  return assert(testing.start(options))
end

local function first_line(command)
  local pipe <close> = io.popen(command)
  return pipe:read("l") or ""
end

local function load_average() return tonumber(first_line("cat /proc/loadavg"):match("^%S+")) end

local function conditions()
  local servers = option("HOSTS") and "servers given by HOSTS"
    or MEMBERS > 1 and ("an ensemble of %d on the same machine"):format(MEMBERS) or "one server on the same machine"
  return ("%s; %s processors (%s), %s; %s, %s; "):format(os.date("%Y-%m-%d"), first_line("nproc"),
    first_line("sed -n 's/^model name.*: //p' /proc/cpuinfo"), first_line(". /etc/os-release; echo $PRETTY_NAME"), servers,
    FSYNC and "log forced to the disk" or "log not forced to the disk")
end

-- ---- Measuring ---------------------------------------------------------------------------------

local function keep(row, samples, contestant, hosts)
  local figures, why = measure.measure(row, contestant, hosts)
  local of = samples[contestant.id]
  for name, value in pairs(figures or {}) do
    of[name] = of[name] or {}
    table.insert(of[name], value)
  end
  if why then
    say("  %s in %s: no figure: %s", contestant.title, row.id, why)
    of.failed = true
  end
end

local function summarize(samples)
  local of = {}
  for id, figures in pairs(samples) do
    of[id] = {}
    for name, values in pairs(figures) do
      if name ~= "failed" then of[id][name] = report.summary(values) end
    end
  end
  return of
end

-- One more round of a row. done: { samples = { [contestant] = { [figure] = list } }, rounds = number }.
local function measure_round(row, done, hosts)
  for _, one in ipairs(contestants) do
    done.samples[one.id] = done.samples[one.id] or {}
    if not done.samples[one.id].failed then keep(row, done.samples, one, hosts) end -- a contestant that failed once would delay us again
  end
  done.rounds = done.rounds + 1
end

local function wanted(row)
  local only = option("ONLY")
  return not only or ("," .. only .. ","):find("," .. row.id .. ",", 1, true)
end

local function rows()
  local list = {}
  for _, row in ipairs(plan) do
    if wanted(row) then list[#list + 1] = { row = row, samples = {}, rounds = 0 } end
  end
  return list
end

-- A new server is slow, so warm it up before the first contestant runs.
local function warm_up(hosts)
  for _, one in ipairs(contestants) do
    if one.ours then measure.run(one, hosts, "loop 10 200") end
  end
end

-- gives: what was measured, in the form for the report, and the loads in between.
local function measure_all(hosts)
  local began, loads, list, results = os.time(), {}, rows(), {}
  for round = 1, ROUNDS do
    for _, done in ipairs(list) do
      local row, since = done.row, os.time()
      if round == 1 or round <= (row.rounds or ROUNDS) and since - began < SECONDS then
        measure_round(row, done, hosts)
        loads[#loads + 1] = load_average()
        say("%s: round %d, %d s, load %s", row.title, round, os.time() - since, load_average())
      end
    end
  end
  for i, done in ipairs(list) do
    local row = done.row
    results[i] = { id = row.id, title = row.title, kind = row.kind or "time", unit = row.unit or "us", rounds = done.rounds,
      of = summarize(done.samples) }
  end
  return results, report.summary(loads)
end

-- ---- Writing -----------------------------------------------------------------------------------

local function write(file, text)
  local handle <close> = assert(io.open(file, "w"))
  handle:write(text)
end

local function read(file)
  local handle <close> = assert(io.open(file))
  return handle:read("a")
end

-- Rows that are measured on an ensemble have a place of their own on the page.
local function place()
  return MEMBERS == 1 and not FSYNC and "measured" or ("%d servers, %s"):format(MEMBERS, FSYNC and "forced" or "not forced")
end

-- The text around the marks stays.
local function write_docs(result)
  local page, mark, last = read("docs/benchmarks.md"), "<!-- " .. place() .. " -->\n", "<!-- end -->"
  local whole = place() == "measured"
  local from = assert(select(2, page:find(mark, 1, true)), "docs/benchmarks.md has no place for it: " .. mark)
  local to = assert(page:find(last, from, true))
  write("docs/benchmarks.md", page:sub(1, from) .. "\n" .. report.markdown(result, not whole) .. "\n" .. page:sub(to))
  if not whole then return end
  report.picture(result, "docs/benchmarks.svg")
end

local result = { date = os.date("%Y-%m-%d"), text = conditions(), contestants = contestants }
local servers = start_servers()
local ok, problem = pcall(function()
  local load
  warm_up(servers.hosts)
  result.rows, load = measure_all(servers.hosts)
  result.text = result.text .. ("%d rounds at most; load %.1f (%.1f to %.1f)."):format(result.rows[1].rounds, load.median,
    load.min, load.max)
end)
servers:stop()
if not ok then error(problem, 0) end

local text = report.markdown(result)
print(text)
write("build/bench/result.md", text .. "\n")
report.picture(result, "build/bench/picture.svg")
if option("DOCS") then write_docs(result) end
