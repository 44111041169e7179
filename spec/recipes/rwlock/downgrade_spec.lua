-- hold:downgrade on a real server: the writer becomes a reader, and no other writer holds in between.
-- Tags: sanitize

local zk = require "zkrecipes"
local env = require "spec.support.env"
local run, fails, raises = env.run, env.fails, env.raises

-- Starts a wait and returns when the queue has this many contenders.
local function queued(session, number, acquire, lock, ...)
  local wait, task = env.start(acquire, lock, ...)
  env.queue_of(session, lock.path, number)
  return wait, task
end

describe("hold:downgrade", function()
  local namespace, session, other
  before_each(function()
    namespace = env.namespace()
    session, other = env.session { namespace = namespace }, env.session { namespace = namespace }
  end)
  after_each(function()
    session:close()
    other:close()
  end)

  it("admits the readers behind it at once, and no writer", run(function()
    local rw, theirs = session:rwlock("/rw"), other:rwlock("/rw")
    local hold = assert(rw:write())
    local token, path = hold.token, hold.path
    local waits, wrote = {}, false
    for i, one in ipairs { rw, theirs, theirs } do waits[i] = queued(session, i + 1, one.read, one) end
    local writer = queued(session, 5, function(one)
      local mine = assert(one:write())
      wrote = true
      return mine
    end, theirs)
    local last = queued(session, 6, rw.read, rw)
    assert.is_true(hold:downgrade())
    local readers = { waits[1](), waits[2](), waits[3]() } -- while the former writer still holds
    assert.are.same({ true, true, token, path }, { hold.shared, hold:valid(), hold.token, hold.path })
    fails("timeout", session:rwlock("/rw"):read(0))
    assert.is_false(wrote)
    for i = 1, 3 do readers[i]:release() end
    env.queue_of(session, "/rw", 3)
    env.late(session:rwlock("/rw"):write(0.05))
    assert.is_false(wrote)
    hold:release()
    writer():release()
    last():release()
  end))

  it("admits later readers, also readers that only try", run(function()
    local hold = assert(session:rwlock("/rw"):write())
    hold:downgrade()
    for _, from in ipairs { session, other } do
      local rw = from:rwlock("/rw")
      assert(rw:read(0)):release()
      assert(rw:read(200)):release()
      fails("timeout", rw:write(0))
    end
    fails("timeout", other:lock("/rw"):acquire(0))
    hold:release()
    assert(other:rwlock("/rw"):write(200)):release()
  end))

  it("keeps the data, whatever they are", run(function()
    for _, data in ipairs { "", "who", "nul\0", "__SHARED__0000000000000000", "__SHARED__0000000000000000:x", false } do
      local rw = session:rwlock("/rw", { data = data or nil })
      local hold = assert(rw:write())
      fails("timeout", other:rwlock("/rw"):read(0)) -- none of them is taken for the mark
      assert(hold:downgrade())
      local all = assert(other:rwlock("/rw"):contenders())
      assert.are.same({ data or nil, true, true }, { all[1].data, all[1].shared, all[1].holding })
      hold:release()
    end
  end))

  it("survives a foreign write into the node, if the mark is written again", run(function()
    local hold = assert(session:rwlock("/rw", { data = "who" }):write())
    hold:downgrade()
    local marked = assert(session:get(hold.path))
    assert(session:set(hold.path, "__REVOKE__"))
    fails("timeout", other:rwlock("/rw"):read(0))
    local rw = other:rwlock("/rw")
    local wait = queued(session, 2, rw.read, rw)
    assert(session:set(hold.path, marked))
    assert(wait()):release()
    hold:release()
  end))

  it("changes nothing for a reader, and may be repeated", run(function()
    local hold = assert(session:rwlock("/rw"):read())
    assert.is_true(hold:downgrade())
    assert.is_nil((session:get(hold.path)))
    hold:release()
    hold = assert(session:rwlock("/rw"):write())
    assert.is_true(hold:downgrade())
    assert.is_true(hold:downgrade())
    hold:release()
  end))

  it("is only for valid holds of a read/write lock", run(function()
    local hold = assert(session:lock("/rw"):acquire())
    raises("downgrade_spec.lua:%d+: .*only a hold of a read/write lock", function() hold:downgrade() end)
    hold:release()
    hold = assert(session:rwlock("/rw"):write())
    assert(session:delete(hold.path))
    fails("lost", hold:downgrade())
    assert.are.same({ false, false }, { hold:valid(), hold.shared })
    fails("lost", hold:downgrade())
    hold = assert(session:rwlock("/rw"):write())
    hold:release()
    raises("downgrade_spec.lua:%d+: .*the hold was released", function() hold:downgrade() end)
  end))

  it("continues in the background if its coroutine is canceled", run(function()
    local hold = assert(session:rwlock("/rw"):write())
    local theirs = other:rwlock("/rw")
    local ours = session:rwlock("/rw")
    local waits = { queued(session, 2, ours.read, ours), queued(session, 3, theirs.read, theirs) }
    local task = zk.spawn(function() hold:downgrade() end)
    zk.spawn(function() task:cancel() end)
    waits[1]():release()
    waits[2]():release()
    assert.is_true(hold.shared)
    hold:release()
  end))

  it("is certain if it is called again after a cancellation", run(function()
    local hold = assert(session:rwlock("/rw"):write())
    local task = zk.spawn(function() hold:downgrade() end)
    zk.sleep(0)
    task:cancel()
    assert.is_true(hold:downgrade())
    assert.is_true(hold.shared)
    assert(other:rwlock("/rw"):read(200)):release()
    hold:release()
  end))

  it("leaves nothing if a release overtakes it", run(function()
    for _ = 1, 50 do
      local hold = assert(session:rwlock("/rw"):write())
      local wait = env.start(function() return hold:downgrade() end)
      zk.sleep(0)
      hold:release()
      local ok, _, code = wait()
      assert.is_true(ok or code == "lost")
    end
    env.queue_of(session, "/rw", 0)
  end))

  it("keeps the guard of its writes", run(function()
    assert(session:create("/register", "0"))
    local hold = assert(session:rwlock("/rw"):write())
    hold:downgrade()
    assert(hold:set("/register", "1"))
    assert(session:delete(hold.path))
    fails("lost", hold:set("/register", "2"))
    assert.are.equal("1", (session:get("/register")))
  end))
end)
