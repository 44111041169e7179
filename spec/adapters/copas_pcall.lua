-- copas 1 and 4 have a pcall for Lua 5.1, which runs its function in a coroutine. A caller can wait inside it.

local assert = require "luassert"
local busted = require "busted"
local env = require "spec.support.env"

return function(name, loop)
  local zk = require "zkrecipes".using "copas"

  busted.describe(name, function()
    busted.it("can wait inside its own pcall for Lua 5.1", function()
      local results
      local pcall_there = pcall(require, "coxpcall") and require "coxpcall".pcall or pcall
      loop.start(function()
        local ok, data = pcall_there(function()
          local session = zk.session { hosts = env.server().hosts, namespace = env.namespace(), timeout = 60 }
          session:create("/a", "data")
          local data = session:get("/a")
          session:close()
          return data
        end)
        results = { ok, data }
      end)
      loop.run(200, function() return results end)
      assert.are.same({ true, "data" }, results)
    end)
  end)
end
