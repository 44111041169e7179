-- The cases of the table "Costs" in docs/recipes/registry.md; see spec/recipes/all/costs_spec.lua.

local assert = require "luassert"

local kept = {}

local function register(of, name, id)
  local registration = assert(of.other:registry("/s"):register(name, { id = id, address = "a" }))
  assert(registration:ready(10))
  kept[#kept + 1] = registration
  return registration
end

local function loaded(of)
  register(of, "web", "a")
  local registry = assert(of.session:registry "/s")
  assert(registry:await("web", 1, 10))
  kept[#kept + 1] = registry
  return registry
end

return {
  { "to make a registry with s services of n instances each", "s + 1 listings, s * (n + 1) + 1 reads", function(of)
    for _, name in ipairs { "web", "db" } do
      for _, id in ipairs { "a", "b", "c" } do register(of, name, id) end
    end
    of:costs({ children = 2 + 1, get = 2 * (3 + 1) + 1 }, function()
      local registry = assert(of.session:registry "/s")
      kept[#kept + 1] = registry
      return registry:ready(10)
    end)
  end },
  { "register, update, leave", "those of the presence", function(of)
    assert(of.session:create("/s/web", "", { parents = true }))
    local registry, registration = assert(of.session:registry "/s"), nil
    registry:close()
    of.world:advance(5)
    of:costs({ create = 1, exists = 1 }, function()
      registration = registry:register("web", { id = "m", address = "a" })
      assert(registration:ready(10))
    end)
    of.world:advance(1)
    of:costs({ set = 1, exists = 1 }, function() assert(registration:update({ port = 1 }, 10)) end)
    of.world:advance(1)
    of:costs({ sync = 1, exists = 1, delete = 1 }, function() assert(registration:leave(10)) end)
  end },
  { "pick, instances, names, problems", "none", function(of)
    local registry = loaded(of)
    of:costs({}, function()
      assert(registry:pick "web")
      assert(#registry:instances "web" == 1 and #registry:names() == 1 and #registry:problems() == 0)
    end)
  end },
  { "an instance is added, for each reader", "1 event, 1 listing, 1 read", function(of)
    loaded(of)
    of:costs({ children = 1, get = 1 }, function() register(of, "web", "b") end)
  end },
}
