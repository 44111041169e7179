-- The cases of the table "Costs" in docs/recipes/presence.md; see spec/recipes/all/costs_spec.lua.

local assert = require "luassert"

local function there(of, path)
  assert(of.session:create("/d", ""))
  local presence = assert(of.session:presence(path, "1"))
  assert(presence:ready(10))
  of.kept = { presence }
  return presence
end

return {
  { "to be there", "1 write, 1 read; 2 writes more for each parent that is missing", function(of)
    assert(of.session:create("/d", ""))
    local deep, presence
    of:costs({ create = 3, exists = 1 }, function()
      deep = of.session:presence("/a/b", "1")
      assert(deep:ready(10))
    end)
    of:costs({ create = 1, exists = 1 }, function()
      presence = of.session:presence("/d/p", "1")
      assert(presence:ready(10))
    end)
    of.kept = { deep, presence }
  end },
  { "`state`, `ready` while it is there", "none", function(of)
    local presence = there(of, "/d/p")
    of.world:advance(1)
    of:costs({}, function() assert(presence:ready(10) and presence:state() == "present") end)
  end },
  { "`update`", "1 write, 1 event, 1 read", function(of)
    local presence = there(of, "/d/p")
    of.world:advance(1)
    of:costs({ set = 1, exists = 1 }, function() assert(presence:update("2")) end)
    of.world:advance(1)
    of:takes(2, function() assert(presence:update("3")) end)
  end },
  { "`leave`", "1 sync, 1 read, 1 write", function(of)
    local presence = there(of, "/d/p")
    of.world:advance(1)
    of:costs({ sync = 1, exists = 1, delete = 1 }, function() assert(presence:leave()) end)
  end },
  { "another znode is in the way", "1 write, 1 read, and 1 read for each change of it", function(of)
    assert(of.other:create("/p", ""))
    local presence
    of:costs({ create = 1, get = 1 }, function()
      presence = of.session:presence("/p", "1")
      of.world:advance(1)
    end)
    of:costs({ get = 1 }, function() assert(of.other:set("/p", "2")) end)
    of.kept = { presence }
  end },
  { "... until it is gone", "1 event, 1 write, 2 reads", function(of)
    assert(of.other:create("/p", ""))
    local presence = of.session:presence("/p", "1")
    of.world:advance(1)
    of:costs({ create = 1, get = 1, exists = 1 }, function() assert(of.other:delete("/p")) end)
    assert.equal("present", presence:state())
  end },
  { "the session was lost, and its znode is gone", "1 read, and as to be there", function(of)
    local presence = there(of, "/d/p")
    of.world:advance(1)
    of:costs({ create = 1, exists = 2 }, function()
      of.world:expire(of.session)
      of.world:advance(20)
    end)
    assert.equal("present", presence:state())
  end },
}
