#!/usr/bin/env lua5.4
-- make bench-quick: compares counts that do not depend on the machine with those in bench/expected.lua. More than a tenth above is a
-- failure. STORE=1 stores the new counts.
--
--   requests, bytes    on the wire per operation, by a proxy. Names grow with the session's number; therefore a tenth is allowed
--   instructions       of our own C code (src/) by callgrind, without those of Lua and of the client library. For the engine:
--                      per operation, in a simulated world, where they are always the same. For src/zk, on whichever
--                      thread it runs: per turn of a session, on a real server, because an operation takes 4.6 to 4.9
--                      turns, depending on when answers come. The rest of an operation costs as much as about 2.4 turns
--                      (runs differ by 3 %)
--   turns              of an idle session per operation of another session in the process, rounded: none
--   memory             bytes per waiter, and per session that holds a lock: C allocated through core/alloc.h, and the Lua heap
--
-- Every count is the difference between many and few operations, so that beginning and end cancel out.

package.path = "lua/?.lua;./?.lua;" .. package.path

local callgrind = require "bench.driver.callgrind"
local measure = require "bench.driver.measure"
local testing = require "zkrecipes.testing"

local ours
for _, one in ipairs(require "bench.driver.contestants") do
  if one.id == "lua5.4" then ours = one end
end
local EXPECTED = "bench/expected.lua"
local TOLERANCE = 1.1

local ON_THE_WIRE = {
  { id = "free", run = { "free %d", 100, 300 } },
  { id = "loop_10", run = { "loop 10 %d", 10, 30, 10 } },
  { id = "try", run = { "try %d", 100, 300 } },
  { id = "read_mostly", run = { "read_mostly 1 %d", 100, 300 } }, -- measured alone: the order of waiters differs from run to run
}

local HOST, IO = { "core", "plain", "recipes", "lua" }, { "zk" }

local IN_OUR_CODE = {
  { id = "free", run = { "free %d", 100, 1100 } },
  { id = "handoff", run = { "handoff 100 %d", 1, 5, 99 } },
  { id = "try", run = { "try %d", 100, 1100 } },
}
local IO_RUN, IO_TURN, IO_OWN = { "free %d", 100, 1100 }, "zr_client_prepare", 2.4

local IDLE, BESIDE = 100, { "beside 100 %d", 100, 1100 }

-- Each turn asks the session that works, and of the idle ones that have nothing to do at most the one that stays awake.
local function turns_of_idle(hosts)
  local alone = callgrind.calls_per_operation(ours, hosts, IO_RUN, IO_TURN)
  local beside = callgrind.calls_per_operation(ours, hosts, BESIDE, IO_TURN)
  return math.floor((beside - alone) / IDLE + 0.5)
end

local function count_all(hosts)
  local counted = {}
  for _, row in ipairs(ON_THE_WIRE) do
    row.kind = "counts"
    local figures = assert(measure.measure(row, ours, hosts))
    for _, name in ipairs { "requests", "bytes_up", "bytes_down" } do counted[row.id .. " " .. name] = figures[name] end
  end
  for _, row in ipairs(IN_OUR_CODE) do
    counted[row.id .. " instructions, host"] = callgrind.per_operation(ours, "simulated", HOST, row.run)
  end
  counted["free instructions, I/O turn"] = callgrind.per_turn(ours, hosts, IO, IO_RUN, IO_TURN, IO_OWN)
  counted["free turns of an idle session"] = turns_of_idle(hosts)
  local memory = assert(measure.measure({ kind = "memory", run = "memory 1000" }, ours, hosts))
  counted["C bytes per waiter"], counted["Lua bytes per waiter"] = memory.c, memory.lua
  memory = assert(measure.measure({ kind = "memory", run = "sessions 40" }, ours, hosts))
  counted["C bytes per session"], counted["Lua bytes per session"] = memory.c, memory.lua
  return counted
end

local function names_of(figures)
  local names = {}
  for name in pairs(figures) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local function store(counted)
  local file <close> = assert(io.open(EXPECTED, "w"))
  file:write("-- What make bench-quick compares with; written by make bench-quick STORE=1.\nreturn {\n")
  for _, name in ipairs(names_of(counted)) do file:write(("  [%q] = %.1f,\n"):format(name, counted[name])) end
  file:write("}\n")
end

local function verdict(value, expected)
  if not expected then return "not stored yet" end
  if value > expected * TOLERANCE then return "WORSE" end
  return value < expected / TOLERANCE and "better: store it" or "ok"
end

local function compare(counted)
  local expected, worse = dofile(EXPECTED), 0
  for _, name in ipairs(names_of(counted)) do
    local what = verdict(counted[name], expected[name])
    if what == "WORSE" then worse = worse + 1 end
    print(("%-28s %10.1f  stored %10.1f  %s"):format(name, counted[name], expected[name] or 0, what))
  end
  return worse
end

local server = assert(testing.start())
local ok, counted = pcall(count_all, server.hosts)
server:stop()
if not ok then error(counted, 0) end
if (os.getenv("STORE") or "") ~= "" then store(counted) end
os.exit(compare(counted) == 0)
