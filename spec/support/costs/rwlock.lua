-- The cases of the table "Costs" in docs/recipes/rwlock.md; see spec/recipes/all/costs_spec.lua.

local assert = require "luassert"

local FREE = { create = 1, children = 1 }
local WAIT = { create = 1, children = 1, get = 1 }

return {
  { "read or write, free; read beside readers", "2 in one flight: one round trip, one write", function(of)
    local rw = of.session:rwlock("/rw")
    of.session:create("/rw", "")
    of:costs(FREE, function() return rw:read() end):release()
    of:costs(FREE, function() return rw:write() end):release()
    assert(of.other:rwlock("/rw"):read())
    of:costs(FREE, function() return rw:read() end)
    of:takes(2, function() return rw:read() end)
  end },
  { "wait", "the same, and one read that leaves a watch (none behind a waiter of the same session); "
    .. "two behind a writer that waits", function(of)
    assert(of.other:rwlock("/rw"):write())
    local rw = of.session:rwlock("/rw")
    of:wait(WAIT, rw, "write")
    of:wait(FREE, rw, "write")
    of:theirs(of.other:rwlock("/rw"), "write")
    of:wait({ create = 1, children = 1, exists = 1, get = 1 }, rw, "read")
  end },
  { "hand-off, the one ahead was the holder", "0; also for all readers behind a writer", function(of)
    local hold = assert(of.other:rwlock("/rw"):write())
    local rw = of.session:rwlock("/rw")
    local one, two = of:wait(WAIT, rw, "read"), of:wait(FREE, rw, "read")
    of:costs({}, function() hold:release() end)
    assert(one.hold and two.hold)
    -- Also for readers of several sessions behind a writer that has waited.
    local writer = of:theirs(of.other:rwlock("/rw"), "write")
    local near = of:theirs(of.other:rwlock("/rw"), "read")
    local far = { of:wait({ create = 1, children = 1, exists = 1, get = 1 }, rw, "read"), of:wait(FREE, rw, "read") }
    one.hold:release()
    two.hold:release()
    of:settle()
    of:costs({}, function() writer.hold:release() end)
    assert(near.hold and far[1].hold and far[2].hold)
  end },
  { "hand-off otherwise", "1, and one read when it waits on", function(of)
    local first, second = assert(of.other:rwlock("/rw"):read()), assert(of.other:rwlock("/rw"):read())
    local got = of:wait(WAIT, of.session:rwlock("/rw"), "write")
    of:costs({ children = 1, get = 1 }, function() second:release() end)
    of:costs({}, function() first:release() end)
    assert(got.hold)
    got.hold:release()
    first, second = assert(of.other:rwlock("/rw"):read()), assert(of.other:rwlock("/rw"):read())
    got = of:wait(WAIT, of.session:rwlock("/rw"), "write")
    of:costs({}, function() first:release() end)
    of:costs({ children = 1 }, function() second:release() end)
    assert(got.hold)
  end },
  { "try, in vain", "to write: 1 read; to read: 2 when a writer holds it, else 1", function(of)
    local rw = of.session:rwlock("/rw")
    local hold = assert(of.other:rwlock("/rw"):read())
    of:costs({ children = 1 }, function() assert.is_nil((rw:write(0))) end)
    of:theirs(of:another():rwlock("/rw"), "write")
    of:costs({ children = 1 }, function() assert.is_nil((rw:read(0))) end)
    hold:release()
    of:settle()
    of:costs({ children = 1 }, function() assert.is_nil((rw:write(0))) end)
    of:costs({ children = 1, get = 1 }, function() assert.is_nil((rw:read(0))) end)
  end },
  { "downgrade", "1 write; 1 read for each session that waits to read behind it", function(of)
    local hold = assert(of.session:rwlock("/rw"):write())
    of:costs({ set = 1 }, function() assert(hold:downgrade()) end)
    hold:release()
    hold = assert(of.other:rwlock("/rw"):write())
    local rw = of.session:rwlock("/rw")
    local one, two = of:wait(WAIT, rw, "read"), of:wait(FREE, rw, "read")
    of:costs({ get = 1 }, function() assert(hold:downgrade()) end)
    assert(one.hold and two.hold)
  end },
  { "release", "1 write; for a writer that has waited it is a transaction with two small parts more", function(of)
    local hold = assert(of.session:rwlock("/rw"):read())
    of:costs({ delete = 1 }, function() hold:release() end)
    hold = assert(of.other:rwlock("/rw"):write())
    local writer = of:wait(WAIT, of.session:rwlock("/rw"), "write")
    of:costs({}, function() hold:release() end)
    of:costs({ multi = 1 }, function() writer.hold:release() end)
  end },
}
