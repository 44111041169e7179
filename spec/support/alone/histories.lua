-- The worlds of the histories are collected, whatever recipe was used in them. A host of a simulated world leads to all objects of its
-- world. So a weak key of the library whose value leads to a host would keep the whole world: Lua 5.1 and LuaJIT keep such a key forever.

local collect = require "spec.support.collect"
local harnesses = require "spec.histories.harnesses"
local history = require "spec.histories.worlds.history"
local random = require "zkrecipes.random"
local sim = require "zkrecipes.sim"

local HISTORIES = 2 -- of each recipe

-- Some histories drop an object and collect. In LuaJIT compiled code may still keep it, and so its znodes: as in worlds/main.lua.
if jit then jit.off() end

local living = setmetatable({}, { __mode = "k" })
local new = sim.new

function sim.new(options)
  local world = new(options)
  living[world] = true
  return world
end

local function left()
  collect(4)
  local count = 0
  for _ in pairs(living) do count = count + 1 end
  return count
end

-- The world leads to its trace function, and so to what a program has kept.
local function keep_some()
  local kept = {}
  local world = sim.new { trace = function() kept.said = true end }
  world:run(function()
    local session = world.zk.session()
    kept.hold, kept.turn = assert(session:lock("/l"):acquire()), assert(session:lock("/c", { cohort = true }):acquire())
    local term = assert(session:election("/e"):campaign())
    kept.term = term
    kept.task = world.zk.spawn(function() return term:sleep(1000) end)
    world:advance(1)
    term:resign()
    kept.task:cancel()
  end)
end

local function check(name)
  local hex, number = random.hex, random.number -- the topic's histories put their own dice there
  for seed = 1, HISTORIES do assert(history.play(require("spec.histories.worlds." .. name), seed)) end
  random.hex, random.number = hex, number
  assert(left() == 0, ("%s: %d worlds of %d are left"):format(name, left(), HISTORIES))
end

keep_some()
assert(left() == 0, "a world is left of which something was kept")
for _, harness in ipairs(harnesses) do
  if harness.name == "worlds" then
    for _, name in ipairs(harness.recipes) do check(name) end
  end
end
