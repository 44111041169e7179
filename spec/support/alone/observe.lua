-- A loop that observes an election and breaks after its first step leaks no memory.

local env = require "spec.support.env"

env.run(function()
  local session = env.session()
  local term = assert(session:election("/e", { value = "x" }):campaign())
  local function ten()
    for _ = 1, 10 do
      local step = session:election("/e"):observe()
      assert(step().value == "x")
    end
  end
  env.leaves_no_block(ten)
  term:resign()
end)()
