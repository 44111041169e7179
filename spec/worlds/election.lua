-- The election with a queue: see leaders.lua. The queue's own order is proven by make sim.

local leaders = require "spec.worlds.leaders"

return function(h)
  leaders.start(h, "/e/leader", function() return { value = "v" } end)
end
