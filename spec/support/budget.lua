-- Budgets: requests on the wire, counted by a proxy between client and server. They do not include heartbeats, pings, and the requests that
-- remove a watch a second after its last use (spec/unit/budget_spec.lua counts those). A budget is exact: one request more or less is a
-- failure.

local env = require "spec.support.env"
local zk = require "zkrecipes"

local Budget = {}
Budget.__index = Budget

-- Names that are not counted: what the client sends by itself, and counters that are not requests.
local APART = {}
for name in ("requests replies events connections bytes_up bytes_down ping heartbeat removeWatches connect"):gmatch("%S+") do
  APART[name] = true
end

---Two sessions in a namespace in which this directory exists: `session` goes through `proxy`, `other` does not.
function Budget.start(path, data)
  local namespace, proxy = env.namespace(), env.proxy()
  local budget = setmetatable({ proxy = proxy, namespace = namespace, others = {} }, Budget)
  budget.session = env.session { hosts = proxy.hosts, namespace = namespace, timeout = 100, request_timeout = 100 }
  budget.other = env.session { namespace = namespace, timeout = 100, request_timeout = 100 }
  assert(budget.session:create(path, data, { parents = true }))
  assert(budget.other:connected(200))
  proxy:reset()
  return budget
end

-- The requests since the last call, by name.
function Budget:spent()
  assert(self.session:sync("/elsewhere")) -- when it is answered, everything before it has arrived
  local requests = {}
  for name, count in pairs(self.proxy:sent()) do
    if not APART[name] and count > 0 then requests[name] = count end
  end
  requests.sync = requests.sync > 1 and requests.sync - 1 or nil
  self.proxy:reset()
  return requests
end

-- Checks that fn() takes one round trip. fn returns a function to run afterwards, or nothing. The proxy delays each way by 50 ms, so one
-- round trip takes 100 ms and two take 200 ms. The machine may be busy at times.
function Budget:one_round_trip(fn)
  local best, deadline = 1, zk.now() + 300
  self.proxy:delay(50)
  repeat
    local from = zk.now()
    local after = fn()
    best = math.min(best, zk.now() - from)
    if after then after() end
  until best < 0.19 or zk.now() > deadline
  self.proxy:heal()
  assert(best >= 0.1 and best < 0.19, "took " .. best)
end

---One more session that is not counted.
function Budget:another()
  local session = env.session { namespace = self.namespace, timeout = 100, request_timeout = 100 }
  self.others[#self.others + 1] = session
  return session
end

function Budget:stop()
  self.session:close()
  self.other:close()
  for _, session in ipairs(self.others) do session:close() end
end

return Budget
