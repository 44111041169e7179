-- Znodes in the directory of an election by rank that only look like candidates.
-- Tags: sanitize, one thread

local env = require "spec.support.env"
local ranked = require "spec.support.ranked"
local fails, within = env.fails, ranked.within

describe("a stranger in the directory of an election by rank", function()
  for _, tag in ipairs { "abc-1", "00000000000000AB-1", "00000000000000ab" } do
    local name = tag .. "-99-rank-0000000005"
    it("is ignored by those who wait, lead, and resign: " .. name, within(function(world)
      local a, b, hand = world:session(), world:session(), world:session()
      local term = assert(a:election("/e", { value = "a", rank = 3 }):campaign(5))
      assert(hand:create("/e/" .. name, "99\n"))
      local wait = world.zk.spawn(function() return b:election("/e", { value = "b", rank = 4 }):campaign(60) end)
      world:advance(1)
      local before = world:requests(b)
      world:advance(10)
      assert.is_true(world:requests(b) - before < 5, world:requests(b) - before)
      term:resign()
      term = assert(wait:wait(5))
      assert.are.equal("b", a:election("/e", { rank = 1 }):leader().value)
      term:resign()
      assert(hand:set("/e", name)) -- it is named by hand
      assert(a:election("/e", { rank = 3 }):campaign(5)):resign()
      fails("timeout", a:election("/e", { rank = 3, quorum = 2 }):campaign(0))
    end))
  end
end)
