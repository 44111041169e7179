-- A session is closed under a hundred waiters on a real server, in each state of its connection: all waits end, and no memory is left.

local zk = require "zkrecipes"
local env = require "spec.support.env"

-- Equally many waiters of each kind, all behind holds of another session.
local KINDS = {
  function(session) return session:lock("/l"):acquire() end,
  function(session) return session:lock("/u", { fair = false }):acquire() end,
  function(session) return session:semaphore("/s", 1):acquire() end,
  function(session) return session:await_gone("/e") end,
  function(session, i) return assert(session:watch("/e" .. i)):wait() end,
}

local function occupy(holder)
  assert(holder:create("/e", "", { ephemeral = true, parents = true }))
  return { assert(holder:lock("/l"):acquire()), assert(holder:lock("/u", { fair = false }):acquire()),
    assert(holder:semaphore("/s", 1):acquire()) }
end

-- The connection is up, or is broken, or some requests are still in flight.
local WAYS = {
  function(holder) env.queue_of(holder, "/l", 21) end,
  function(holder, session, proxy)
    env.queue_of(holder, "/l", 21)
    proxy:refuse()
    proxy:cut()
    env.eventually("the link is seen to be lost", function() return session.state == "suspended" end)
  end,
  function() zk.sleep(0) end,
}

local function wait_and_close(proxy, before)
  local namespace, waits = env.namespace(), {}
  local holder = env.session { namespace = namespace }
  local session, holds = env.session { hosts = proxy.hosts, namespace = namespace }, occupy(holder)
  for i = 1, 100 do
    waits[i] = env.start(function() return env.fails("closed", KINDS[i % #KINDS + 1](session, i)) end)
  end
  before(holder, session, proxy)
  session:close(0.1)
  for i = 1, 100 do waits[i]() end
  proxy:heal()
  for _, hold in ipairs(holds) do assert(hold:valid()) end
  holder:close()
end

env.run(function()
  local proxy, blocks = env.proxy(), nil
  for round = 1, 4 do
    for _, before in ipairs(WAYS) do wait_and_close(proxy, before) end
    if round == 1 then blocks = env.blocks() end
  end
  env.eventually("nothing is left", function() return env.blocks() <= blocks end)
end)()
