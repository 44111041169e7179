-- Many large writes through one session: requests behind them are served in time, also those of heartbeats and locks.

local zk = require "zkrecipes"
local env = require "spec.support.env"
local run = env.run

local COUNT, DATA = 400, ("x"):rep(100000)

-- Starts all sets at once. Returns a function that waits for them, and a function that returns how many are done.
local function set_all(session)
  assert(session:create("/d", "", { parents = true }))
  local waits, done = {}, 0
  for i = 1, COUNT do
    waits[i] = env.start(function()
      assert(session:set("/d", DATA))
      done = done + 1
    end)
  end
  return function()
    for i = 1, COUNT do waits[i]() end
  end, function() return done end
end

describe("many large writes at once", function()
  it("are not all on the wire", run(function()
    local proxy = env.proxy()
    local session = env.session { hosts = proxy.hosts, timeout = 100, request_timeout = 300 }
    local wait = set_all(session)
    proxy:freeze("down")
    zk.sleep(0)
    env.eventually("as many as may be are out", function() return proxy:sent().setData >= 40 end)
    zk.sleep(0.2) -- time for writes that must not be sent
    assert.are.equal(40, proxy:sent().setData)
    proxy:heal()
    wait()
    assert.are.equal(COUNT, proxy:sent().setData)
    session:close()
  end))

  it("keep the session connected and its hold valid, and a waiting acquire is granted", run(function()
    local namespace = env.namespace()
    local options = { namespace = namespace, timeout = 60, request_timeout = 300 }
    local session, other = env.session(options), env.session(options)
    local hold, theirs = assert(session:lock("/held"):acquire(200)), assert(other:lock("/l"):acquire(200))
    local wait, done, written
    local turn = env.start(function()
      local mine = session:lock("/l"):acquire(300)
      written = done()
      return mine
    end)
    env.queue_of(other, "/l", 2)
    assert(session:sync("/"))
    wait, done = set_all(session)
    zk.sleep(0)
    assert.are.equal(0, done())
    theirs:release()
    local mine = assert(turn())
    assert.is_true(written < COUNT, "the lock was waited for until all was written")
    wait()
    assert.is_true(hold:valid() and mine:valid())
    assert.are.equal("closed", (session:close() and session:next_state(2))) -- after connecting and connected
    other:close()
  end))
end)
