-- What a lock tells of its queue.

local env = require "spec.support.env"
local run = env.run

describe("a lock", function()
  it("tells what its waiting attempts know of the queue", run(function()
    local session = env.session()
    local lock = session:lock("/l")
    assert.are.same({}, lock:attempts())
    local hold = assert(lock:acquire())
    assert.are.same({}, lock:attempts())
    local waits = {}
    for i = 1, 2 do
      waits[i] = env.start(function() return lock:acquire(10) end)
      env.queue_of(session, "/l", i + 1)
    end
    env.eventually("both know their place", function()
      local all = lock:attempts()
      return all[1].ahead == 1 and all[2].ahead == 2 and all[1].since <= all[2].since
    end)
    hold:release()
    for i = 1, 2 do assert(waits[i]()):release() end
    assert.are.same({}, lock:attempts())
  end))

  it("tells who contends, in queue order", run(function()
    local session = env.session()
    local hold = assert(session:lock("/l", { data = "first\0binary" }):acquire())
    local wait = env.start(function() return session:lock("/l", { data = "second" }):acquire() end)
    env.queue_of(session, "/l", 2)
    local all = assert(session:lock("/l"):contenders())
    assert.are.equal(2, #all)
    assert.are.same({ "first\0binary", true, hold.token }, { all[1].data, all[1].holding, all[1].token })
    assert.are.same({ "second", false }, { all[2].data, all[2].holding })
    assert.are.same({ session.id, false }, { all[2].session, all[2].shared })
    assert.is_true(math.abs(all[1].since - os.time()) < 60)
    hold:release()
    wait():release()
    assert.are.same({}, session:lock("/nobody"):contenders())
  end))
end)
