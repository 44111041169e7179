-- The soak's rounds of a session without a recipe: watches and requests.

local M = {}

local SOON = 0.02 -- seconds, as in recipes.lua

-- recipe(name, begin), fails(code, ...): as in recipes.lua. Adds recipes to that.
function M.add(recipe, fails)
  recipe("session:watch", function(soak, zk)
    local one, other = soak:session(zk), soak:session()
    return function(number)
      local path = "/watched-" .. number
      local watch, later = assert(one:watch(path)), assert(one:watch("/never-" .. number))
      fails("timeout", later:wait(SOON))
      assert(other:create(path, ""))
      assert(watch:wait(10) == "created")
      assert(other:create(path .. "/child", ""))
      assert(watch:wait(10) == "children")
      watch:close()
      later:close()
      assert(other:delete_tree(path))
    end
  end)

  recipe("session:watch, many", function(soak, zk)
    local one, other = soak:session(zk), soak:session()
    assert(other:create("/there", ""))
    return function(number)
      for i = 1, 20 do
        local watch = assert(one:watch(("/a-path-of-some-length/that-nobody-makes/%d-%d"):format(number, i)))
        watch:close()
      end
      local watch = assert(one:watch "/there")
      assert(other:set("/there", ""))
      watch:wait(SOON)
      watch:close()
    end
  end)

  recipe("requests", function(soak, zk)
    local one, other = soak:session(zk), soak:session()
    return function(number)
      local path = "/r-" .. number
      assert(one:create(path, "x", { ephemeral = true }))
      local numbered = assert(one:create("/s-", "x", { ephemeral = true, sequential = true }))
      assert(one:get(path))
      assert(one:set(path, "y"))
      assert(one:sync "/")
      assert(one:multi { { "create", path .. "-m", "", { ephemeral = true } }, { "delete", path } })
      local gone = zk.spawn(function() return one:await_gone(path .. "-m", 10) end)
      for _, name in ipairs(assert(other:children "/")) do
        if name:find "^[rs]%-" then assert(other:delete("/" .. name)) end
      end
      assert(gone:wait())
      assert(one:exists(numbered) == false)
    end
  end)
end

return M
