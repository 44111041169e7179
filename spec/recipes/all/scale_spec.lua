-- Ten thousand coroutines of one process wait for locks, while a ticker runs on time.

local zk = require "zkrecipes"
local core = require "zkrecipes.core"
local env = require "spec.support.env"

local COUNT = 10000

describe("ten thousand waiting coroutines", function()
  it("do not delay the host, cost less than 1 KiB of C memory each, and are all served", env.run(function()
    local namespace = env.namespace()
    local session = env.session { namespace = namespace, timeout = 110 }
    local blocker = env.session { namespace = namespace, timeout = 110 }
    local hold = assert(blocker:lock("/l"):acquire())
    local lock = session:lock("/l")
    assert(session:connected(200))

    -- CPU time shows what the library took from a tick; the clock includes what other processes took.
    local worst, busiest, ticking = 0, 0, true
    local ticker = zk.spawn(function()
      while ticking do
        local before, used = zk.now(), os.clock()
        zk.sleep(0.001)
        worst = math.max(worst, zk.now() - before - 0.001)
        busiest = math.max(busiest, os.clock() - used)
      end
    end)

    local bytes, served = core.alloc_bytes(), 0
    local from = zk.now()
    local tasks = {}
    for i = 1, COUNT do
      tasks[i] = zk.spawn(function()
        local mine = assert(lock:acquire(env.limit))
        served = served + 1
        mine:release()
      end)
      if i % 100 == 0 then
        zk.sleep(0) -- so that the ticker measures the waiters, not this loop
      end
    end
    env.queue_of(blocker, "/l", COUNT + 1)
    -- All answers have come when only the waiting tasks are left.
    local each
    env.eventually("all are parked", function()
      assert(session:sync("/"))
      each = (core.alloc_bytes() - bytes) / COUNT
      return each < 1024
    end)
    local parked = zk.now() - from

    zk.sleep(0.2)
    ticking = false
    ticker:wait()
    print(string.format("\n  %d waiters: parked after %.2f s, %.0f bytes of C each, the 1 ms ticker's worst stall %.1f ms",
      COUNT, parked, each, worst * 1000))
    assert.is_true(each < 1024)
    assert.is_true(busiest < 0.25, "between two beats the CPU was busy for " .. busiest)

    from = zk.now()
    hold:release()
    for i = 1, COUNT do
      tasks[i]:wait()
    end
    print(string.format("  all served after %.2f s, %.0f us per hand-off", zk.now() - from, (zk.now() - from) / COUNT * 1e6))
    assert.are.equal(COUNT, served)
    env.queue_of(blocker, "/l", 0)
    session:close()
    blocker:close()
  end))
end)
