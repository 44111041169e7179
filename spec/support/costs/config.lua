-- The cases of the table "Costs" in docs/recipes/config.md; see spec/recipes/all/costs_spec.lua.

local assert = require "luassert"

local function same(value) return value .. "x" end

local function loaded(of, path)
  assert(of.other:create(path, "1"))
  local config = of.session:config(path)
  assert(config:ready(10))
  of.kept = { config }
  return config
end

-- A configuration that has written.
local function used(of, path)
  local config = loaded(of, path)
  assert(config:set "2")
  of:settle()
  return config
end

return {
  { "to load", "1 read; 2 if there is no znode", function(of)
    assert(of.other:create("/c", "1"))
    of:costs({ get = 1 }, function() assert(of.session:config("/c"):ready(10)) end)
    of:costs({ get = 1, exists = 1 }, function() assert(of.session:config("/none"):ready(10)) end)
  end },
  { "`get`, `age`, `problem`, `changes`", "none", function(of)
    local config = loaded(of, "/c")
    of:costs({}, function()
      assert.equal("1", (config:get()))
      assert.equal("1", (config:changes():next(0)))
      assert.equal(0, config:age())
      assert.is_nil(config:problem())
    end)
  end },
  { "the znode is set", "1 event, 1 read", function(of)
    local config = loaded(of, "/c")
    of:costs({ get = 1 }, function() assert(of.other:set("/c", "2")) end)
    assert.equal("2", (config:get()))
  end },
  { "`set`, again", "1 write", function(of)
    local config = used(of, "/c")
    of:costs({ multi = 1, get = 1 }, function() assert(config:set "3") end)
    of:takes(2, function() assert(config:set "4") end)
  end },
  { "`set`, the first of an object", "2 writes", function(of)
    local config = loaded(of, "/c")
    of:costs({ create = 1, multi = 1, get = 1 }, function() assert(config:set "2") end)
  end },
  { "`set` with a version, again", "1 write", function(of)
    local config = used(of, "/c")
    of:costs({ multi = 1, get = 1 }, function() assert(config:set("3", 1)) end)
    of:costs({ multi = 1 }, function() assert.is_nil(config:set("4", 1)) end)
  end },
  { "`set` with a stat, the first of an object", "2 writes, 1 read", function(of)
    local config = loaded(of, "/c")
    local _, stat = config:get()
    of:costs({ create = 1, multi = 1, get = 1 + 1 }, function() assert(config:set("3", stat)) end)
    _, stat = config:get()
    of:costs({ multi = 1, get = 1 }, function() assert(config:set("4", stat)) end)
  end },
  { "`update`, again", "1 write", function(of)
    local config = used(of, "/c")
    assert(config:update(same))
    of:costs({ multi = 1, get = 1 }, function() assert(config:update(same)) end)
    of:costs({ multi = 3, get = 3 }, function()
      for _ = 1, 3 do assert(config:update(same)) end -- before the copy has noticed the change
    end)
  end },
  { "`update`, the first of an object", "2 writes, 1 read", function(of)
    local config = loaded(of, "/c")
    of:costs({ create = 1, multi = 1, get = 1 + 1 }, function() assert(config:update(same)) end)
  end },
  { "`update`, after another client's write that the copy does not have yet", "2 writes, 1 read", function(of)
    local config = loaded(of, "/c")
    assert(config:update(same))
    of:settle()
    of:costs({ multi = 2, get = 1 + 2 }, function()
      local seen = {}
      assert(config:update(function(value)
        if not seen[1] then assert(of.other:set("/c", "other")) end
        seen[#seen + 1] = value
        return same(value)
      end))
      assert.equal("other", seen[#seen])
    end)
  end },
  { "`update` that writes nothing", "1 sync, 1 read", function(of)
    local config = loaded(of, "/c")
    of:costs({ sync = 1, get = 1 }, function() assert.is_false(config:update(function() end)) end)
  end },
  { "the first write of an object, if there is no znode",
    "`set` 2 writes more, `update` 1; and 2 for each of its parents that is missing", function(of)
      local set, update, deep = of.session:config "/set", of.session:config("/update", { default = "0" }), of.session:config "/a/b/deep"
      for _, config in ipairs { set, update, deep } do assert(config:ready(10)) end
      of:costs({ create = 3, multi = 1, get = 2 }, function() assert(set:set "1") end)
      of:costs({ create = 2, multi = 1, get = 1 + 2 }, function() assert(update:update(same)) end)
      of:costs({ create = 3 + 4, multi = 1, get = 2 }, function() assert(deep:set "1") end)
      of.kept = { set, update, deep }
    end },
}
