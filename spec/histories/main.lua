-- `make histories`: runs the histories of all recipes, or of one, each in its harness.
--
--     main.lua FOLDER [--harness NAMES] [--recipe NAME] [--seeds N] [--from S] [--part 1/2, of worlds]
--     main.lua FOLDER [--harness NAMES] --recipe NAME --seed S       one, with its trace
--     main.lua FOLDER --recipe NAME --shape TEXT                     one, with its trace
--
-- FOLDER is where make builds the C programs. main.lua first builds what a harness needs.

local harnesses = require "spec.histories.harnesses"
local parse = require "spec.histories.options"

local folder = table.remove(arg, 1)
local options = parse(arg, { harness = true, recipe = true, seeds = true, from = true, seed = true, shape = true, part = true })

-- True if the command succeeded; works with every version of Lua.
local function run(command)
  local status = os.execute(command)
  return status == true or status == 0
end

local function given(...)
  local words = {}
  for _, name in ipairs { ... } do
    local value = options[name]
    if value then words[#words + 1] = ("--%s '%s'"):format(name, value) end
  end
  return table.concat(words, " ")
end

local function play(harness)
  local target = harness.program and folder .. "/" .. harness.program or "all"
  if not run(("%s --no-print-directory -s %s"):format(os.getenv "MAKE", target)) then return false end
  local command = harness.script and arg[-1] .. " " .. harness.script or target
  if #harness.recipes > 1 then command = command .. " " .. given "recipe" end
  local well = run(command .. " " .. given("seeds", "from", "seed", "shape", "part"))
  if harness.small and not (options.seed or options.shape) then well = run(command .. " --small") and well end
  return well
end

local found, well = false, true
for _, harness in ipairs(harnesses) do
  local fits = harnesses.is_chosen(harness, options.harness) and harnesses.has(harness, options.recipe)
  if fits and (harness.small or not options.shape) then
    found, well = true, play(harness) and well
  end
end
if not found then io.stderr:write("there are no such histories\n") end
os.exit(found and well and 0 or 1)
