-- How a coroutine of a spec waits for sockets that it looks at again and again: shortly while there is traffic, longer when there has been
-- none for some time.
--
--     local idle = idling()
--     while ... do ... idle(got ~= "") end     sleeps if there was nothing

local zk = require "zkrecipes"

local LEAST, MOST = 0.001, 0.02

return function()
  local pause = LEAST
  return function(traffic)
    if traffic then
      pause = LEAST
    else
      zk.sleep(pause)
      pause = math.min(pause * 1.1, MOST)
    end
  end
end
