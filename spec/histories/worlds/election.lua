-- The election with a queue: see leaders.lua. The queue's own order is proven by the harness in C.

local leaders = require "spec.histories.worlds.leaders"

return function(h)
  leaders.start(h, "/e/leader", function() return { value = "v" } end)
end
