-- The soak: each recipe for many rounds in virtual time. After them everything that is counted (figures.lua) must be exactly what it
-- was after the first ten: what a round leaves behind would fill a session's budgets, or the memory, in the end.
--
--     main.lua [--rounds N] [--recipe NAME]
--
-- A line for each recipe, with what it has in use at the end; a failure says what has grown. The last line is the sum.

local figures = require "spec.soak.figures"
local recipes = require "spec.soak.recipes"
local sim = require "zkrecipes.sim"

local FIRST = 10
local REST = 30    -- seconds until everything that goes on behind a round is over
local SECONDS = 10 -- virtual, which a round may take at most, on average

local options = { rounds = 2000 }
for i = 1, #arg, 2 do options[arg[i]:match "^%-%-(%l+)$" or error("unknown argument " .. arg[i])] = arg[i + 1] end
local ROUNDS = tonumber(options.rounds)

-- What may differ, besides nothing. The C library gives a block up to this many bytes more than at another time. How many objects can
-- be reached at rest differs by one or two with the kind of the last round (three kinds take turns in the queue's), not with their
-- number: 3,000 rounds show no more than 100. A table of Lua keeps the room of its largest size, and when it takes more is up to
-- chance: that is shown, not compared.
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
  for _ = 1, 4 do collectgarbage() end -- what goes with its last handle
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

-- A part of the rounds is enough where it is another recipe's round.
local function rounds_of(recipe) return math.max(math.floor(ROUNDS / (recipe.part or 1)), 2 * FIRST) end

-- Gives the figures at the end and what is wrong, if anything is.
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
    collectgarbage()
  end
end
print(("%d passed, %d failed"):format(passed, failed))
os.exit(failed == 0 and 0 or 1)
