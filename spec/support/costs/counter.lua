-- The cases of the table "Costs" in docs/recipes/counter.md; see spec/recipes/all/costs_spec.lua.

local assert = require "luassert"
local collect = require "spec.support.collect"

local function counter(of, path)
  assert(of.session:create(path, "0"))
  return of.session:counter(path)
end

-- A counter that has written.
local function used(of, path)
  local made = counter(of, path)
  assert(made:add(1))
  return made
end

return {
  { "`add`, again", "1 write", function(of)
    local mine = used(of, "/c")
    for _ = 1, 3 do of:costs({ multi = 1 }, function() assert(mine:add(1)) end) end
    of:takes(2, function() assert(mine:add(1)) end)
  end },
  { "`add`, the first of an object", "2 writes, 1 read", function(of)
    local mine = counter(of, "/c")
    of:costs({ create = 1, get = 1, multi = 1 }, function() assert(mine:add(1)) end)
    of.kept = { mine }
  end },
  { "the first write of an object, if znodes of its path are missing", "2 writes more for each of them", function(of)
    local new, deep, set = of.session:counter("/new"), of.session:counter("/a/b/deep"), of.session:counter("/c/set")
    of:costs({ create = 3, get = 1, multi = 1 }, function() assert(new:add(1)) end)
    of:costs({ create = 7, get = 1, multi = 1 }, function() assert(deep:compare_and_set(0, 1)) end)
    of:costs({ create = 5, multi = 1 }, function() assert(set:set(1)) end)
    of.kept = { new, deep, set }
  end },
  { "`add`, after another client has changed the counter", "2 writes, 1 read", function(of)
    local mine = used(of, "/c")
    assert(of.other:counter("/c"):add(1))
    of:costs({ get = 1, multi = 2 }, function() assert(mine:add(1)) end)
  end },
  { "`get`", "1 read", function(of)
    local mine = of.session:counter("/c")
    of:costs({ get = 1 }, function() assert(mine:get()) end)
  end },
  { "`set`", "1 write; the first of an object 2", function(of)
    local mine = counter(of, "/c")
    of:costs({ create = 1, multi = 1 }, function() assert(mine:set(7)) end)
    of:costs({ multi = 1 }, function() assert(mine:set(8)) end)
  end },
  { "`compare_and_set`", "1 write if it knows the expected value; else 1 sync, 1 read, and 1 write if the value is the expected one",
    function(of)
      local mine, theirs = used(of, "/c"), of.other:counter("/c")
      of:costs({ multi = 1 }, function() assert(mine:compare_and_set(1, 2)) end)
      of:costs({ sync = 1, get = 1 }, function() assert(mine:compare_and_set(1, 2) == false) end)
      assert(theirs:set(1))
      of:costs({ sync = 1, get = 1, multi = 1 }, function() assert(mine:compare_and_set(1, 2)) end)
    end },
  { "`compare_and_set`, the first of an object", "1 write, 1 read, and 1 write if the value is the expected one", function(of)
    local mine, wrong = counter(of, "/c"), of.session:counter("/c")
    of:costs({ create = 1, get = 1, multi = 1 }, function() assert(mine:compare_and_set(0, 1)) end)
    of:costs({ create = 1, get = 1 }, function() assert(wrong:compare_and_set(0, 2) == false) end)
    of.kept = { mine, wrong }
  end },
  { "`next`", "none; for each block one `add`", function(of)
    local ids = of.session:ids("/ids", { block = 5 })
    assert(ids:next())
    of:costs({}, function() for _ = 1, 4 do assert(ids:next()) end end)
    of:costs({ multi = 1 }, function()
      for _ = 1, 5 do of:start(function() assert(ids:next()) end) end
    end)
    of.kept = { ids }
  end },
  { "`next_name`", "2 writes; if the directory is missing 1 write more, and the first `add` of the ids", function(of)
    assert(of.session:create("/ids", "0"))
    local ids, new = of.session:ids("/ids"), of.session:ids("/new")
    of:costs({ create = 1, delete = 1 }, function() assert(ids:next_name("order-")) end)
    of:costs({ create = 1 + 3 + 1, get = 1, multi = 1, delete = 1 }, function() assert(new:next_name("order-")) end)
    of.kept = { ids, new }
  end },
  { "an object that is collected", "1 write, if it has written", function(of)
    of.kept = { used(of, "/c"), of.session:counter("/c") }
    of:costs({ delete = 1 }, function()
      of.kept = nil
      collect(2)
    end)
  end },
}
