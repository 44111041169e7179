-- A load balancer whose upstreams are the instances of a registry. Each worker has a copy of the registry, so choosing an instance sends no
-- request to ZooKeeper and never waits.
--
-- 1. access_by_lua: wait until the service has an instance. Nearly always it has one.
-- 2. balancer_by_lua: pick an instance, and tell nginx its address.
-- 3. If nginx cannot connect to it, or gets no answer, nginx asks again: take the instance out for a while, and pick another one.
-- 4. log_by_lua: the last attempt may have failed too. nginx does not ask again then, so take that instance out here.
--
-- What can go wrong: ZooKeeper is away: the last known instances stay. A program dies: its znode stays until its session has ended, and
-- 3 keeps requests away from it. All programs lose their sessions in a long outage: each registers again when ZooKeeper is back, and 1
-- makes requests wait for the first one. All instances are out: the registry gives the one that will be back first.

local nginx = require "ngx.balancer"

local MORE_TRIES = 2 -- for a request, after its first
local UNUSABLE = 60 -- seconds

local balancer = { patience = 5 } -- seconds that a request waits until its service has an instance

local registry

-- Call it in init_worker_by_lua. Returns the registry.
function balancer.start(session, path)
  registry = assert(session:registry(path))
  return registry
end

-- For access_by_lua.
function balancer.await(service)
  local found, message = registry:await(service, 1, balancer.patience)
  if found then return end
  ngx.log(ngx.WARN, message)
  return ngx.exit(503)
end

-- An instance that nginx accepts: it has a port, and its address is an IP address. Names cannot be resolved here.
local function choose(service)
  for _ = 0, MORE_TRIES do
    local instance = assert(registry:pick(service))
    if instance.port and nginx.set_current_peer(instance.address, instance.port) then return instance end
    ngx.log(ngx.WARN, instance.path, " has no port or no IP address")
    instance:down(UNUSABLE)
  end
  error("no usable instance of " .. service)
end

-- For balancer_by_lua.
function balancer.balance(service)
  local request = ngx.ctx
  if nginx.get_last_failure() then
    request.instance:down()
  else
    nginx.set_more_tries(MORE_TRIES)
  end
  request.instance = choose(service)
end

-- For log_by_lua.
function balancer.finish()
  local status = (ngx.var.upstream_status or ""):match("%d+$") -- of the last attempt: "502, 200"
  local instance = ngx.ctx.instance
  if instance and (status == "502" or status == "504") then instance:down() end
end

package.loaded.balancer = balancer
return balancer
