-- The load balancer of examples/openresty, in a real nginx: its upstreams are the instances of a registry. They come and go under load,
-- they fail, and ZooKeeper is away for longer than sessions last.
--
-- The instances are servers of the same nginx. One that has left still answers, so a request that it should not get is seen.

local env = require "spec.support.env"
local nginx = require "spec.support.nginx"
local process = require "spec.support.process"
local socket = require "socket"
local supervisor = require "zkrecipes.testing.supervisor"
local testing = require "zkrecipes.testing"
local zk = require "zkrecipes"

local LIMIT = 200
local A_WHILE = 0.05 -- seconds: a beat of a worker that takes longer tells of a busy machine

-- Each worker beats: it asks the server something again and again, and adds up by how much the answers were late. Whatever delays a
-- worker, its threads or the server delays beats as well.
local HTTP = [[
  lua_shared_dict seen 1m;
  init_worker_by_lua_block {
    zk = require "zkrecipes"
    seen = ngx.shared.seen
    session = zk.shared { hosts = "%s", timeout = %d, tick = 0.5, namespace = "%s", request_timeout = 200 }
    package.path = "%s/examples/openresty/?.lua;" .. package.path
    require("balancer").patience = 200
    services = require("balancer").start(session, "/services")
    zk.spawn(function()
      for state in session:states() do
        if state == "lost" then seen:incr("lost", 1, 0) end
      end
    end)
    zk.spawn(function()
      while true do
        local from = zk.now()
        session:exists("/beat")
        seen:set("known:" .. ngx.worker.pid(), #services:instances("web"))
        zk.sleep(0.01)
        seen:incr("late", math.max(zk.now() - from - %s, 0), 0)
        seen:set("beat:" .. ngx.worker.pid(), from)
      end
    end)
  }
  %s
]]

local BACKEND = [[
  server {
    listen 127.0.0.1:%d;
    location / { content_by_lua_block {
      seen:incr("hits:%d", 1, 0)
      seen:set("last:%d", zk.now())
      ngx.say("%d")
    } }
  }
]]

local FAILING = [[
  server { listen 127.0.0.1:%d; location / { return 444; } }
]]

local SERVER = [[
  location = /seen { content_by_lua_block { ngx.print(seen:get(ngx.var.arg_key) or 0) } }
]]

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

describe("the load balancer", function()
  local it_runs, session, port, load, server, registered

  -- One nginx with the example's balancer on `port`, and with a backend on each of these ports.
  local function start(options)
    local namespace, root = env.namespace(), process.output("pwd")
    port, registered = supervisor.ports(1)[1], {}
    session = env.session { namespace = namespace, hosts = options.hosts, timeout = options.timeout }
    local more = { (read("examples/openresty/balancer.conf"):gsub("127.0.0.1:8081", "127.0.0.1:" .. port)) }
    for _, backend in ipairs(options.backends) do more[#more + 1] = BACKEND:format(backend, backend, backend, backend) end
    for _, failing in ipairs(options.failing or {}) do more[#more + 1] = FAILING:format(failing) end
    it_runs = nginx.start { workers = options.workers, server = SERVER, http = HTTP:format(options.hosts or env.server().hosts,
      options.timeout or 60, namespace, root, A_WHILE, table.concat(more)) }
  end

  after_each(function()
    if load then process.output("kill -KILL " .. load) end
    it_runs:stop()
    session:close()
    if server then server:stop() end
    load, server = nil, nil
  end)

  local function seen(key) return tonumber((select(2, it_runs:get("/seen?key=" .. key)))) end

  -- Waits for it without blocking the sessions of this process.
  local eventually = env.eventually

  local function register(registry, at)
    local registration = assert(registry:register("web", { id = "web-" .. at, address = "127.0.0.1", port = at }))
    assert(registration:ready(LIMIT))
    registered[#registered + 1] = registration -- one that is collected leaves
    return registration
  end

  local function all_know(count)
    for _, pid in ipairs(it_runs:workers()) do
      eventually("a worker knows " .. count, function() return seen("known:" .. pid) == count end)
    end
  end

  -- How late the beats were, all that began before now included.
  local function lateness()
    local now = zk.now()
    for _, pid in ipairs(it_runs:workers()) do
      eventually("a worker beats", function() return seen("beat:" .. pid) > now end)
    end
    return seen("late")
  end

  -- A request to the balancer: status and body.
  local function ask(method)
    local connection = assert(socket.connect("127.0.0.1", port))
    connection:send((method or "GET") .. " /web/x HTTP/1.0\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
    return nginx.answer(connection, LIMIT)
  end

  -- Eight clients, which send the next request some milliseconds after each answer, until they are stopped.
  local function start_load()
    local script, out = it_runs.dir .. "/load.lua", it_runs.dir .. "/load.out"
    local file = assert(io.open(script, "w"))
    file:write("function delay() return math.random(0, 10) end\n")
    file:close()
    load = process.output(("wrk -t1 -c8 -d3600 --timeout 600 -H 'Connection: close' -s %s http://127.0.0.1:%d/web/x >%s 2>&1 & echo $!")
      :format(script, port, out))
  end

  -- Returns the number of requests; fails if one of them has failed.
  local function stop_load()
    process.output("kill -INT " .. load)
    eventually("the clients have ended", function() return not process.runs(load) end)
    load = nil
    local said = it_runs:read("load.out")
    local count = tonumber(said:match("(%d+) requests in"))
    assert(count and not said:find("Non%-2xx") and not said:find("Socket errors"), said .. it_runs:log())
    return count
  end

  local function meets(at) eventually("a request for " .. at, function() return seen("hits:" .. at) > 0 end) end

  it("sends no request to an instance that had left a second ago, and fails none, while instances come and go", env.run(function()
    local ports = supervisor.ports(5)
    start { workers = 2, backends = ports }
    local registry = session:registry "/services"
    register(registry, ports[1])
    start_load()
    meets(ports[1])
    for i = 2, 5 do
      local registration = register(registry, ports[i])
      meets(ports[i])
      assert(registration:leave(LIMIT))
      local late = seen("late")
      local left = zk.now()
      eventually("requests go on", function() return seen("last:" .. ports[1]) > left + 1.5 end)
      local after = seen("last:" .. ports[i]) - left
      assert(after <= 1 + lateness() - late, ("a request %.3f s after it had left"):format(after))
    end
    assert.is_true(stop_load() > 100)
  end))

  it("fails no request at a reload", env.run(function()
    local ports = supervisor.ports(1)
    start { workers = 2, backends = ports }
    register(session:registry "/services", ports[1])
    start_load()
    meets(ports[1])
    local before = it_runs:workers()
    it_runs:signal("HUP")
    eventually("the old workers have ended", function()
      for _, pid in ipairs(before) do
        if process.runs(pid) then return false end
      end
      return true
    end)
    local hits = seen("hits:" .. ports[1])
    eventually("the new workers serve", function() return seen("hits:" .. ports[1]) > hits + 100 end)
    stop_load()
  end))

  -- An instance that is tried the nth time was out for 1, 2, 4, ... seconds before.
  local function is_out_longer_and_longer(tries, since)
    assert.is_true(zk.now() - since >= 2 ^ (tries - 1) - 1, tries .. " tries in " .. zk.now() - since .. " s")
  end

  it("takes out an instance that is dead, and fails no request", env.run(function()
    local ports, dead = supervisor.ports(1), supervisor.ports(1)[1]
    start { workers = 1, backends = ports }
    local registry = session:registry "/services"
    register(registry, ports[1])
    register(registry, dead)
    all_know(2)
    local since, requests = zk.now(), 0
    repeat
      local status, body = ask()
      assert.same({ 200, ports[1] .. "\n" }, { status, body })
      requests = requests + 1
      local tries = select(2, it_runs:log():gsub("connect%(%) failed", ""))
      is_out_longer_and_longer(math.max(tries, 1), since)
    until tries >= 3 and requests > tries -- a slow machine may take longer for a request than the instance is out
  end))

  it("takes out an instance that breaks requests which may not be sent again", env.run(function()
    local ports = supervisor.ports(2)
    start { workers = 1, backends = { ports[1] }, failing = { ports[2] } }
    local registry = session:registry "/services"
    register(registry, ports[1])
    register(registry, ports[2])
    all_know(2)
    local since, failures = zk.now(), 0
    repeat
      local status = ask("POST")
      if status ~= 200 then
        assert.equal(502, status)
        failures = failures + 1
        is_out_longer_and_longer(failures, since)
      end
    until failures == 3
  end))

  it("takes out an instance that nginx cannot use", env.run(function()
    local ports = supervisor.ports(1)
    start { workers = 1, backends = ports }
    local registry = session:registry "/services"
    for id, address in pairs { name = "host.example", ["no-port"] = "127.0.0.1" } do
      registered[id] = assert(registry:register("web", { id = id, address = address, port = id == "name" and 80 or nil }))
      assert(registered[id]:ready(LIMIT))
    end
    all_know(2)
    assert.equal(500, (ask()))
    register(registry, ports[1])
    all_know(3)
    for _ = 1, 5 do assert.equal(200, (ask())) end
  end))

  it("fails no request while ZooKeeper is away for longer than sessions last, nor when it is back", env.run(function()
    local ports, timeout = supervisor.ports(2), 6
    server = assert(testing.start { tick_time = 500 })
    start { workers = 2, backends = ports, hosts = server.hosts, timeout = timeout }
    local registry = session:registry "/services"
    register(registry, ports[1])
    register(registry, ports[2])
    all_know(2)
    start_load()
    meets(ports[1])
    local requests = seen("hits:" .. ports[1])
    server:kill()
    local from = zk.now()
    eventually("all sessions are lost", function() return session.state == "connecting" and seen("lost") >= 2 end)
    eventually("the outage is longer than sessions last", function() return zk.now() - from > timeout end)
    eventually("requests go on", function() return seen("hits:" .. ports[1]) > requests end)
    assert(server:restart())
    for i = 1, 2 do eventually("it is registered again", function() return registered[i]:state() == "present" end) end
    requests = seen("hits:" .. ports[1])
    eventually("requests go on", function() return seen("hits:" .. ports[1]) > requests + 100 end)
    stop_load()
  end))
end)
