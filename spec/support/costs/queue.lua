-- The cases of the table "Costs" in docs/recipes/queue.md; see spec/recipes/all/costs_spec.lua.

local assert = require "luassert"
local collect = require "spec.support.collect"

-- Returns a queue with these items whose znodes all exist, and its session.
local function filled(of, items)
  local other = of.other:queue("/q")
  assert(other:put("0"))
  assert(assert(other:claim(5)):ack())
  of.kept[#of.kept + 1] = other -- when it is collected, an idle process lists again
  for i = 1, #items do assert(other:put_all { items[i] }) end
  local queue = of.session:queue("/q")
  return queue, other
end

return {
  { "put", "1 write, a create; with a new bucket, one in a thousand: 1 write more for the process that makes it, 2 writes more for each "
    .. "other process, or 1 write and 1 read if the old bucket was emptied", function(of)
    local queue, other = filled(of, {})
    assert(queue:put("0"))
    for _ = 1, 3 do of:costs({ create = 1 }, function() assert(queue:put("1")) end) end
    local list = {}
    for i = 1, 994 do list[i] = "x" end
    assert(other:put_all(list))
    of:costs({ create = 1, multi = 1 }, function() assert(queue:put("1000")) end) -- it seals the bucket
    for i = 1001, 1002 do of:costs({ create = 1 }, function() assert(queue:put(tostring(i))) end) end
    assert(other:put_all(list))
    assert(other:put("1997"))
    assert(other:put("1998"))
    assert(other:put("1999"))
    assert(other:put("2000"))
    assert(other:put("2001")) -- it has sealed the bucket
    of:costs({ create = 1, multi = 2 }, function() assert(queue:put("2002")) end)
    assert(other:put_all(list))
    for i = 2997, 3001 do assert(other:put(tostring(i))) end
    for _ = 1, 3000 do assert(other:take(5)) end
    of:costs({ create = 2, get = 1 }, function() assert(queue:put("3002")) end)
  end },
  { "put or nack with a delay", "1 write; the first one that is due in a minute 2 writes more", function(of)
    local queue = filled(of, { "1" })
    local item = assert(queue:claim(5))
    assert(queue:put("0", { delay = 3600 }))
    of:costs({ multi = 2, create = 1 }, function() assert(queue:put("2", { delay = 7200 })) end)
    of:costs({ multi = 1 }, function() assert(queue:put("3", { delay = 7201 })) end)
    of:costs({ multi = 1 }, function() assert(item:nack(7202)) end)
  end },
  { "put, known id", "1 write and 1 read; when its item is done, 1 write more for the time, at most one in ten seconds", function(of)
    local queue = filled(of, { { data = "1", id = "x" }, { data = "2", id = "y" } })
    assert(queue:put("0", { id = "z" }))
    for _ = 1, 2 do of:costs({ multi = 1, get = 1 }, function() assert(queue:put("2", { id = "y" })) end) end
    local item = assert(queue:claim(5))
    assert(item.id == "x" and item:ack())
    of.world:advance(15)
    of:costs({ multi = 1, get = 1, set = 1 }, function() assert(queue:put("1", { id = "x" })) end)
    of:costs({ multi = 1, get = 1 }, function() assert(queue:put("1", { id = "x" })) end)
  end },
  { "put, id of an item that was removed within the last minute", "2 writes and 2 reads", function(of)
    local queue = filled(of, { { data = "1", id = "x" } })
    assert(queue:put("0", { id = "z" }))
    assert(queue:remove("x"))
    of:costs({ multi = 2, get = 1, children = 1 }, function() assert(queue:put("2", { id = "x" })) end)
  end },
  { "remove", "2 reads, 1 write; the first one of a process 1 read more", function(of)
    local queue = filled(of, { { data = "1", id = "x" }, { data = "2", id = "y" } })
    of:costs({ get = 2, children = 1, multi = 1 }, function() assert(queue:remove("x")) end)
    of:costs({ get = 1, children = 1, multi = 1 }, function() assert(queue:remove("y")) end)
  end },
  { "put_all", "1 write for up to 100", function(of)
    local queue, list = filled(of, {}), {}
    assert(queue:put("0"))
    for i = 1, 100 do list[i] = tostring(i) end
    of:costs({ multi = 1 }, function() assert(queue:put_all(list)) end)
    list[101] = "101"
    of:costs({ multi = 1, create = 1 }, function() assert(queue:put_all(list)) end)
  end },
  { "claim", "1 read, 1 write; the first one of a process 1 write more; callers that wait at the same moment share the write, up to a "
    .. "hundred", function(of)
    local list = {}
    for i = 1, 300 do list[i] = tostring(i) end -- half of them are our share
    local queue, other = filled(of, { "1", "2", "3" })
    of:costs({ create = 1, exists = 1, children = 5 + 2, set = 1, get = 3, multi = 3 }, function() -- with a listing, the first one
      for _ = 1, 3 do of.kept[#of.kept + 1] = assert(queue:claim(5)) end
    end)
    assert(other:put_all(list))
    of:costs({ exists = 1, children = 4, get = 150, multi = 2 }, function()
      for _ = 1, 150 do of:start(function() of.kept[#of.kept + 1] = assert(queue:claim(5)) end) end
    end)
  end },
  { "claim with prefetch", "1 read; 1 write for all items that are claimed in advance together, at most a hundred; 1 write for each one "
    .. "that returns", function(of)
    local list = {}
    for i = 1, 10 do list[i] = tostring(i) end
    local _, other = filled(of, list)
    local queue = of.session:queue("/q", { prefetch = 9 })
    local function claim() of.kept[#of.kept + 1] = assert(queue:claim(5)) end
    of:costs({ create = 1, exists = 1, children = 5 + 2, set = 1, get = 10, multi = 1 }, function() -- with a listing, the first one
      for _ = 1, 10 do claim() end
    end)
    for i = 11, 20 do list[i] = tostring(i) end
    assert(other:put_all(list)) -- half of them are our share
    of:costs({ exists = 1, children = 4, get = 10, multi = 1 + 9 }, claim)
  end },
  { "ack, nack", "1 write; with an id 1 read more, once in a thousand", function(of)
    local queue = filled(of, { "1", "2", { data = "3", id = "x" }, { data = "4", id = "y" } })
    local items = {}
    for i = 1, 4 do items[i] = assert(queue:claim(5)) end
    of:costs({ multi = 1 }, function() assert(items[1]:ack()) end)
    of:costs({ multi = 1, get = 1 }, function() assert(items[3]:ack()) end)
    of:costs({ multi = 1 }, function() assert(items[4]:ack()) end)
    of:costs({ multi = 1 }, function() assert(items[2]:nack()) end)
  end },
  { "ack_all", "1 write for up to 100", function(of)
    local list, items = {}, {}
    for i = 1, 101 do list[i] = tostring(i) end
    local queue, other = filled(of, {})
    assert(other:put_all(list))
    for i = 1, 101 do items[i] = assert(queue:claim(5)) end
    of:costs({ multi = 2 }, function() assert(queue:ack_all(items)) end)
  end },
  { "take", "1 read, 1 write; the first one of a process 1 write more", function(of)
    local queue = filled(of, { "1", "2", "3" })
    of:costs({ create = 1, exists = 1, children = 5 + 2, set = 1, get = 3, multi = 3 }, function() -- with a listing, the first one
      for _ = 1, 3 do assert(queue:take(5)) end
    end)
  end },
  { "its last handle is collected", "1 write, after a claim or take", function(of)
    (function() assert(filled(of, { "1" }):take(5)) end)()
    of:costs({ delete = 1 }, function() collect(4) end)
  end },
  { "listings", "at most 6 reads for 200 items, each of one bucket of about a thousand names; the first one of a process 1 write more for "
    .. "the time; once in half a minute 2 reads for ids that are done",
    function(of)
      local list = {}
      for i = 1, 600 do list[i] = tostring(i) end
      local queue = filled(of, {})
      assert(of.other:queue("/q"):put_all(list))
      of:costs({ create = 1, exists = 1, children = 5 + 2, set = 1, get = 200, multi = 200 }, function()
        for _ = 1, 200 do of:start(function() assert(queue:take(5)) end) end
      end)
      of:costs({ exists = 1, children = 4, get = 200, multi = 200 }, function()
        for _ = 1, 200 do of:start(function() assert(queue:take(5)) end) end
      end)
    end },
  { "go idle", "1 write for its place in the line of idle processes; 9 reads with one priority in "
    .. "use, when it is the first in line", function(of)
    local queue = filled(of, {})
    assert.is_nil((queue:claim(3)))
    of:wait({ create = 1, children = 6, exists = 3 }, queue, "claim")
  end },
  { "an idle process, while others ack", "1 read for each ack, of the last bucket; at most ten in a second, if the bucket has a thousand "
    .. "names; only the first in line", function(of)
    local queue, other = filled(of, { "1", "2", "3" })
    local items = {}
    for i = 1, 3 do items[i] = assert(other:claim(5)) end
    of:start(function() assert(queue:claim()) end)
    of:settle()
    for i = 1, 3 do of:costs({ children = 1 }, function() assert(items[i]:ack()) end) end
  end },
  { "wake an idle process", "at most 6 reads, 1 write to leave the line, and the claim; later at most 3 requests to remove watches, "
    .. "and 2 for each priority in use; one process is woken per put", function(of)
    local queue, other = filled(of, {})
    of:start(function() assert(queue:claim()) end)
    local third = of:another():queue("/q")
    of:settle()
    of:start(function() third:claim() end)
    of:settle()
    of:costs({ delete = 1, create = 1, children = 4, get = 1, multi = 1 }, function() assert(other:put("1")) end)
    of.world:advance(5)
    assert.equal(4, of.world:requests(of.zk, "unwatch"))
  end },
  { "size", "1 listing, 2 reads for delayed items; for each priority in use 1 listing of its buckets, and for each of its buckets 1 read, "
    .. "or 2 if it has at most a hundred items", function(of)
    local queue, other = filled(of, { "1" })
    of:costs({ children = 1 + 2, exists = 3 }, function() assert(queue:size()) end)
    assert(other:put("2", { priority = 7 }))
    of:costs({ children = 1 + 2 + 2, exists = 4 }, function() assert(queue:size()) end)
    local list = {}
    for i = 1, 2000 do list[i] = "x" end
    assert(other:put_all(list))
    of:costs({ children = 1 + 1 + 2, exists = 6 }, function() assert(queue:size() == 2002) end)
  end },
  { "items, dead", "1 read for each item, 2 if it was claimed once; 1 listing of the lanes, of each lane's buckets, and of each bucket",
    function(of)
      local queue, other = filled(of, { "1", "2", "3" })
      of.kept[#of.kept + 1] = assert(other:claim(5))
      local function count(items)
        local sum = 0
        for _ in items do sum = sum + 1 end
        return sum
      end
      of:costs({ get = 3, exists = 1, children = 1 + 2 + 1 }, function() assert(count(queue:items()) == 3) end)
      of:costs({ children = 1 + 1 }, function() assert(count(queue:dead()) == 0) end)
    end },
  { "simple format: put, put_all", "1 write for each item", function(of)
    local queue = of.session:queue("/s", { format = "simple" })
    assert(queue:put("0"))
    of:costs({ create = 1 }, function() assert(queue:put("1")) end)
    of:costs({ create = 3 }, function() assert(queue:put_all { "2", "3", "4" }) end)
  end },
  { "simple format: take", "1 read, 1 write; 2 reads more for a listing, which the process uses until it is used up or two seconds old",
    function(of)
      local queue = of.session:queue("/s", { format = "simple" })
      assert(queue:put_all { "0", "1", "2", "3" })
      of:costs({ exists = 1, children = 1, get = 2, delete = 2 }, function() for _ = 1, 2 do assert(queue:take(5)) end end)
      of.world:advance(2.1)
      of:costs({ exists = 1, children = 1, get = 2, delete = 2 }, function() for _ = 1, 2 do assert(queue:take(5)) end end)
    end },
  { "simple format: take that waits", "4 reads, for all that wait in a process together; 2 when items have come or gone, then as above",
    function(of)
      local queue, other = of.session:queue("/s", { format = "simple" }), of.other:queue("/s", { format = "simple" })
      assert(other:put("0"))
      assert(other:take(0))
      of:costs({ exists = 2, children = 2 }, function()
        for _ = 1, 3 do of:start(function() assert(queue:take()) end) end
      end)
      of:costs({ exists = 2, children = 2, get = 1, delete = 1 }, function() assert(other:put("1")) end) -- it has come and gone
    end },
  { "simple format: peek, size", "3 reads; 1 read", function(of)
    local queue = of.session:queue("/s", { format = "simple" })
    assert(queue:put("0"))
    of:costs({ exists = 1, children = 1, get = 1 }, function() assert(queue:peek()) end)
    of:costs({ exists = 1 }, function() assert(queue:size() == 1) end)
  end },
}
