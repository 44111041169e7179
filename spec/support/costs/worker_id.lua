-- The cases of the table "Costs" in docs/recipes/worker_id.md; see spec/recipes/all/costs_spec.lua.

local assert = require "luassert"

-- Makes another session take all numbers. The directories exist then. Returns the hold of number 0.
local function taken(of)
  local ids = of.other:worker_id("/w", 1)
  local hold = assert(ids:acquire())
  assert(of.other:create("/w/queue"))
  return hold
end

return {
  { "acquire, a number is free", "1 read, 1 write", function(of)
    local hold = taken(of)
    of:costs({ children = 1, create = 1 }, function() return assert(of.session:worker_id("/w", 2):acquire()) end)
    assert(hold:valid())
  end },
  { "try, all are taken", "1 read", function(of)
    local hold = taken(of)
    of:costs({ children = 1 }, function() assert.is_nil((of.session:worker_id("/w", 1):acquire(0))) end)
    assert(hold:valid())
  end },
  { "release", "2 reads, 1 write", function(of)
    local hold = assert(of.session:worker_id("/w", 1):acquire())
    of:costs({ sync = 1, exists = 1, delete = 1 }, function() hold:release() end)
  end },
  { "wait, as the first", "3 reads, 1 write", function(of)
    local hold = taken(of)
    of:wait({ children = 3, create = 1 }, of.session:worker_id("/w", 1), "acquire", 1000)
    assert(hold:valid())
  end },
  { "wait behind others", "2 reads, 1 write, and 1 read that leaves a watch", function(of)
    local hold = taken(of)
    of:theirs(of:another():worker_id("/w", 1), "acquire", 1000)
    of:wait({ children = 2, create = 1, get = 1 }, of.session:worker_id("/w", 1), "acquire", 1000)
    assert(hold:valid())
  end },
  { "a number is freed, for the first waiter", "1 read, 2 writes", function(of)
    local hold = taken(of)
    local got = of:wait({ children = 3, create = 1 }, of.session:worker_id("/w", 1), "acquire", 1000)
    of:costs({ children = 1, create = 1, delete = 1 }, function() hold:release() end)
    assert.are.equal(0, got.hold.number)
  end },
  { "a number is freed, for the waiter behind", "2 reads", function(of)
    local hold = taken(of)
    of:theirs(of:another():worker_id("/w", 1), "acquire", 1000)
    of:wait({ children = 2, create = 1, get = 1 }, of.session:worker_id("/w", 1), "acquire", 1000)
    of:costs({ children = 2 }, function() hold:release() end)
  end },
  { "ids", "those of a number, and 1 read; so much again for each number whose ids are far ahead of the clock", function(of)
    of:costs({ children = 1, create = 1, get = 1 }, function() return assert(of.session:snowflake("/"):acquire()) end)
  end },
  { "next", "none, but for 1 write in three seconds of use", function(of)
    local ids = assert(of.session:snowflake("/w"):acquire())
    for _ = 1, 2000 do
      assert(ids:next())
      of.zk.sleep(0.01)
    end
    of:costs({ multi = 21 }, function()
      for _ = 1, 6000 do
        assert(ids:next())
        of.zk.sleep(0.01)
      end
    end)
  end },
}
