-- election:lead on a real server leaves nothing: no znode, no memory.

local env = require "spec.support.env"

env.run(function()
  local session = env.session()
  local function twenty()
    for _ = 1, 20 do
      local election, runs = session:election("/e"), 0
      election:lead(function(term)
        runs = runs + 1
        if runs == 1 then error("x") end
        term:sleep(0)
        election:stop()
      end, { backoff = 0, on_error = function() end })
    end
    env.queue_of(session, "/e", 0)
  end
  env.leaves_no_block(twenty)
end)()
