-- Every row of every table of costs in docs/ has a case here, which has the row's words and the exact numbers of requests that they
-- mean, counted in a simulated world. A row without a case fails, a case without a row, and a row whose words have changed.

local sim = require "zkrecipes.sim"

local KINDS = { "create", "delete", "exists", "get", "set", "children", "sync", "multi", "get_acl", "set_acl" }
local HALF = 0.05 -- seconds that a message takes; a write that a follower forwards takes twice as long

-- ---- A world -----------------------------------------------------------------------------------

local World = {}
World.__index = World

local function new_session(zk)
  local session = zk.session { timeout = 30 }
  assert(session:connected(10))
  return session
end

-- of.session's requests are counted; of.other is of another process.
local function with_world(fn)
  local world = sim.new { seed = 1, latency = HALF, jitter = 0, container_interval = 1e9 }
  world:run(function()
    local zk = world.zk
    local of = setmetatable({ world = world, zk = zk, session = new_session(zk), other = new_session(world:process()), tasks = {} },
      World)
    fn(of)
    for i = 1, #of.tasks do of.tasks[i]:cancel() end
  end)
end

-- A session of one more process.
function World:another() return new_session(self.world:process()) end

-- Lets pass what is under way.
function World:settle() self.world:advance(1.5) end

-- Runs fn in a coroutine of its own, until the end of the case at most.
function World:start(fn)
  self.tasks[#self.tasks + 1] = self.zk.spawn(fn)
end

local function requests(of)
  local counts = {}
  for i = 1, #KINDS do counts[KINDS[i]] = of.world:requests(of.zk, KINDS[i]) end
  return counts
end

-- What fn and all that follows it asks of the servers is exactly this.
function World:costs(expected, fn)
  self:settle()
  local before = requests(self)
  local result = fn()
  self:settle()
  local spent = requests(self)
  for kind, count in pairs(spent) do spent[kind] = count > before[kind] and count - before[kind] or nil end
  assert.same(expected, spent)
  return result
end

-- fn takes so many round trips.
function World:takes(trips, fn)
  self:settle()
  local from = self.world:now()
  local result = fn()
  local took = self.world:now() - from
  assert.is_true(math.abs(took - trips * 2 * HALF) < 0.01, took .. " s")
  return result
end

-- A hold or term of this lock, election ..., got behind another one, and what costs it that.
function World:wait(expected, lock, method, ...)
  local got, timeout, permits = {}, ...
  self:costs(expected, function()
    self:start(function() got.hold = lock[method](lock, timeout, permits) end)
  end)
  return got
end

-- What another process does, or begins to do.
local function theirs(of, lock, method, ...) return of:wait({}, lock, method, ...) end

-- ---- Locks -------------------------------------------------------------------------------------

local PAGES = {} -- page > a list of { row, words, case }

-- Two requests in one flight: a round trip of a write, which a server that follows forwards.
local FREE = { create = 1, children = 1 }
local WAIT = { create = 1, children = 1, get = 1 }

PAGES["recipes/lock.md"] = {
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
  { "hand-off, the one ahead was the holder", "0", function(of)
    local hold = assert(of.other:lock("/l"):acquire())
    local got = of:wait(WAIT, of.session:lock("/l"), "acquire")
    of:costs({}, function() hold:release() end)
    assert(got.hold)
  end },
  { "hand-off, the one ahead gave up", "1, and one read that leaves a watch when it waits on", function(of)
    local hold = assert(of.other:lock("/l"):acquire())
    theirs(of, of:another():lock("/l"), "acquire", 10)
    local got = of:wait(WAIT, of.session:lock("/l"), "acquire")
    of:costs({ children = 1, get = 1 }, function() of.world:advance(10) end)
    of:costs({}, function() hold:release() end)
    assert(got.hold)
  end },
  { "try, held", "1 read", function(of)
    assert(of.other:lock("/l"):acquire())
    of:costs({ children = 1 }, function() of.session:lock("/l"):acquire(0) end)
  end },
  { "release", "1 write", function(of)
    local hold = assert(of.session:lock("/l"):acquire())
    of:costs({ delete = 1 }, function() hold:release() end)
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

PAGES["recipes/rwlock.md"] = {
  { "read or write, free; read beside readers", "2 in one flight: one round trip, one write", function(of)
    local rw = of.session:rwlock("/rw")
    of.session:create("/rw", "")
    of:costs(FREE, function() return rw:read() end):release()
    of:costs(FREE, function() return rw:write() end):release()
    assert(of.other:rwlock("/rw"):read())
    of:costs(FREE, function() return rw:read() end)
    of:takes(2, function() return rw:read() end)
  end },
  { "wait", "the same, and one read that leaves a watch (none behind a waiter of the same session)", function(of)
    assert(of.other:rwlock("/rw"):write())
    local rw = of.session:rwlock("/rw")
    of:wait(WAIT, rw, "write")
    of:wait(FREE, rw, "write")
  end },
  { "hand-off, the one ahead was the holder", "0; also for all readers behind a writer", function(of)
    local hold = assert(of.other:rwlock("/rw"):write())
    local rw = of.session:rwlock("/rw")
    local one, two = of:wait(WAIT, rw, "read"), of:wait(FREE, rw, "read")
    of:costs({}, function() hold:release() end)
    assert(one.hold and two.hold)
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
    theirs(of, of:another():rwlock("/rw"), "write")
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
  { "release", "1 write", function(of)
    local hold = assert(of.session:rwlock("/rw"):read())
    of:costs({ delete = 1 }, function() hold:release() end)
  end },
}

-- ---- The semaphore -----------------------------------------------------------------------------

PAGES["recipes/semaphore.md"] = {
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
  { "wait, somebody waits already", "the same flight, and one read that leaves a watch", function(of)
    assert(of.other:semaphore("/s", 3):acquire(5, 3))
    theirs(of, of:another():semaphore("/s", 3), "acquire", 1000, 3)
    of:wait({ create = 1, children = 1, get = 2 }, of.session:semaphore("/s", 3), "acquire", 1000, 3)
  end },
  { "wait, as the first", "the same flight, one read per holder, and one of the limit", function(of)
    local slots = of.other:semaphore("/s", 3)
    for _ = 1, 3 do assert(slots:acquire()) end
    of:wait({ create = 1, children = 1, get = 1 + 3 + 1 }, of.session:semaphore("/s", 3), "acquire")
  end },
  { "a holder leaves", "1 read by the first who waits; it is in, or goes on watching", function(of)
    local slots = of.other:semaphore("/s", 3)
    local one, two = assert(slots:acquire()), assert(slots:acquire(5, 2))
    local got = of:wait({ create = 1, children = 1, get = 4 }, of.session:semaphore("/s", 3), "acquire", 1000, 3)
    of:costs({ children = 1 }, function() two:release() end)
    assert.is_nil(got.hold)
    of:costs({ children = 1 }, function() one:release() end)
    assert(got.hold)
  end },
  { "let in after waiting, and another session waits behind", "1 write (the mark)", function(of)
    local hold = assert(of.other:semaphore("/s", 3):acquire(5, 3))
    of:wait({ create = 1, children = 1, get = 3 }, of.session:semaphore("/s", 3), "acquire", 1000, 3)
    theirs(of, of:another():semaphore("/s", 3), "acquire", 1000, 3)
    of:costs({ children = 1, set = 1 }, function() hold:release() end)
  end },
  { "the one behind moves up", "1 read to look, then its watches as the first", function(of)
    local hold = assert(of.other:semaphore("/s", 3):acquire(5, 3))
    theirs(of, of:another():semaphore("/s", 3), "acquire", 1000, 3)
    of:wait({ create = 1, children = 1, get = 2 }, of.session:semaphore("/s", 3), "acquire", 1000, 3)
    of:costs({ children = 1, get = 1 + 1 }, function() hold:release() end)
  end },
  { "within one session", "no watch and no mark", function(of)
    local slots = of.session:semaphore("/s", 3)
    local hold = assert(slots:acquire(5, 3))
    of:wait({ create = 1, children = 1, get = 2 }, slots, "acquire", 1000, 3) -- the limit, with the claim and by the first who waits
    of:wait({ create = 1, children = 1, get = 1 }, slots, "acquire", 1000, 3)
    of:costs({ delete = 1, children = 2, get = 1 }, function() hold:release() end)
  end },
  { "resize", "1 read, 1 write; to make it smaller, a listing and a write more", function(of)
    local slots = of.session:semaphore("/s", 3)
    assert(slots:acquire())
    of:costs({ get = 1, set = 1 }, function() assert(slots:resize(5)) end)
    of:costs({ get = 1, set = 2, children = 1 }, function() assert(slots:resize(2)) end)
  end },
}

-- ---- Elections ---------------------------------------------------------------------------------

-- A leader and two who wait, in this order: the sessions' own.
local function line_up(of, sessions)
  local terms = {}
  for i, session in ipairs(sessions) do
    of:start(function() terms[i] = assert(session:election("/e"):campaign()) end)
    of:settle()
  end
  return terms, assert(of:another():election("/e"):candidates())
end

PAGES["recipes/election.md"] = {
  { "campaign, nobody leads", "2 in one flight: one round trip, one write", function(of)
    of.session:create("/e", "")
    local election = of.session:election("/e")
    of:costs(FREE, function() return election:campaign() end):resign()
    of:takes(2, function() return election:campaign() end)
  end },
  { "campaign, wait", "the same, and one read that leaves a watch", function(of)
    assert(of.other:election("/e"):campaign())
    of:wait(WAIT, of.session:election("/e"), "campaign")
  end },
  { "the leader changes", "0 for the next one", function(of)
    local term = assert(of.other:election("/e"):campaign())
    local got = of:wait(WAIT, of.session:election("/e"), "campaign")
    of:costs({}, function() term:resign() end)
    assert(got.hold)
  end },
  { "leader", "1 read; after a change: the one that fails, a listing, a read", function(of)
    local one, two = of.other:election("/e"), of:another():election("/e")
    local term = assert(one:campaign())
    theirs(of, two, "campaign")
    local election = of.session:election("/e")
    of:costs({ children = 1, get = 1 }, function() return election:leader() end)
    of:costs({ get = 1 }, function() return election:leader() end)
    term:resign()
    of:costs({ children = 1, get = 2 }, function() return election:leader() end)
  end },
  { "observe, per process and change", "1 read for a value; for another leader as `leader`", function(of)
    local term = assert(of.other:election("/e"):campaign())
    theirs(of, of:another():election("/e"), "campaign")
    local election = of.session:election("/e")
    for _ = 1, 2 do of:start(function() for _ in election:observe() do end end) end -- luacheck: ignore 542
    of:costs({ get = 1 }, function() assert(term:proclaim("1")) end)
    of:costs({ children = 1, get = 2 }, function() term:resign() end)
    of.session:close()
  end },
  { "proclaim, ready, resign", "1 write (`fair = false`: to resign is 1 sync, 1 read and 1 write)", function(of)
    local term = assert(of.session:election("/e"):campaign())
    of:costs({ multi = 1 }, function() assert(term:proclaim("1")) end)
    of:costs({ multi = 1 }, function() assert(term:ready()) end)
    of:costs({ delete = 1 }, function() term:resign() end)
    term = assert(of.session:election("/u", { fair = false }):campaign())
    of:costs({ sync = 1, exists = 1, delete = 1 }, function() term:resign() end)
  end },
  { "resign to the next one in line", "1 listing, 1 write", function(of)
    local terms, candidates = line_up(of, { of.session, of.other, of:another() })
    of:costs({ children = 1, delete = 1 }, function() assert(terms[1]:resign(candidates[2], 10)) end)
    assert(terms[2])
  end },
  { "resign to another one", "2 listings, 1 read that leaves a watch until it fires, 2 writes", function(of)
    local terms, candidates = line_up(of, { of.session, of.other, of:another() })
    of:costs({ children = 2, get = 1, multi = 1, delete = 1 }, function() assert(terms[1]:resign(candidates[3], 10)) end)
    assert(terms[3])
  end },
  { "step aside for a successor", "1 read, 1 write, and another campaign; 1 listing and 1 read that leaves a watch by the one behind",
    function(of)
      local terms, candidates = line_up(of, { of.other, of.session, of:another() })
      of:costs({ get = 1 + 1, delete = 1, create = 1, children = 1 }, function() assert(terms[1]:resign(candidates[3], 10)) end)
      terms[3]:resign()
      of:settle()
      terms[2]:resign()
      of:settle()
      terms, candidates = line_up(of, { of.other, of:another(), of.session })
      of:costs({ children = 1, get = 1 }, function() assert(terms[1]:resign(candidates[3], 10)) end)
    end },
  { "resign to a successor, by rank", "1 read, 2 writes", function(of)
    local term = assert(of.session:election("/r", { rank = 1 }):campaign())
    theirs(of, of.other:election("/r", { rank = 2 }), "campaign")
    local candidates = of:another():election("/r", { rank = 0 }):candidates()
    local heir = candidates[1].leading and candidates[2] or candidates[1]
    of:costs({ get = 1, multi = 1, delete = 1 }, function() assert(term:resign(heir)) end)
  end },
}

-- ---- Barriers ----------------------------------------------------------------------------------

local ROUND = { multi = 1, children = 1, get = 1, exists = 1, delete = 1 } -- of one who comes first
local BEGIN = { multi = 2, children = 2, get = 1, exists = 1, delete = 1 } -- of one who completes it
local ENTER = { multi = 1, children = 1, get = 1, exists = 1 }
local ENTER_LAST = { multi = 2, children = 2, get = 1, exists = 1 }

PAGES["recipes/barrier.md"] = {
  { "barrier: `close`, `open`", "1", function(of)
    local barrier = of.session:barrier("/b")
    for _ = 1, 2 do of:costs({ create = 1 }, function() assert(barrier:close()) end) end
    for _ = 1, 2 do of:costs({ delete = 1 }, function() assert(barrier:open()) end) end
  end },
  { "barrier: `wait`", "2 reads when it is open; else 3 reads for all waiting coroutines of the session, 1 event, 2 reads; with `0` 1 read",
    function(of)
      local barrier = of.session:barrier("/b")
      of:costs({ exists = 2 }, function() assert(barrier:wait()) end)
      of:costs({ exists = 1 }, function() assert(barrier:wait(0)) end)
      assert(of.other:barrier("/b"):close())
      of:costs({ exists = 2, children = 1 }, function()
        for _ = 1, 3 do of:start(function() assert(barrier:wait()) end) end
      end)
      of:costs({ exists = 2 }, function() assert(of.other:barrier("/b"):open()) end)
    end },
  { "latch: `wait`", "3 reads when it is open; else 2 reads for all waiting coroutines of the session, 1 event, 3 reads; with `0` 1 read",
    function(of)
      local latch, theirs_ = of.session:latch("/l", 1), of.other:latch("/l", 1)
      of:costs({ exists = 2 }, function()
        for _ = 1, 3 do of:start(function() assert(latch:wait()) end) end
      end)
      of:costs({ exists = 2, children = 1 }, function() assert(theirs_:count_down()) end)
      of:costs({ exists = 2, children = 1 }, function() assert(latch:wait()) end)
      of:costs({ exists = 1 }, function() assert(latch:wait(0)) end)
    end },
  { "latch: `count_down`", "1 read, 1 write; the first one 1 read and 1 write more", function(of)
    of.session:create("/up", "")
    local latch = of.session:latch("/up/l", 3)
    of:costs({ get = 2, create = 1, multi = 1 }, function() return latch:count_down() end)
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
      theirs(of, other, "wait")
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
    theirs(of, other, "leave")
    assert(mine:leave())
    theirs(of, other, "enter")
    of:costs(ENTER_LAST, function() assert(mine:enter()) end)
  end },
  { "double: `leave`", "2 writes, 1 listing, 2 reads; per member that is still inside 1 listing and 2 reads, one of which leaves a watch",
    function(of)
      local mine, other = of.session:double_barrier("/d", 2), of.other:double_barrier("/d", 2)
      for _ = 1, 2 do
        theirs(of, other, "enter")
        assert(mine:enter())
        of:costs({ delete = 2, children = 2, get = 4 }, function()
          of:start(function() assert(mine:leave()) end)
          of:settle()
          assert(other:leave())
        end)
        theirs(of, other, "enter")
        assert(mine:enter())
        theirs(of, other, "leave")
        of:costs({ delete = 2, children = 1, get = 2 }, function() assert(mine:leave()) end)
      end
    end },
}

-- ---- The queue ---------------------------------------------------------------------------------

-- A queue in which everything is made, with these items, and its session.
local function filled(of, items)
  local other = of.other:queue("/q")
  assert(other:put("0"))
  assert(assert(other:claim(5)):ack())
  for i = 1, #items do assert(other:put_all { items[i] }) end
  local queue = of.session:queue("/q")
  return queue, other
end

PAGES["recipes/queue.md"] = {
  { "put", "1 write; with a new bucket, one in a thousand: 1 write and 1 read more for each process that puts", function(of)
    local queue, other = filled(of, {})
    assert(queue:put("0"))
    for _ = 1, 3 do of:costs({ multi = 1 }, function() assert(queue:put("1")) end) end
    local list = {}
    for i = 1, 994 do list[i] = "x" end
    assert(other:put_all(list))
    of:costs({ multi = 1 + 1 }, function() assert(queue:put("1000")) end) -- it seals the bucket
    of:costs({ multi = 1, get = 1 }, function() assert(queue:put("1001")) end)
    of:costs({ multi = 1 }, function() assert(queue:put("1002")) end)
    assert(other:put_all(list))
    assert(other:put("1997"))
    assert(other:put("1998"))
    assert(other:put("1999"))
    assert(other:put("2000"))
    assert(other:put("2001")) -- it has sealed the bucket
    of:costs({ multi = 1 + 1, get = 1 }, function() assert(queue:put("2002")) end)
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
  { "put_all", "1 write for up to 100", function(of)
    local queue, list = filled(of, {}), {}
    assert(queue:put("0"))
    for i = 1, 100 do list[i] = tostring(i) end
    of:costs({ multi = 1 }, function() assert(queue:put_all(list)) end)
    list[101] = "101"
    of:costs({ multi = 2 }, function() assert(queue:put_all(list)) end)
  end },
  { "claim", "1 read, 1 write; the first one of a process 1 write more", function(of)
    local queue = filled(of, { "1", "2", "3" })
    local items = {}
    of:costs({ create = 1, exists = 1, children = 5 + 2, set = 1, get = 3, multi = 3 }, function() -- with a listing, the first one
      for i = 1, 3 do items[i] = assert(queue:claim(5)) end
    end)
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
  { "take", "1 read, 1 write; the first one of a process 1 write more", function(of)
    local queue = filled(of, { "1", "2", "3" })
    of:costs({ create = 1, exists = 1, children = 5 + 2, set = 1, get = 3, multi = 3 }, function() -- with a listing, the first one
      for _ = 1, 3 do assert(queue:take(5)) end
    end)
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
  { "go idle", "1 write for its place in the line of idle processes; 17 reads with one priority in use, when it is the first in line", function(of)
    local queue = filled(of, {})
    assert.is_nil((queue:claim(3)))
    of:wait({ create = 1, children = 10, exists = 6, get = 1 }, queue, "claim")
  end },
  { "wake an idle process", "8 reads, 1 write to leave the line, and the claim; one process is woken per put", function(of)
    local queue, other = filled(of, {})
    of:start(function() assert(queue:claim()) end)
    local third = of:another():queue("/q")
    of:settle()
    of:start(function() third:claim() end)
    of:settle()
    of:costs({ delete = 1, create = 1, exists = 3, children = 5, get = 1, multi = 1 }, function() assert(other:put("1")) end)
  end },
  { "size", "1 listing, 2 reads for delayed items, 2 reads per priority", function(of)
    local queue, other = filled(of, { "1" })
    of:costs({ children = 1, exists = 4 }, function() assert(queue:size()) end)
    assert(other:put("2", { priority = 7 }))
    of:costs({ children = 1, exists = 6 }, function() assert(queue:size()) end)
  end },
}

-- ---- The pages ---------------------------------------------------------------------------------

local function pages()
  local pipe = assert(io.popen("find docs -name '*.md'"))
  local names = {}
  for line in pipe:lines() do names[#names + 1] = line:match "^docs/(.*)$" end
  pipe:close()
  table.sort(names)
  return names
end

-- The rows of a page's tables under "## Costs": a list of { what, cost }.
local function rows_of(page)
  local file = assert(io.open("docs/" .. page))
  local text = file:read "*a"
  file:close()
  local section = (text .. "\n## "):match "\n## Costs\n(.-)\n## "
  local rows = {}
  for table_text in ((section or "") .. "\n"):gmatch "| | requests |\n|[- |]+\n(.-)\n\n" do
    for what, cost in (table_text .. "\n"):gmatch "| (.-) | (.-) |\n" do rows[#rows + 1] = { what, cost } end
  end
  return rows
end

local function case_of(page, what)
  for _, case in ipairs(PAGES[page] or {}) do
    if case[1] == what then return case end
  end
end

for _, page in ipairs(pages()) do
  local rows = rows_of(page)
  if #rows > 0 or PAGES[page] then
    describe("docs/" .. page .. ": what is counted is what is said of", function()
      for _, row in ipairs(rows) do
        it(row[1], function()
          local case = case_of(page, row[1])
          assert(case, "the row '" .. row[1] .. "' has no case here")
          assert.equal(case[2], row[2])
          with_world(case[3])
        end)
      end

      it("all that is counted here", function() assert.equal(#(PAGES[page] or {}), #rows) end)
    end)
  end
end
