-- The cases of the table "Costs" in docs/recipes/lock.md; see spec/recipes/all/costs_spec.lua.

local assert = require "luassert"

local FREE = { create = 1, children = 1 }
local WAIT = { create = 1, children = 1, get = 1 }
local LATER = { create = 1, children = 1, exists = 1, get = 1 }

return {
  { "acquire, free", "2 in one flight: one round trip, one write", function(of)
    local lock = of.session:lock("/l")
    of.session:create("/l", "")
    of:costs(FREE, function() return lock:acquire() end):release()
    of:takes(2, function() return lock:acquire() end)
  end },
  { "wait", "the same, and one read that leaves a watch (none behind a waiter of the same session)", function(of)
    local lock = of.session:lock("/l")
    assert(of.other:lock("/l"):acquire())
    of:wait(WAIT, lock, "acquire")
    of:wait(FREE, lock, "acquire")
  end },
  { "wait behind more than one", "one read more, which leaves a watch too", function(of)
    assert(of.other:lock("/l"):acquire())
    of:theirs(of:another():lock("/l"), "acquire")
    of:wait(LATER, of.session:lock("/l"), "acquire")
  end },
  { "hand-off, the one ahead was the holder", "0, however long the queue is", function(of)
    local hold = assert(of.other:lock("/l"):acquire())
    local got = of:wait(WAIT, of.session:lock("/l"), "acquire")
    of:costs({}, function() hold:release() end)
    local theirs = of:theirs(of:another():lock("/l"), "acquire")
    for _ = 1, 8 do of:theirs(of:another():lock("/l"), "acquire") end
    local last = of:theirs(of:another():lock("/l"), "acquire")
    local again = of:wait(LATER, of.session:lock("/l"), "acquire")
    of:costs({ multi = 1 }, function() got.hold:release() end)
    of:costs({}, function() theirs.hold:release() end)
    assert(not last.hold and not again.hold)
  end },
  { "hand-off, the one ahead gave up", "1, and one read that leaves a watch when it waits on", function(of)
    local hold = assert(of.other:lock("/l"):acquire())
    of:theirs(of:another():lock("/l"), "acquire", 10)
    local got = of:wait(LATER, of.session:lock("/l"), "acquire")
    of:costs({ children = 1, get = 1 }, function() of.world:advance(10) end)
    of:costs({}, function() hold:release() end)
    assert(got.hold)
  end },
  { "try, held", "1 read", function(of)
    assert(of.other:lock("/l"):acquire())
    of:costs({ children = 1 }, function() of.session:lock("/l"):acquire(0) end)
  end },
  { "refused by `max_queue`", "2 in one flight, 1 write", function(of)
    assert(of.other:lock("/l"):acquire())
    of:theirs(of.other:lock("/l"), "acquire")
    of:costs({ create = 1, children = 1, delete = 1 }, function()
      assert.is_nil((of.session:lock("/l", { max_queue = 1 }):acquire()))
    end)
  end },
  { "a wait that is given up", "1 write; a second later, one request that takes the watch back (behind more than one: two), unless the "
    .. "next waiter of the session has used it", function(of)
    local lock = of.session:lock("/l")
    assert(of.other:lock("/l"):acquire())
    of:wait(WAIT, lock, "acquire")
    local before = of.world:requests(of.zk, "unwatch")
    of:costs({ delete = 1 }, function() lock:cancel() end)
    assert.equal(before + 1, of.world:requests(of.zk, "unwatch"))
    of:theirs(of.other:lock("/l"), "acquire")
    of:wait(LATER, lock, "acquire")
    of:costs({ delete = 1 }, function() lock:cancel() end)
    assert.equal(before + 3, of.world:requests(of.zk, "unwatch"))
  end },
  { "release", "1 write; after a wait it is a transaction with two small parts more", function(of)
    local hold = assert(of.session:lock("/l"):acquire())
    of:costs({ delete = 1 }, function() hold:release() end)
    hold = assert(of.other:lock("/l"):acquire())
    local got = of:wait(WAIT, of.session:lock("/l"), "acquire")
    of:costs({}, function() hold:release() end)
    of:costs({ multi = 1 }, function() got.hold:release() end)
  end },
  { "unfair: acquire, free", "1 write", function(of)
    of:costs({ create = 1 }, function() return of.session:lock("/u", { fair = false }):acquire() end)
  end },
  { "unfair: wait", "1 write, and one read that leaves a watch, for all waiting coroutines of the session together", function(of)
    assert(of.other:lock("/u", { fair = false }):acquire())
    local lock = of.session:lock("/u", { fair = false })
    of:wait({ create = 1, get = 1 }, lock, "acquire")
    of:wait({}, lock, "acquire")
  end },
  { "unfair: hand-off", "1 write", function(of)
    local hold = assert(of.other:lock("/u", { fair = false }):acquire())
    of:wait({ create = 1, get = 1 }, of.session:lock("/u", { fair = false }), "acquire")
    of:costs({ create = 1 }, function() hold:release() end)
  end },
  { "unfair: try, held", "1 read", function(of)
    assert(of.other:lock("/u", { fair = false }):acquire())
    of:costs({ exists = 1 }, function() of.session:lock("/u", { fair = false }):acquire(0) end)
  end },
  { "unfair: release", "1 sync and 1 read in one flight, then 1 write", function(of)
    local hold = assert(of.session:lock("/u", { fair = false }):acquire())
    of:costs({ sync = 1, exists = 1, delete = 1 }, function() hold:release() end)
  end },
}
