-- Ten thousand time limits pass at the same moment. They end all attempts and sleeps, and leave nothing.

local env = require "spec.support.env"
local sim = require "zkrecipes.sim"

local world = sim.new { seed = 1, servers = 1, jitter = 0 }

world:run(function()
  local holder, host = world:session(), world:process()
  local session = host.session { timeout = 30 }
  local lock, hold = session:lock("/l"), assert(holder:lock("/l"):acquire())
  assert(lock:acquire(0) == nil) -- connected
  world:advance(1)
  local until_when, ended, slept = host.now() + 30, {}, 0
  local function once(of)
    for _ = 1, 10000 do host.spawn(of) end
    world:advance(60)
  end
  local function attempt()
    local got, _, code = lock:acquire(until_when - host.now())
    ended[code or got] = (ended[code or got] or 0) + 1
    assert(math.abs(host.now() - until_when) < 0.001)
  end
  once(attempt)
  assert(ended.timeout == 10000)
  assert(#world:children("/l") == 1)
  assert(hold:valid())
  env.leaves_nothing(function()
    until_when = host.now() + 30
    once(attempt)
    assert(ended.timeout == 20000 and next(ended, "timeout") == nil)
  end)
  once(function() host.sleep(30) slept = slept + 1 end)
  assert(slept == 10000)
  hold:release()
  assert(lock:acquire(1)):release()
end)
