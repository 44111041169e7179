-- Histories of the recipes that are written in Lua, in simulated worlds.
--
--     main.lua [--recipe NAME] [--seeds N] [--seed S]      one seed: with the trace of its world
--     main.lua --first ...                                 ends with the first violation (for plant.lua)
--
-- A failure prints recipe, seed and what is wrong. The last line is the sum.

local history = require "spec.worlds.history"

local RECIPES = { "barrier", "latch", "cyclic", "double", "reentrant", "revocable", "cohort" }
local SEEDS = 2000

local options = {}
do
  local i = 1
  while arg[i] do
    local name = arg[i]:match "^%-%-(%l+)$"
    assert(name, "unknown argument " .. arg[i])
    if name == "first" then options.first, i = true, i + 1 else options[name], i = arg[i + 1], i + 2 end
  end
end

local function to_stdout(line) io.write(line, "\n") end

local passed, failed = 0, 0

local function failure(name, seed, problem, number)
  failed = failed + 1
  if options.first then
    print(("after %d histories: --recipe %s --seed %d: %s"):format(number, name, seed, (problem:match "[^\n]*")))
    os.exit(1)
  end
  print(("FAILED: make worlds RECIPE=%s SEED=%d: %s"):format(name, seed, problem))
end

local function run(name, from, to, step, tell)
  local recipe, began, before = require("spec.worlds." .. name), os.clock(), failed
  for seed = from, to, step do
    local ok, problem = history.play(recipe, seed, tell)
    if ok then passed = passed + 1 else failure(name, seed, problem, (seed - from) / step + 1) end
  end
  local took, number = os.clock() - began, math.floor((to - from) / step) + 1
  print(("%-10s %6d histories, %4d failed, %5.1f s, %4.0f/s"):format(name, number, failed - before, took,
    number / math.max(took, 0.001)))
end

local seed = tonumber(options.seed)
for _, name in ipairs(options.recipe and { options.recipe } or RECIPES) do
  if seed then
    run(name, seed, seed, 1, to_stdout)
  else
    run(name, tonumber(options.part) or 1, tonumber(options.seeds) or SEEDS, tonumber(options.parts) or 1)
  end
end
if not options.part then print(("%d passed, %d failed"):format(passed, failed)) end
os.exit(failed == 0)
