-- Two holders at once, on real servers: the follower of all holders stops at the moment at which the leader knows least of
-- them, see dev/torture/trials.lua. With the first version's rule most volleys find two holders.

local env = require "spec.support.env"
local trials = require "dev.torture.trials"

describe("a holder whose follower stops between two pings", function()
  local field
  setup(function() field = trials.open { tick = 0.5 } end)
  teardown(function() field:close() end)

  -- On a slow machine all holders may have given up long before. This shows nothing, so the volley is repeated, with longer sessions.
  local function least_margin()
    for try = 1, 30 do
      local margins = field:volley { holders = 12, timeout = try, tick = 0.5 }
      table.sort(margins)
      if margins[1] then return margins[1] end
    end
    error("no holder was valid when its follower was stopped")
  end

  for volley = 1, 3 do
    it("has given up before its rival is granted: volley " .. volley, env.run(function()
      local margin = least_margin()
      assert.is_true(margin > 0, ("two held at once for %.3f s"):format(-margin))
    end))
  end
end)
