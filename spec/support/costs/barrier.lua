-- The cases of the table "Costs" in docs/recipes/barrier.md; see spec/recipes/all/costs_spec.lua.

local assert = require "luassert"

local ROUND = { multi = 1, children = 1, get = 1, exists = 1, delete = 1 } -- requests of a member that comes first
local BEGIN = { multi = 2, children = 2, get = 1, exists = 1, delete = 1 } -- requests of a member that completes the round
local ENTER = { multi = 1, children = 1, get = 1, exists = 1 }
local ENTER_LAST = { multi = 2, children = 2, get = 1, exists = 1 }

return {
  { "barrier: `close`, `open`", "1", function(of)
    local barrier = of.session:barrier("/b")
    for _ = 1, 2 do of:costs({ create = 1 }, function() assert(barrier:close()) end) end
    for _ = 1, 2 do of:costs({ delete = 1 }, function() assert(barrier:open()) end) end
  end },
  { "barrier: `wait`", "1 read when it is open; else 1 read for all waiting coroutines of the session, 1 event, 1 read; with `0` 1 read",
    function(of)
      local barrier, same = of.session:barrier("/b"), of.session:barrier("/b")
      of:costs({ get = 1 }, function() assert(barrier:wait()) end)
      of:costs({ exists = 1 }, function() assert(barrier:wait(0)) end)
      assert(of.other:barrier("/b"):close())
      of:costs({ get = 1 }, function()
        for i = 1, 6 do of:start(function() assert((i % 2 == 0 and barrier or same):wait()) end) end
      end)
      of:costs({ get = 1 }, function() assert(of.other:barrier("/b"):open()) end)
    end },
  { "latch: `wait`", "1 read when it is open; else 1 read for all waiting coroutines of the object, 1 read for all of the session, "
    .. "1 event, 1 read; with `0` 1 read; the call that makes it 1 write more",
    function(of)
      local latch, theirs_ = of.session:latch("/l", 1), of.other:latch("/l", 1)
      local same = of.session:latch("/l", 1)
      of.other:latch("/l", 1):wait(0)
      of:costs({ exists = 1, get = 2 }, function()
        for i = 1, 6 do of:start(function() assert((i % 2 == 0 and latch or same):wait()) end) end
      end)
      of:costs({ exists = 1 }, function() assert(theirs_:count_down()) end)
      of:costs({ get = 1 }, function() assert(latch:wait()) end)
      of:costs({ get = 1 }, function()
        for _ = 1, 3 do of:start(function() assert(latch:wait()) end) end
      end)
      of:costs({ get = 1 }, function() assert(latch:wait(0)) end)
      of:costs({ get = 1, create = 1 }, function() of.session:latch("/new", 1):wait(0) end)
    end },
  { "latch: `count_down`", "1 read, 1 write; the first one 1 write more", function(of)
    of.session:create("/up", "")
    local latch = of.session:latch("/up/l", 3)
    of:costs({ get = 1, create = 1, multi = 1 }, function() return latch:count_down() end)
    of:costs({ get = 1, multi = 1 }, function() return latch:count_down() end)
  end },
  { "latch: `count`", "1 read", function(of)
    assert(of.other:latch("/l", 3):count_down())
    of:costs({ get = 1 }, function() return of.session:latch("/l", 3):count() end)
  end },
  { "cyclic: `wait`", "1 write, 1 listing, 1 read that leaves a watch on its own znode, 1 read, 1 write; the member that completes the "
    .. "round: 1 write and 1 listing more", function(of)
    local mine, other = of.session:cyclic_barrier("/c", 2), of.other:cyclic_barrier("/c", 2)
    of.session:create("/c", "")
    for _ = 1, 2 do
      of:costs(ROUND, function()
        of:start(function() assert(mine:wait()) end)
        of:settle()
        assert(other:wait())
      end)
      of:theirs(other, "wait")
      of:costs(BEGIN, function() assert(mine:wait()) end)
    end
  end },
  { "double: `enter`", "1 write, 1 listing, 1 read that leaves a watch on its own znode, 1 read; the member that completes the round: "
    .. "1 write and 1 listing more", function(of)
    local mine, other = of.session:double_barrier("/d", 2), of.other:double_barrier("/d", 2)
    of.session:create("/d", "")
    of:costs(ENTER, function()
      of:start(function() assert(mine:enter()) end)
      of:settle()
      assert(other:enter())
    end)
    of:theirs(other, "leave")
    assert(mine:leave())
    of:theirs(other, "enter")
    of:costs(ENTER_LAST, function() assert(mine:enter()) end)
  end },
  { "double: `leave`", "3 writes, 1 listing, 1 read; each other member that is still inside then: 1 listing and 2 reads more, one of which "
    .. "leaves a watch; each other round that is there: 2 reads more, and 1 write that deletes it if its members have died",
    function(of)
      local mine, other = of.session:double_barrier("/d", 2), of.other:double_barrier("/d", 2)
      for _ = 1, 2 do
        of:theirs(other, "enter")
        assert(mine:enter())
        of:costs({ multi = 1, delete = 2, children = 2, get = 3 }, function()
          of:start(function() assert(mine:leave()) end)
          of:settle()
          assert(other:leave())
        end)
        of:theirs(other, "enter")
        assert(mine:enter())
        of:theirs(other, "leave")
        of:costs({ multi = 1, delete = 2, children = 1, get = 1 }, function() assert(mine:leave()) end)
      end
      of:theirs(other, "enter")
      assert(mine:enter())
      of:theirs(other, "leave")
      assert(of.other:create("/d/round-0", "n2-dead-1\nn2-dead-2")) -- the member lists it first, and reads it before its own znode
      of:costs({ multi = 1, delete = 3, children = 1, get = 3 }, function() assert(mine:leave()) end)
    end },
}
