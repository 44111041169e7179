-- The read/write lock on a real server without faults. spec/faults has the faults.
-- Tags: sanitize

local collect = require "spec.support.collect"
local zk = require "zkrecipes"
local env = require "spec.support.env"
local run, fails, raises = env.run, env.fails, env.raises

-- Starts a wait and returns when the queue has this many contenders.
local function queued(session, number, acquire, lock, ...)
  local wait, task = env.start(acquire, lock, ...)
  env.queue_of(session, lock.path, number)
  return wait, task
end

describe("a read/write lock", function()
  it("has many readers or one writer", run(function()
    local namespace = env.namespace()
    local session, other = env.session { namespace = namespace }, env.session { namespace = namespace }
    local rw, theirs = session:rwlock("/rw"), other:rwlock("/rw")
    local one, two, three = assert(rw:read(200)), assert(rw:read(0)), assert(theirs:read(200))
    assert.matches("^/rw/%x+%-%d+%-__READ__%d%d%d%d%d%d%d%d%d%d$", one.path)
    assert.are.same({ true, true, true }, { one.shared, two.shared, three.shared })
    fails("timeout", session:rwlock("/rw"):write(0))
    fails("timeout", other:rwlock("/rw"):write(0))
    one:release()
    two:release()
    three:release()
    local hold = assert(session:rwlock("/rw"):write(200))
    assert.matches("^/rw/%x+%-%d+%-__WRIT__%d%d%d%d%d%d%d%d%d%d$", hold.path)
    assert.is_false(hold.shared)
    fails("timeout", rw:read(0))
    fails("timeout", theirs:read(0))
    env.late(theirs:write(0.02))
    hold:release()
    env.queue_of(session, "/rw", 0)
    other:close()
  end))

  it("is fair: a reader does not overtake a writer that came before it", run(function()
    local namespace, order = env.namespace(), {}
    local session, other = env.session { namespace = namespace }, env.session { namespace = namespace }
    local first = assert(session:rwlock("/rw"):read())
    local waits = {}
    for i, way in ipairs { "write", "read", "read", "write", "read" } do
      local rw = (i % 2 == 0 and session or other):rwlock("/rw")
      waits[i] = queued(session, i + 1, function()
        local hold = assert(rw[way](rw))
        order[#order + 1] = way .. (way == "write" and i or "")
        zk.sleep(0.01)
        hold:release()
      end, rw)
    end
    fails("timeout", session:rwlock("/rw"):read(0))
    assert.are.same({}, order)
    first:release()
    for i = 1, #waits do waits[i]() end
    assert.are.same({ "write1", "read", "read", "write4", "read" }, order)
    other:close()
  end))

  it("admits a writer although readers come all the time", run(function()
    local session = env.session()
    local reading, done, readers = 0, false, {}
    for i = 1, 5 do
      readers[i] = env.start(function()
        local rw = session:rwlock("/rw")
        while not done do
          local hold = assert(rw:read())
          reading = reading + 1
          zk.sleep(0.002 * i)
          reading = reading - 1
          hold:release()
        end
      end)
    end
    local writer = session:rwlock("/rw"):writer()
    for _ = 1, 20 do
      writer:with(300, function()
        assert.are.equal(0, reading)
        zk.sleep(0.001)
        assert.are.equal(0, reading)
      end)
    end
    done = true
    for i = 1, 5 do readers[i]() end
  end))

  it("excludes conflicting contenders of all sessions, also plain locks", run(function()
    local namespace, waits = env.namespace(), {}
    local reading, writing, tokens = 0, 0, {}
    local function use(lock, shared)
      local hold = assert(lock:acquire(300))
      reading, writing = reading + (shared and 1 or 0), writing + (shared and 0 or 1)
      assert.is_true(writing == 0 or writing == 1 and reading == 0)
      if not shared then tokens[#tokens + 1] = hold.token end
      zk.sleep(math.random() * 0.002)
      assert.is_true(writing == 0 or writing == 1 and reading == 0)
      if lock.way == "write" and math.random(3) == 1 then
        reading, writing = reading + 1, writing - 1
        assert(hold:downgrade())
        zk.sleep(math.random() * 0.002)
        assert.are.equal(0, writing)
        shared = true
      end
      reading, writing = reading - (shared and 1 or 0), writing - (shared and 0 or 1)
      hold:release()
    end
    for i = 1, 9 do
      local session = env.session { namespace = namespace }
      waits[i] = env.start(function()
        local rw = session:rwlock("/rw")
        local locks = { rw:reader(), rw:writer(), session:lock("/rw") }
        for _ = 1, 30 do
          local kind = math.random(6)
          use(locks[math.max(kind - 3, 1)], kind <= 4)
        end
        session:close()
      end)
    end
    for i = 1, #waits do assert.is_nil(select(2, waits[i]())) end
    for i = 2, #tokens do assert.is_true(tokens[i] > tokens[i - 1]) end
  end))

  it("takes a plain lock on its path for a writer", run(function()
    local session = env.session()
    local rw, lock = session:rwlock("/rw"), session:lock("/rw")
    local hold = assert(lock:acquire())
    fails("timeout", rw:read(0))
    fails("timeout", rw:write(0))
    hold:release()
    local reader = assert(rw:read())
    fails("timeout", lock:acquire(0))
    local wait = queued(session, 2, lock.acquire, lock)
    fails("timeout", rw:read(0)) -- behind it
    reader:release()
    hold = assert(wait())
    assert.are.same({ false, true }, { hold.shared, hold:valid() })
    hold:release()
  end))

  it("leaves no node if a wait times out or is canceled, and serves the contenders behind it", run(function()
    local session = env.session()
    local rw, writer, reader = session:rwlock("/rw"), session:rwlock("/rw"), session:rwlock("/rw")
    local hold = assert(rw:read())
    local waits = { queued(session, 2, writer.write, writer), queued(session, 3, reader.read, reader) }
    assert.are.same({ 1, 1 }, { #writer:attempts(), #reader:attempts() })
    assert.are.equal(1, writer:cancel())
    fails("canceled", waits[1]())
    assert(waits[2]()):release() -- the first reader still reads
    env.late(writer:write(0.02))
    hold:release()
    env.queue_of(session, "/rw", 0)
  end))

  it("lists the contenders", run(function()
    local session = env.session()
    local rw, writer = session:rwlock("/rw", { data = "r" }), session:rwlock("/rw", { data = "w" })
    local one, two = assert(rw:read()), assert(rw:read())
    local waits = { queued(session, 3, writer.write, writer), queued(session, 4, rw.read, rw) }
    local seen = {}
    for i, who in ipairs(assert(rw:contenders())) do
      seen[i] = table.concat({ who.data, tostring(who.holding), tostring(who.shared) }, " ")
    end
    assert.are.same({ "r true true", "r true true", "w false false", "r false true" }, seen)
    one:release()
    two:release()
    waits[1]():release()
    waits[2]():release()
  end))

  it("shares its queue with Curator's contenders", run(function()
    local session = env.session()
    local rw = session:rwlock("/rw")
    local function curators(word, number)
      local path = ("/rw/_c_8b4e0ad3-7e3c-4a51-a4e2-0c52e1c3f7d%d-__%s__%010d"):format(number, word, number)
      return assert(session:create(path, "10.0.0.1", { ephemeral = true, parents = true }))
    end
    assert(session:create("/rw", nil, { parents = true }))
    for i = 1, 3 do assert(session:delete((session:create("/rw/x" .. i, nil)))) end -- so the counter grows
    local theirs = curators("WRIT", 1)
    fails("timeout", rw:read(0))
    local wait = queued(session, 2, rw.read, rw)
    assert(session:delete(theirs))
    local hold = assert(wait())
    hold:release()
    theirs = curators("READ", 2)
    assert(rw:read(0)):release()
    fails("timeout", rw:write(0))
    wait = queued(session, 2, rw.write, rw)
    assert(session:delete(theirs))
    assert(wait()):release()
  end))

  it("has a reader and a writer that are locks", run(function()
    local session = env.session()
    local rw = session:rwlock("/rw")
    local reader, writer = rw:reader(), rw:writer()
    assert.are.same({ "/rw", "/rw" }, { reader.path, writer.path })
    assert.are.equal(session, writer.session)
    assert.are.same({ true, "x" }, { reader:with(200, function(hold) return hold.shared, "x" end) })
    assert.is_false(writer:with(function(hold) return hold.shared end))
    raises("rwlock_spec.lua:%d+: calling 'acquire' on a bad self", function() writer.acquire(1) end)
    raises("rwlock_spec.lua:%d+: calling 'reader' on a bad self", function() rw.reader() end)
    raises("rwlock_spec.lua:%d+: calling 'read' on a bad self", function() rw.read(1) end)
    fails("timeout", reader:with(200, function() return session:rwlock("/rw"):writer():acquire(0) end))
    assert.are.same({}, session:children("/rw"))
  end))
end)

describe("a read/write lock's", function()
  it("reader and writer each know and cancel their own attempts", run(function()
    local session, waits = env.session(), {}
    local rw, other = session:rwlock("/rw"), session:rwlock("/rw")
    local reader, writer, hold = rw:reader(), rw:writer(), assert(other:write(200))
    assert.are.same({ {}, {} }, { reader:attempts(), writer:attempts() })
    for i, start in ipairs { reader, writer, reader, other:writer() } do
      waits[i] = env.start(start.acquire, start)
      env.queue_of(session, "/rw", i + 1)
    end
    waits[5] = env.start(rw.read, rw)
    env.queue_of(session, "/rw", 6)
    local function ahead(object)
      local list = {}
      for i, attempt in ipairs(object:attempts()) do list[i] = tostring(attempt.ahead) end
      return table.concat(list, " ")
    end
    env.eventually("all know their place", function()
      return ahead(reader) == "1 3 5" and ahead(writer) == "2" and ahead(rw) == "1 2 3 5" and ahead(other:writer()) == "4"
    end)
    assert.are.same({ 6, 6 }, { #reader:contenders(), #writer:contenders() })
    assert.are.equal(3, reader:cancel())
    for _, i in ipairs { 1, 3, 5 } do fails("canceled", waits[i]()) end
    assert.are.equal("", ahead(reader))
    env.eventually("the writer has looked again", function() return ahead(writer) == "1" end)
    assert.are.equal(0, reader:cancel())
    assert.are.equal(1, writer:cancel())
    fails("canceled", waits[2]())
    hold:release()
    assert(waits[4]()):release()
    raises("rwlock_spec.lua:%d+: .*bad self", function() reader.cancel(rw) end)
  end))

  it("holder may read again as a reader; any other second acquire would wait for itself and is refused", run(function()
    local session = env.session()
    local rw = session:rwlock("/rw")
    local hold = assert(rw:read())
    raises("rwlock_spec.lua:%d+: rwlock:write /rw: this coroutine holds the lock for reading and would wait for itself; " ..
      "release it first", function() rw:write() end)
    raises("would wait for itself", function() rw:writer():acquire(0) end)
    assert(rw:read()):release()
    hold:release()
    hold = assert(rw:write(0))
    raises("rwlock:read /rw: this coroutine holds the lock for writing .*downgrade", function() rw:read() end)
    raises("rwlock:write /rw: this coroutine holds the lock for writing", function() rw:write() end)
    hold:downgrade()
    assert(rw:read(200)):release()
    raises("for reading", function() rw:write() end)
    hold:release()
    assert(rw:write(200)):release()
  end))

  it("holder does not keep another coroutine from waiting", run(function()
    local session = env.session()
    local rw = session:rwlock("/rw")
    local hold = assert(rw:read())
    local wait = queued(session, 2, rw.write, rw)
    hold:release()
    local theirs = assert(wait())
    fails("timeout", rw:read(0)) -- the other coroutine holds it
    theirs:release()
  end))

  it("holder is forgotten with the hold", run(function()
    local session = env.session()
    local rw = session:rwlock("/rw")
    do
      assert(rw:read())
    end
    collect(2)
    assert(rw:write(200)):release()
    local lost = assert(rw:read())
    assert(session:delete(lost.path))
    fails("lost", lost:set("/rw", "x"))
    assert(rw:write(200)):release()
  end))
end)

describe("a released read/write lock", function()
  it("leaves nothing: no node, no memory", function() env.alone "rwlock" end)
end)
