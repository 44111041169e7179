-- Znodes in a recipe's directory that are named like contenders, but are not ephemeral, so they are no contenders. If no recipe would give
-- such a name, the znode is ignored. If a recipe would, the znode is in the way, and the error names it and says what to do.
-- Tags: sanitize

local env = require "spec.support.env"
local run, fails = env.run, env.fails

local UNUSUAL = { "x-lock-0000000000", "17-lock-0000000000", "_c_-lock-0000000000", "0123456789abcde-1-lock-0000000000",
  "0123456789abcdef-lock-0000000000", "0123456789ABCDEF-1-lock-0000000000", "a__WRIT__0000000000", "b-latch-0000000000",
  "c-rank-0000000000", "d__READ__0000000000" }
local USUAL = { "lock-0000000000", "0123456789abcdef-1-lock-0000000000",
  "_c_6f9b1a52-3f1e-4f0e-9d53-2c4a3c9f8f10-lock-0000000000", "_c_6f9b1a523f1e4f0e9d532c4a3c9f8f10-lock-0000000000",
  "__WRIT__0000000000", "latch-0000000000" }

describe("a znode that is named like a contender and is not ephemeral", function()
  local namespace, session, other
  before_each(function()
    namespace = env.namespace()
    session, other = env.session { namespace = namespace, timeout = 100 }, env.session { namespace = namespace, timeout = 100 }
  end)

  local function done()
    session:close()
    other:close()
  end

  local function litter(dir, names)
    for _, name in ipairs(names) do assert(other:create(dir .. "/" .. name, "", { parents = true })) end
  end

  it("is ignored by waiters and by tries if its name is unusual", run(function()
    litter("/l", UNUSUAL)
    local lock, theirs = session:lock("/l"), other:lock("/l")
    assert(lock:acquire(200)):release()
    env.queue_of(other, "/l", #UNUSUAL)
    assert(lock:acquire(0)):release()
    env.queue_of(other, "/l", #UNUSUAL)
    local hold = assert(theirs:acquire(0)) -- this session has not seen them before
    local wait = env.start(function() return lock:acquire(200) end)
    env.queue_of(other, "/l", #UNUSUAL + 2)
    fails("timeout", lock:acquire(0))
    hold:release()
    hold = assert(wait())
    assert.is_true(hold:valid())
    assert(hold:set("/l", "ours"))
    hold:release()
    done()
  end))

  it("is ignored by every recipe with a queue", run(function()
    assert(session:semaphore("/s", 2):acquire(200)):release() -- stores the limit
    for _, name in ipairs { "/rw", "/e", "/s", "/r" } do
      litter(name, { "x-lock-0000000000", "y__READ__0000000000", "z__WRIT__0000000000", "x-latch-0000000000", "x-rank-0000000000",
        "x-2-lease-0000000000" })
    end
    local rw = session:rwlock("/rw")
    local reader = assert(rw:read(200))
    assert(other:rwlock("/rw"):read(0)):release()
    fails("timeout", other:rwlock("/rw"):write(0))
    reader:release()
    assert(rw:write(200)):release()
    local election = session:election("/e", { value = "v" })
    local term = assert(election:campaign(200))
    assert.are.equal("v", election:leader().value)
    term:resign()
    local hold = assert(session:semaphore("/s", 2):acquire(200, 2))
    fails("timeout", other:semaphore("/s", 2):acquire(0))
    hold:release()
    assert(session:lock("/r", { reentrant = true }):acquire(200)):release()
    assert(session:lock("/r", { cohort = true }):acquire(200)):release()
    done()
  end))

  it("is reported to every caller, with the way to remove it, if its name is usual", run(function()
    for i, name in ipairs(USUAL) do
      local dir = "/l" .. i
      litter(dir, { name })
      for _ = 1, 3 do
        local message = fails("conflict", session:lock(dir):acquire(200))
        assert.matches(("the znode %s/%s is ahead and is not ephemeral"):format(dir, name), message, 1, true)
        assert.matches("delete it if no client uses it", message, 1, true)
      end
      fails("timeout", session:lock(dir):acquire(0))
      assert(other:delete(dir .. "/" .. name))
      assert(session:lock(dir):acquire(200)):release()
    end
    done()
  end))

  it("excludes contenders if it is ephemeral, whatever its name is", run(function()
    assert(other:create("/l/x-lock-0000000000", "", { ephemeral = true, parents = true }))
    local lock = session:lock("/l")
    fails("timeout", lock:acquire(0))
    local wait = env.start(function() return lock:acquire(200) end)
    env.queue_of(other, "/l", 2)
    assert(other:delete "/l/x-lock-0000000000")
    assert(wait()):release()
    done()
  end))

  it("excludes contenders if an ephemeral znode has replaced it", run(function()
    for _, limit in ipairs { 10, 0 } do
      local path = ("/l%d/x-lock-0000000000"):format(limit)
      assert(other:create(path, "", { parents = true }))
      local lock = session:lock(("/l%d"):format(limit))
      assert(lock:acquire(limit)):release()
      assert(other:multi { { "delete", path }, { "create", path, "", { ephemeral = true } } })
      assert(session:sync "/") -- now the event has come
      fails("timeout", lock:acquire(0))
      local wait = env.start(function() return lock:acquire(200) end)
      env.queue_of(other, ("/l%d"):format(limit), 2)
      assert(other:delete(path))
      assert(wait()):release()
    end
    done()
  end))

  it("is read again by a new session", run(function()
    litter("/l", { "x-lock-0000000000" })
    local lock = session:lock("/l")
    assert(lock:acquire(200)):release()
    local id = session.id
    assert(require("zkrecipes.testing").expire(env.server(), id))
    env.eventually("a new session", function() return session.id ~= id and session.state == "connected" end)
    assert(other:multi { { "delete", "/l/x-lock-0000000000" }, { "create", "/l/x-lock-0000000000", "", { ephemeral = true } } })
    assert(session:sync "/")
    fails("timeout", lock:acquire(0))
    local wait = env.start(function() return lock:acquire(200) end)
    env.queue_of(other, "/l", 2)
    assert(other:delete "/l/x-lock-0000000000")
    assert(wait()):release()
    done()
  end))

  -- kazoo's Lock, ReadLock and WriteLock count only each other, so kazoo and we would not exclude each other.
  it("is recognized if it is kazoo's: nothing is granted beside it, and the error names it", run(function()
    local tag = ("0123456789abcdef"):rep(2)
    for i, name in ipairs { tag .. "__lock__0000000012", tag .. "__rlock__0000000003" } do
      local dir = "/k" .. i
      local path = dir .. "/" .. name
      local rw, election = session:rwlock(dir), session:election(dir)
      assert(other:create(path, "", { ephemeral = true, parents = true }))
      for limit = 0, 200, 200 do
        for _, got in ipairs { { session:lock(dir):acquire(limit) }, { rw:read(limit) }, { rw:write(limit) },
          { election:campaign(limit) } } do
          local message = fails("conflict", got[1], got[2], got[3])
          assert.matches(("the znode %s belongs to kazoo"):format(path), message, 1, true)
          assert.matches("use different paths for kazoo and zkrecipes", message, 1, true)
        end
      end
      env.queue_of(other, dir, 1)
      assert(other:delete(path))
      assert(session:lock(dir):acquire(200)):release()
    end
    done()
  end))

  it("is not taken for kazoo's if its name differs", run(function()
    local tag = ("0123456789abcdef"):rep(2)
    litter("/l", { tag .. "__lock__", tag .. "__lock__000000001", "x" .. tag .. "__lock__0000000001", tag:upper() .. "__lock__0000000001",
      tag .. "__wlock__0000000001", "__lock__0000000001", tag:sub(2) .. "__lock__0000000001" })
    for limit = 0, 200, 200 do assert(session:lock("/l"):acquire(limit)):release() end
    done()
  end))

  it("is still waited for by session:await_gone, which says conflict", run(function()
    litter("/l", { "x-lock-0000000000" })
    assert(session:lock("/l"):acquire(200)):release()
    for _ = 1, 2 do assert.matches("not ephemeral", fails("conflict", session:await_gone("/l/x-lock-0000000000", 5))) end
    done()
  end))

  it("is ignored if there are hundreds of them", run(function()
    local names = {}
    for i = 1, 300 do names[i] = ("x%d-lock-0000000000"):format(i) end
    litter("/l", names)
    assert(session:lock("/l"):acquire(200)):release()
    done()
  end))
end)
