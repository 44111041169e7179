-- Runs histories of the recipes written in Lua, in simulated worlds.
--
--     main.lua [--recipe NAME] [--seeds N] [--from S]      seeds S (1) to S + N - 1, over all processors
--     main.lua --part 2/3 ...                              every third of them, from the second one on
--     main.lua [--recipe NAME] --seed S                    one seed, with the trace of its world
--     main.lua --first ...                                 exits at the first violation
--
-- Every 99th history (an odd number, so that each half has some) is run again and must be the same, line by line. A failure prints recipe,
-- seed and what is wrong. The last line is the sum.

local harnesses = require "spec.histories.harnesses"
local history = require "spec.histories.worlds.history"
local parse = require "spec.histories.options"

local SEEDS = 1200 -- seeds of each recipe, so that all take about two minutes on two processors
local FEWER = { ranked = 300, requested = 300, mixed = 600, two_phase = 600, registry = 600, topic = 600, partitioner = 120 }
local AGAIN = 99

local options = parse(arg, { recipe = true, seeds = true, from = true, seed = true, part = true }, { first = true, alone = true })
local recipes = { options.recipe }
for _, harness in ipairs(harnesses) do
  if harness.name == "worlds" and not options.recipe then recipes = harness.recipes end
end
local from = tonumber(options.from) or 1
local part, parts = (options.part or "1/1"):match "^(%d+)/(%d+)$"
part, parts = tonumber(part), tonumber(parts)

-- LuaJIT only interprets: compiled code would keep worlds that are over, and the histories are too varied to gain from it.
if jit then jit.off() end

-- ---- One history -------------------------------------------------------------------------------------------

local function play(name, seed, tell)
  return history.play(require("spec.histories.worlds." .. name), seed, tell)
end

-- Stops the collector: otherwise the histories before this one would decide when it runs. A history collects explicitly.
local function lines(name, seed)
  local list = {}
  collectgarbage("stop")
  local ok, problem = play(name, seed, function(line) list[#list + 1] = line end)
  collectgarbage("restart")
  return ok, problem, list
end

-- Returns true; or nil and what differs.
local function same(name, seed)
  local ok, problem, first = lines(name, seed)
  if not ok then return nil, problem end
  local _, _, second = lines(name, seed)
  for i = 1, math.max(#first, #second) do
    if first[i] ~= second[i] then
      return nil, ("violation: another history the second time: %s; %s"):format(first[i] or "-", second[i] or "-")
    end
  end
  return true
end

local function try(name, seed)
  if seed % AGAIN == 0 then return same(name, seed) end
  return play(name, seed)
end

-- ---- Many --------------------------------------------------------------------------------------------------

local function brief(problem) return (problem:match "[^\n]*") end

-- Runs our part of the seeds. Prints a line for every failure, and one for the sum.
local function work(name)
  local began, passed, failed = os.clock(), 0, 0
  for seed = from + part - 1, from + (tonumber(options.seeds) or FEWER[name] or SEEDS) - 1, parts do
    local ok, problem = try(name, seed)
    if ok then passed = passed + 1 else failed = failed + 1 end
    if not ok then print(("FAILED: make histories HARNESS=worlds RECIPE=%s SEED=%d: %s"):format(name, seed, brief(problem))) end
  end
  print(("SUM %s %d %d %f"):format(name, passed, failed, os.clock() - began))
end

local function one(seed)
  local failed = 0
  for _, name in ipairs(recipes) do
    local ok, problem = play(name, seed, function(line) io.write(line, "\n") end)
    if not ok then
      failed = failed + 1
      print(("FAILED: %s, seed %d: %s"):format(name, seed, problem))
    end
  end
  print(("%d passed, %d failed"):format(#recipes - failed, failed))
  os.exit(failed == 0 and 0 or 1)
end

local function first(name)
  for seed = from, from + (tonumber(options.seeds) or SEEDS) - 1 do
    local ok, problem = try(name, seed)
    if not ok then
      print(("after %d histories: --recipe %s --seed %d: %s"):format(seed - from + 1, name, seed, brief(problem)))
      os.exit(1)
    end
  end
end

local function output(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read "*a"
  pipe:close()
  return text
end

local function spread()
  local jobs, pipes, sums = tonumber(output "nproc") or 1, {}, {}
  for job = 1, jobs do
    pipes[job] = io.popen(("%s %s %s --alone --part %d/%d 2>&1; echo ENDED"):format(arg[-1], arg[0],
      table.concat(arg, " "), part + parts * (job - 1), parts * jobs))
  end
  local passed, failed = 0, 0
  for job = 1, jobs do
    local ends = 0
    for line in pipes[job]:lines() do
      local name, well, ill, took = line:match "^SUM ([%l_]+) (%d+) (%d+) ([%d.]+)$"
      if name then
        local sum = sums[name] or { 0, 0, 0 }
        sums[name] = { sum[1] + well, sum[2] + ill, sum[3] + took }
        passed, failed, ends = passed + well, failed + ill, ends + 1
      elseif line ~= "ENDED" then
        print(line)
      end
    end
    pipes[job]:close() -- waits for the job, so that its CPU time counts as ours
    if ends < #recipes then failed = failed + 1 end -- it has crashed
  end
  for _, name in ipairs(recipes) do
    local sum = sums[name] or { 0, 0, 0 }
    print(("%-10s %6d histories, %d failed, %4.0f/s"):format(name, sum[1] + sum[2], sum[2], sum[1] / math.max(sum[3], 0.01)))
  end
  print(("%d passed, %d failed"):format(passed, failed))
  os.exit(failed == 0 and 0 or 1)
end

if options.seed then
  one(tonumber(options.seed))
elseif options.first then
  for _, name in ipairs(recipes) do first(name) end
elseif options.alone then
  for _, name in ipairs(recipes) do work(name) end
else
  spread()
end
