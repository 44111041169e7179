-- A server that ends a session writes the paths of all its ephemeral znodes into one transaction. If that is too long, the
-- server dies. So a session has room for 1,200,000 bytes of such paths.
-- Tags: sanitize

local testing = require "zkrecipes.testing"
local env = require "spec.support.env"
local run, fails = env.run, env.fails

local LONG = "/" .. ("x"):rep(20000) -- there is room for fifty-nine of them

describe("the ephemeral znodes of a session", function()
  local session, other
  before_each(function()
    local namespace = env.namespace()
    session, other = env.session { namespace = namespace, timeout = 20 }, env.session { namespace = namespace, timeout = 20 }
  end)
  after_each(function()
    session:close()
    other:close()
  end)

  it("are refused if their paths are too long together: contenders", run(function()
    local lock, full, over = session:lock(LONG), 0, {}
    local hold = assert(lock:acquire())
    for i = 1, 70 do
      over[i] = env.start(function()
        local got, message, code = lock:acquire()
        if code == "full" then
          full = full + 1
          assert.matches("ephemeral", message)
        end
        return got
      end)
    end
    env.eventually("twelve are refused", function() return full == 12 end)
    env.queue_of(other, LONG, 59)
    lock:cancel()
    for i = 1, 70 do over[i]() end
    env.queue_of(other, LONG, 1)
    assert.are.equal(12, full)
    for _ = 1, 3 do env.late(lock:acquire(0.2)) end
    hold:release()
    for _ = 1, 100 do assert(lock:acquire()):release() end
  end))

  it("are refused if their paths are too long together: all other znodes", run(function()
    local paths = {}
    repeat
      local path, message, code = session:create(LONG .. #paths .. "-", "", { ephemeral = true, sequential = #paths % 2 == 0 })
      if not path then fails("full", path, message, code) end
      paths[#paths + 1] = path
    until not path
    assert.are.equal(59, #paths)
    fails("full", session:multi { { "create", LONG, "", { ephemeral = true } } })
    fails("full", session:lock(LONG):acquire(200))
    assert(session:create(LONG, ""))
    assert(session:delete(LONG))
    assert(session:delete(paths[7]))
    for _ = 1, 3 do fails("no_node", session:create(LONG .. "/y", "", { ephemeral = true })) end -- frees its room again
    assert(session:multi { { "create", LONG, "", { ephemeral = true } } })
    fails("full", session:create(paths[7], "", { ephemeral = true }))
    assert(session:multi { { "delete", LONG } })
    assert(session:lock(LONG):acquire(200)):release()
  end))

  it("of a session that is over make room for znodes of the next session", run(function()
    for _ = 1, 2 do
      for i = 1, 59 do assert(session:create(LONG .. i, "", { ephemeral = true })) end
      fails("full", session:create(LONG, "", { ephemeral = true }))
      local id = session.id
      assert(testing.expire(env.server(), id))
      env.eventually("there is another session", function() return session.id ~= id and session.state == "connected" end)
    end
  end))
end)
