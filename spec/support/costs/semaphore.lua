-- The cases of the table "Costs" in docs/recipes/semaphore.md; see spec/recipes/all/costs_spec.lua.

local assert = require "luassert"

return {
  { "acquire, free", "3 in one flight: one round trip, one write", function(of)
    local slots = of.other:semaphore("/s", 3)
    assert(slots:acquire()):release()
    of:costs({ create = 1, children = 1, get = 1 }, function() return of.session:semaphore("/s", 3):acquire() end)
    of:takes(2, function() return of.session:semaphore("/s", 3):acquire() end)
  end },
  { "try, no room", "1 read (the first time 2, in one flight)", function(of)
    assert(of.other:semaphore("/s", 3):acquire(5, 3))
    local slots = of.session:semaphore("/s", 3)
    of:costs({ children = 1, get = 1 }, function() assert.is_nil((slots:acquire(0))) end)
    of:costs({ children = 1 }, function() assert.is_nil((slots:acquire(0))) end)
    of:takes(1, function() of.session:semaphore("/s", 3):acquire(0) end)
  end },
  { "release", "1 write", function(of)
    local hold = assert(of.session:semaphore("/s", 3):acquire())
    of:costs({ delete = 1 }, function() hold:release() end)
  end },
  { "wait, as the first or the second", "the same flight, one read per seat ahead, and one of the limit", function(of)
    local slots = of.other:semaphore("/s", 3)
    for _ = 1, 3 do assert(slots:acquire()) end
    of:theirs(of:another():semaphore("/s", 3), "acquire", 1000) -- the first; the case below waits as that
    of:wait({ create = 1, children = 1, get = 1 + 4 + 1 }, of.session:semaphore("/s", 3), "acquire")
  end },
  { "wait, behind others", "the same flight, and one read that leaves a watch", function(of)
    assert(of.other:semaphore("/s", 3):acquire(5, 3))
    for _ = 1, 2 do of:theirs(of:another():semaphore("/s", 3), "acquire", 1000, 3) end
    of:wait({ create = 1, children = 1, get = 2 }, of.session:semaphore("/s", 3), "acquire", 1000, 3)
  end },
  { "a holder leaves", "none: the first waiter is granted, or keeps watching", function(of)
    local slots = of.other:semaphore("/s", 3)
    local one, two = assert(slots:acquire()), assert(slots:acquire(5, 2))
    local got = of:wait({ create = 1, children = 1, get = 4 }, of.session:semaphore("/s", 3), "acquire", 1000, 3)
    of:costs({}, function() two:release() end)
    assert.is_nil(got.hold)
    of:costs({}, function() one:release() end)
    assert(got.hold)
  end },
  { "a waiter becomes the first, while another session waits behind", "1 write (the mark); a listing before it if it saw nobody behind",
    function(of)
      local hold = assert(of.other:semaphore("/s", 3):acquire(5, 3))
      of:theirs(of:another():semaphore("/s", 3), "acquire", 1000, 3)
      of:wait({ create = 1, children = 1, get = 1 + 2 + 1 }, of.session:semaphore("/s", 3), "acquire", 1000, 3)
      of:theirs(of:another():semaphore("/s", 3), "acquire", 1000, 3)
      of:costs({ children = 1, set = 1 }, function() hold:release() end)
    end },
  { "a waiter becomes the second", "2 reads of the mark, then its watches as the second", function(of)
    local hold = assert(of.other:semaphore("/s", 3):acquire(5, 3))
    for _ = 1, 2 do of:theirs(of:another():semaphore("/s", 3), "acquire", 1000, 3) end
    of:wait({ create = 1, children = 1, get = 2 }, of.session:semaphore("/s", 3), "acquire", 1000, 3)
    of:theirs(of:another():semaphore("/s", 3), "acquire", 1000, 3)
    of:costs({ get = 2 + 1 + 1 }, function() hold:release() end)
  end },
  { "within one session", "no watch and no mark", function(of)
    local slots = of.session:semaphore("/s", 3)
    local hold = assert(slots:acquire(5, 3))
    of:wait({ create = 1, children = 1, get = 2 }, slots, "acquire", 1000, 3) -- the limit, with the claim and by the first waiter
    of:wait({ create = 1, children = 1, get = 2 }, slots, "acquire", 1000, 3)
    of:wait({ create = 1, children = 1, get = 1 }, slots, "acquire", 1000, 3)
    of:costs({ delete = 1, get = 1 }, function() hold:release() end)
  end },
  { "resize", "1 read, 1 write; to make it smaller, a listing and a write more", function(of)
    local slots = of.session:semaphore("/s", 3)
    assert(slots:acquire())
    of:costs({ get = 1, set = 1 }, function() assert(slots:resize(5)) end)
    of:costs({ get = 1, set = 2, children = 1 }, function() assert(slots:resize(2)) end)
  end },
  { "resize, another client has written meanwhile", "a sync, a read and a write more", function(of)
    local slots, other = of.session:semaphore "/s", of.other:semaphore "/s"
    assert(other:resize(3))
    of.world:plan(of.session, "delay", { kind = "set", seconds = 1 })
    of:costs({ get = 2, set = 2, sync = 1 }, function()
      of:start(function() assert(other:resize(4)) end)
      assert(slots:resize(5))
    end)
  end },
  { "resize that makes the semaphore", "1 read, 2 writes", function(of)
    of:costs({ get = 1, create = 2 }, function() assert(of.session:semaphore "/new":resize(5)) end)
  end },
}
