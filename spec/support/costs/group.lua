-- The cases of the table "Costs" in docs/recipes/group.md; see spec/recipes/all/costs_spec.lua.

local assert = require "luassert"

local kept = {}

local function join(of, id)
  local member = of.other:group("/g"):join("", { id = id })
  assert(member:ready(10))
  kept[#kept + 1] = member
  return member
end

local function observed(of)
  local members = { join(of, "a"), join(of, "b") }
  local group = of.session:group "/g"
  assert(group:await(2, 10))
  kept[#kept + 1] = group
  return group, members
end

return {
  { "to make a group with n members", "1 listing, n + 1 reads", function(of)
    join(of, "a")
    join(of, "b")
    of:costs({ children = 1, get = 3 }, function() assert(of.session:group("/g"):await(2, 10)) end)
  end },
  { "`join`, `update`, `leave`", "those of the presence", function(of)
    assert(of.session:create("/g", ""))
    local group = of.session:group "/g"
    group:close()
    local member
    of.world:advance(5)
    of:costs({ create = 1, exists = 1 }, function()
      member = group:join("1", { id = "m" })
      assert(member:ready(10))
    end)
    of.world:advance(1)
    of:costs({ set = 1, exists = 1 }, function() assert(member:update("2")) end)
    of.world:advance(1)
    of:costs({ sync = 1, exists = 1, delete = 1 }, function() assert(member:leave()) end)
  end },
  { "`members`, `age`", "none", function(of)
    local group = observed(of)
    of:costs({}, function() assert(#group:members() == 2 and group:age() == 0) end)
  end },
  { "a member joins, for each observer", "1 event, 1 listing, 1 read", function(of)
    observed(of)
    of:costs({ children = 1, get = 1 }, function() join(of, "c") end)
  end },
  { "a member updates, for each observer", "1 event, 1 read", function(of)
    local _, members = observed(of)
    of:costs({ get = 1 }, function() assert(members[1]:update("2")) end)
  end },
  { "a member leaves, for each observer", "2 events, 1 read, 1 listing", function(of)
    local _, members = observed(of)
    of:costs({ children = 1, get = 1 }, function() assert(members[1]:leave()) end)
  end },
}
