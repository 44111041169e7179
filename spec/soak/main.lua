-- The soak: each recipe for many rounds in virtual time. In the end all figures (figures.lua) must be what they were after the first ten
-- rounds. Anything that each round left behind would fill a session's budgets, or the memory, in time.
--
--     main.lua [--rounds N] [--recipe NAME]
--
-- A line for each recipe, with what it has in use at the end; a failure says what has grown. The last line is the sum.

local collect = require "spec.support.collect"
local figures = require "spec.soak.figures"
local recipes = require "spec.soak.recipes"
local sim = require "zkrecipes.sim"

local FIRST = 10
local REST = 30    -- seconds until all background work of a round has ended
local SECONDS = 10 -- the most virtual seconds that a round may take, on average

local options = { rounds = 2000 }
for i = 1, #arg, 2 do options[arg[i]:match "^%-%-(%l+)$" or error("unknown argument " .. arg[i])] = arg[i + 1] end
local ROUNDS = tonumber(options.rounds)

-- By how much a figure may differ. The C library rounds the size of a block up, by at most ROUNDING bytes. The number of reachable objects
-- differs by one or two with the kind of the last round (the queue has three kinds), not with the number of rounds: it is the same after
-- 3,000 rounds as after 100. A Lua table keeps the room of its largest size, and the moment at which it grows is random, so Lua's memory is
-- not compared.
local ROUNDING, TURNS = 16, 3
local function slack(name, first)
  return name == "C bytes" and ROUNDING * first["C blocks"] or name == "objects" and TURNS or name == "Lua KiB" and math.huge or 0
end

-- ---- One recipe --------------------------------------------------------------------------------

local Soak = {}
Soak.__index = Soak

function Soak:process() return self.world:process() end

function Soak:session(zk)
  local session = (zk or self:process()).session { timeout = 10 }
  self.sessions[#self.sessions + 1] = session
  return session
end

local function play(soak, into, from, to)
  for number = from, to do soak.round(number) end
  if soak.rest then soak.rest() end
  collect(4) -- objects that are freed with their last handle
  soak.world:advance(REST)
  figures.take(into, soak.world, soak.sessions)
end

local function differences(first, last)
  local list = {}
  for i = 1, #figures.NAMES do
    local name = figures.NAMES[i]
    if math.abs(first[name] - last[name]) > slack(name, first) then
      list[#list + 1] = ("%s %d > %d"):format(name, first[name], last[name])
    end
  end
  return table.concat(list, ", ")
end

-- Fewer rounds are enough if another recipe has the same round.
local function rounds_of(recipe) return math.max(math.floor(ROUNDS / (recipe.part or 1)), 2 * FIRST) end

-- Returns the figures at the end, and what is wrong (or nil).
local function run(recipe)
  local world = sim.new { seed = 1, limit = ROUNDS * SECONDS + 1e5, container_interval = recipe.reap or 1e9 }
  local soak = setmetatable({ world = world, sessions = {} }, Soak)
  local first, last, problem = figures.new(), figures.new(), nil
  local ok, failure = pcall(world.run, world, function()
    soak.round = recipe.begin(soak, soak:process())
    play(soak, first, 1, FIRST)
    play(soak, last, FIRST + 1, rounds_of(recipe))
    problem = differences(first, last)
    for i = 1, #soak.sessions do soak.sessions[i]:close() end
  end)
  if not ok then return nil, tostring(failure) end
  return last, problem ~= "" and problem or nil
end

-- ---- All ---------------------------------------------------------------------------------------

local function header()
  local cells = { ("%-26s %7s %6s"):format("", "rounds", "a s") }
  for i = 1, #figures.NAMES do cells[#cells + 1] = ("%9s"):format(figures.NAMES[i]) end
  print(table.concat(cells, " "))
end

local function line(recipe, seconds, last)
  local rounds = rounds_of(recipe)
  local cells = { ("%-26s %7d %6.0f"):format(recipe.name, rounds, rounds / seconds) }
  for i = 1, #figures.NAMES do cells[#cells + 1] = ("%9.0f"):format(last[figures.NAMES[i]]) end
  print(table.concat(cells, " "))
end

local passed, failed = 0, 0
header()
for _, recipe in ipairs(recipes) do
  if not options.recipe or options.recipe == recipe.name then
    local began = os.clock()
    local last, problem = run(recipe)
    if last then line(recipe, math.max(os.clock() - began, 1e-3), last) end
    if problem then print(("FAILED: make soak ROUNDS=%d RECIPE='%s': %s"):format(ROUNDS, recipe.name, problem)) end
    if problem then failed = failed + 1 else passed = passed + 1 end
    collect()
  end
end
if passed + failed == 0 then
  local names = {}
  for i, recipe in ipairs(recipes) do names[i] = recipe.name end
  print("there is no recipe of this name; there are: " .. table.concat(names, "; "))
end
print(("%d passed, %d failed"):format(passed, failed))
os.exit(passed > 0 and failed == 0 and 0 or 1)
