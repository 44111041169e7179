-- Candidates by rank in simulated worlds.

local sim = require "zkrecipes.sim"

local M = {}

---A test body in a world of one server.
function M.within(body)
  return function()
    local world = sim.new { seed = 1, servers = 1, jitter = 0 }
    world:run(function() body(world) end)
  end
end

---Starts a candidate of each election, one after the other. Each leader resigns at once. Returns the values of the leaders, in order.
function M.line_up(world, elections)
  local led = {}
  for _, election in ipairs(elections) do
    world.zk.spawn(function()
      local term = election:campaign(60)
      if not term then return end
      led[#led + 1] = world:get(term.path):match "\n(%a+)"
      term:resign()
    end)
    world:advance(0.5)
  end
  return led
end

return M
