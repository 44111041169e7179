-- The election with fair = false: see leaders.lua. All terms have one path, so only the session of a write shows whose it is.

local leaders = require "spec.histories.worlds.leaders"

local PATH = "/e/leader"

return function(h)
  leaders.start(h, PATH, function() return { value = "v", fair = false } end)
  local check = h.check
  function h.check()
    check()
    h:expect(not h.world:get(PATH), "left: %s", h.world:dump(PATH))
  end
end
