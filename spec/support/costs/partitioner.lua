-- The cases of the table "Costs" in docs/recipes/partitioner.md; see spec/recipes/all/costs_spec.lua.

local assert = require "luassert"

local N = 40

local function parts()
  local list = {}
  for i = 1, N do list[i] = "p" .. i end
  return list
end

-- The znodes above the locks and members are there already.
local function prepare(of)
  assert(of.other:create("/p/members", "", { parents = true }))
  assert(of.other:create("/p/parts", ""))
  for i = 1, N do assert(of.other:create("/p/parts/p" .. i, "")) end
end

-- Joins, and waits until the parts are divided.
local function join(of, session, id, set)
  local one = session:partitioner("/p", set or parts(), { id = id })
  of.kept[#of.kept + 1] = one
  of.world:advance(4)
  return one
end

local function times(n, more)
  local all = { create = n, children = n, get = n }
  for name, count in pairs(more) do all[name] = (all[name] or 0) + count end
  return all
end

return {
  { "to join n members, without a part", "1 write, 1 listing, n + 3 reads", function(of)
    prepare(of)
    join(of, of.other, "a")
    join(of, of:another(), "b")
    of:costs({ create = 1, children = 1, exists = 1, get = 4 }, function() join(of, of.session, "c", {}) end)
  end },
  { "a member comes or goes, for each other member", "1 listing, 1 read, and those of the parts that move", function(of)
    prepare(of)
    join(of, of.session, "a", {})
    local b
    of:costs({ children = 1, get = 1 }, function() b = join(of, of.other, "b", {}) end)
    of:costs({ children = 1, get = 1 }, function() assert(b:close(10)) end)
  end },
  { "a part is gained, of a member that is gone", "1 write, 1 listing, 1 read that leaves a watch", function(of)
    prepare(of)
    local mine = join(of, of.session, "a")
    local b = join(of, of.other, "b")
    local n = #b:mine()
    assert.is_true(n > 10 and n < 30)
    of:costs(times(n, { children = 1, get = 1 }), function()
      assert(b:close(10))
      of.world:advance(4)
    end)
    assert.equal(N, #mine:mine())
  end },
  { "a part is gained, of a member that is there", "1 write, 1 listing, 2 reads that leave a watch", function(of)
    prepare(of)
    local a = join(of, of.other, "a")
    of.world:advance(1)
    local before = of.world:requests(of.zk)
    local mine = join(of, of.session, "b")
    local n = #mine:mine()
    assert.equal(N, n + #a:mine())
    local spent = of.world:requests(of.zk) - before
    assert.equal(6 + 4 * n, spent) -- to join a member, and those of the parts
  end },
  { "a part moves to another member", "1 write", function(of)
    prepare(of)
    local mine = join(of, of.session, "a")
    local b
    of:costs({ children = 1, get = 1, delete = 25 }, function() b = join(of, of.other, "b") end)
    assert.equal(25, #b:mine())
    assert.equal(N - 25, #mine:mine())
  end },
  { "a part that does not move", "none", function(of)
    prepare(of)
    local mine = join(of, of.session, "a")
    join(of, of.other, "b")
    local before = mine:mine()
    local c = join(of, of:another(), "c")
    local kept = mine:mine()
    assert.is_true(#kept < #before and #kept > 0)
    of:costs(times(#before - #kept, { children = 1, get = 1 }), function()
      assert(c:close(10))
      of.world:advance(4)
    end)
    assert.same(before, mine:mine())
  end },
  { "`mine`, `hold`, `differing`, `run`", "none", function(of)
    prepare(of)
    local mine = join(of, of.session, "a")
    of:costs({}, function()
      of:start(function() mine:run(function() of.zk.sleep(1000) end) end)
      assert(#mine:mine() == N and mine:hold "p1" and #mine:differing() == 0)
    end)
    mine:stop()
  end },
  { "`set_parts`", "1 write, 2 reads, and those of the parts that come and go", function(of)
    prepare(of)
    local mine = join(of, of.session, "a")
    local set = parts()
    table.remove(set)
    of:costs({ set = 1, exists = 1, get = 1, delete = 1 }, function()
      assert(mine:set_parts(set))
      of.world:advance(4)
    end)
    assert.equal(N - 1, #mine:mine())
  end },
  { "`close`", "1 sync, 1 read, 1 write, and 1 write for each part", function(of)
    prepare(of)
    local mine = join(of, of.session, "a")
    of:costs({ sync = 1, exists = 1, delete = 1 + N }, function() assert(mine:close(10)) end)
  end },
}
