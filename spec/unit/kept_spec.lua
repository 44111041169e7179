-- An object is kept while a coroutine waits in one of its methods, although the program refers to it no longer. Needs no server.
-- Tags: sanitize, one thread

local sim = require "zkrecipes.sim"

-- Each waits for something that does not happen. In a tail call nothing of the caller stays on the stack.
local WAITS = {
  ["presence:ready"] = function(session) return session:presence("/taken"):ready(100) end,
  ["watch:wait"] = function(session) return session:watch("/w"):wait(100) end,
  ["tree:ready"] = function(session) return session:tree("/t"):ready(100) end,
  ["changes:next"] = function(session) return session:tree("/none"):changes():next(100) end,
  ["group:next"] = function(session) return session:group("/g"):changes():next(100) end,
  ["subscription:next"] = function(session) return session:topic("/topic"):subscribe():next(100) end,
  ["hold:lost"] = function(session) return session:lock("/l"):acquire():lost(100) end,
  ["turn:lost"] = function(session) return session:lock("/l", { cohort = true }):acquire():lost(100) end,
  ["term:lost"] = function(session) return session:election("/e"):campaign():lost(100) end,
}

describe("a method that waits keeps its object:", function()
  for name, wait in pairs(WAITS) do
    it(name, function()
      local world = sim.new()
      world:run(function()
        local session, results = world:session(), nil
        assert(session:create("/taken"))
        local task = world.zk.spawn(function() results = { wait(session) } end)
        if name == "tree:ready" then world:partition(session) end
        for _ = 1, 3 do
          world:advance(1)
          collectgarbage()
        end
        assert.is_nil(results)
        task:cancel()
      end)
    end)
  end
end)
