-- Real test servers: they serve, keep their data when they are killed, end sessions, and never outlive their runner.

local process = require "spec.support.process"
local supervisor = require "zkrecipes.testing.supervisor"
local testing = require "zkrecipes.testing"
local wire = require "spec.support.wire"

local NO_NODE = -101

-- A runner that runs `code`, prints pids and folders, and then stops itself: the worst moment for a crash.
local RUNNER = [[
package.path = %q
local testing = require "zkrecipes.testing"
local servers = {}
%s
for _, server in ipairs(servers) do print(server.pid, server.folder) end
io.stdout:flush()
os.execute("kill -STOP $PPID")
]]

local function start_runner(code, environment)
  local script = os.tmpname()
  local file = assert(io.open(script, "w"))
  file:write(RUNNER:format(package.path, code))
  file:close()
  local pipe = io.popen("echo $$; " .. (environment or "") .. " exec " .. process.interpreter .. " " .. script, "r")
  return { pid = pipe:read("*l"), pipe = pipe, script = script }
end

local function read_servers(runner, count)
  local list = {}
  for i = 1, count do
    local pid, folder = runner.pipe:read("*l"):match("^(%d+)%s+(.+)$")
    list[i] = { pid = pid, folder = folder }
  end
  return list
end

local function gone(server)
  return not process.runs(server.pid) and not process.exists(server.folder)
end

local function kill_runner(runner)
  os.execute("kill -9 " .. runner.pid)
  os.remove(runner.script)
end

describe("a test server", function()
  local server
  setup(function() server = assert(testing.start()) end)
  teardown(function() server:stop() end)

  it("serves on its own port of 127.0.0.1", function()
    assert.matches("^127%.0%.0%.1:%d+$", server.hosts)
    assert.equal("standalone", server:mode())
    assert.matches("Mode: standalone", server:srvr())
    assert.matches("zk_server_state%s+standalone", server:mntr())
    assert.equal("imok", server:ruok())
    assert.matches("dataDir=" .. server.folder:gsub("%p", "%%%0"), server:conf())
  end)

  it("accepts sessions from one second on, and containers", function()
    local client = assert(wire.connect(server.hosts, { timeout = 1000 }))
    assert.equal(1000, client.timeout)
    assert.equal(0.5, server.tick)
    client = assert(wire.connect(server.hosts)) -- that session may be over already
    assert.equal(0, (client:request("create2", wire.create_payload("/box", "", 4))))
    assert.equal(0, (client:delete("/box")))
    assert.equal(0, client:close())
  end)

  it("keeps data and sessions when it is killed and restarted", function()
    local client = assert(wire.connect(server.hosts, { timeout = 100000 }))
    assert.equal(0, (client:create("/kept", "as it was", wire.EPHEMERAL)))
    local pid = server.pid
    server:kill()
    assert.is_false(process.runs(pid))
    assert.is_nil(client:exists("/kept"))
    local answer, _, code = server:srvr()
    assert.is_nil(answer)
    assert.equal("timeout", code)
    assert.equal(server, server:restart())
    local again = assert(wire.connect(server.hosts, { id = client.id, password = client.password, timeout = 100000 }))
    assert.same({ 0, "as it was" }, { again:get("/kept") })
    again:close()
  end)

  it("restarts while it runs", function()
    local pid = server.pid
    assert(server:restart())
    assert.not_equal(pid, server.pid)
    assert.is_false(process.runs(pid))
    assert.equal("standalone", server:mode())
  end)

  it("answers nothing while it is paused, and everything afterwards", function()
    local client = assert(wire.connect(server.hosts))
    assert.is_true(server:pause())
    client:send("exists", wire.text("/") .. "\0")
    client.sock:settimeout(0.2)
    assert.same({ nil, "timeout" }, { client:receive() })
    assert.is_nil(server:mode())
    assert.is_true(server:resume())
    client.sock:settimeout(200)
    assert.equal(0, client:receive().err)
    client:close()
  end)

  it("can be killed while it is paused", function()
    local pid = server.pid
    assert.is_true(server:pause())
    server:kill()
    assert.is_false(process.runs(pid))
    local _, _, code = server:resume()
    assert.equal("not_running", code)
    assert(server:restart())
  end)

  it("ends a session from outside, with its ephemerals, at once", function()
    local owner, other = assert(wire.connect(server.hosts)), assert(wire.connect(server.hosts))
    assert.equal(0, (owner:create("/mine", "", wire.EPHEMERAL)))
    assert.equal(0, (other:exists("/mine", true)))
    assert.is_true(testing.expire(server, owner.id))
    assert.equal(NO_NODE, (other:exists("/mine")))
    assert.same({ nil, "closed" }, { owner:receive() })
    assert.same({ nil, "expired" }, { wire.connect(server.hosts, { id = owner.id, password = owner.password }) })
    local _, _, code = testing.expire(server, owner.id, 600)
    assert.equal("no_session", code)
    other:close()
  end)

  it("ends a session although its client reconnects as fast as it can", function()
    for _ = 1, 20 do
      local owner = assert(wire.connect(server.hosts))
      assert.is_true(testing.expire(server, owner.id))
      assert.is_nil((wire.connect(server.hosts, { id = owner.id, password = owner.password })))
    end
  end)

  it("is never taken for another server on its port", function()
    local servers = require "zkrecipes.testing.server"
    local places = assert(require "zkrecipes.testing.supervisor".prepare(1))
    places[1].client = server.port
    local double = servers.spawn({ timeout = 300 }, places, 1)
    servers.begin(double)
    local ok, message = servers.await(double)
    assert.is_nil(ok)
    assert.matches("ended while it started.*Address already in use", message)
    double:stop()
  end)

  it("accepts lines of zoo.cfg and flags", function()
    local own = assert(testing.start{ tick_time = 700, config = { maxSessionTimeout = 9000 }, container_interval = 321,
      jvm = { "-Dzkrecipes.mark=yes" } })
    assert.equal(0.7, own.tick)
    assert.matches("tickTime=700\n.*maxSessionTimeout=9000\n", own:conf())
    local line = process.output(("tr '\\0' ' ' </proc/%s/cmdline"):format(own.pid))
    assert.matches("checkIntervalMs=321 .*zkrecipes.mark=yes", line)
    own:stop()
    assert.is_true(gone(own))
    own:stop()
    local _, message = pcall(function() own:kill() end)
    assert.matches("testing_servers_spec.lua:%d+: this test server was stopped", message)
  end)
end)

-- On a busy machine the servers of an ensemble may not hear of each other for seconds. Then no session may end.
local LONG = { timeout = 100000 } -- milliseconds

local function session_of(client) return { id = client.id, password = client.password, timeout = LONG.timeout } end

describe("a test ensemble", function()
  local ensemble
  setup(function() ensemble = assert(testing.ensemble { config = { syncLimit = 120 } }) end)
  teardown(function() ensemble:stop() end)

  it("has one leader and followers that agree", function()
    assert.equal(3, #ensemble.members)
    assert.equal(0.5, ensemble.tick)
    assert.equal("leader", ensemble:leader():mode())
    assert.equal(2, #ensemble:followers())
    local _, commas = ensemble.hosts:gsub(",", "")
    assert.equal(2, commas)
  end)

  it("elects another leader when the leader is killed, and takes it back", function()
    local client = assert(wire.connect(ensemble:leader().hosts, LONG))
    assert.equal(0, (client:create("/agreed", "data")))
    local old = ensemble:leader()
    old:kill()
    local new = assert(ensemble:leader())
    assert.not_equal(old, new)
    assert(old:restart())
    assert.equal("follower", old:mode())
    local again = assert(wire.connect(old.hosts, session_of(client)))
    assert.same({ 0, "data" }, { again:get("/agreed") })
    again:close()
  end)

  it("ends a session through any member", function()
    local watcher = assert(wire.connect(ensemble:leader().hosts, LONG))
    for _, member in ipairs(ensemble.members) do
      local owner = assert(wire.connect(ensemble:followers()[1].hosts, LONG))
      assert.equal(0, (owner:create("/owned", "", wire.EPHEMERAL)))
      assert.is_true(testing.expire(member, owner.id))
      watcher:sync("/owned")
      assert.equal(NO_NODE, (watcher:exists("/owned")))
      assert.same({ nil, "closed" }, { owner:receive() })
    end
    watcher:close()
  end)

  it("restarts as a whole, with its data", function()
    local client = assert(wire.connect(ensemble.hosts, LONG))
    client:create("/whole", "data")
    ensemble:kill()
    assert(ensemble:restart())
    local again = assert(wire.connect(ensemble.hosts, session_of(client)))
    assert.same({ 0, "data" }, { again:get("/whole") })
    again:close()
  end)
end)

describe("nothing is left behind", function()
  it("when the runner is killed", function()
    local runner = start_runner([[servers[1] = testing.start() servers[2] = testing.start()]])
    local servers = read_servers(runner, 2)
    kill_runner(runner)
    for _, server in ipairs(servers) do assert(process.eventually(function() return gone(server) end)) end
    runner.pipe:close()
  end)

  it("when the runner is killed, a server is paused, and another process holds the runner's descriptors", function()
    local runner = start_runner([[servers[1] = testing.start() servers[1]:pause()
      os.execute("sleep 6 >/dev/null 2>&1 &")]])
    local server = read_servers(runner, 1)[1]
    kill_runner(runner)
    assert(process.eventually(function() return gone(server) end))
    runner.pipe:close()
  end)

  it("when the runner is killed while an ensemble starts", function()
    local folder = process.output("mktemp -d")
    local runner = start_runner([[local popen, n = io.popen, 0
      io.popen = function(command, mode)
        local pipe = popen(command, mode)
        if mode == "w" then n = n + 1 end
        if n == 3 then os.execute("touch $TMPDIR/three") end
        return pipe
      end
      testing.ensemble()]], "TMPDIR=" .. folder)
    assert(process.eventually(function() return process.exists(folder .. "/three") end))
    kill_runner(runner)
    local processes = ("pgrep -f '[%s]%s/'"):format(folder:sub(1, 1), folder:sub(2))
    assert(process.eventually(function()
      return process.output(processes) == "" and process.output("ls " .. folder) == "three"
    end))
    runner.pipe:close()
    os.execute("rm -r " .. folder)
  end)

  it("when the supervisor is killed: the kernel kills the JVM", function()
    assert.is_true(process.holds("setpriv --pdeathsig KILL true"), "setpriv (Debian's util-linux) is needed")
    local runner = start_runner([[servers[1] = testing.start()]])
    local server = read_servers(runner, 1)[1]
    os.execute("kill -9 $(ps -o ppid= -p " .. server.pid .. ")")
    assert(process.eventually(function() return not process.runs(server.pid) end))
    kill_runner(runner)
    runner.pipe:close()
    os.execute("rm -r '" .. server.folder .. "'")
  end)

  it("when a server is collected or the state closes", function()
    local runner = start_runner([[servers[1] = testing.start()
      print(servers[1].pid, servers[1].folder) os.exit(0)]])
    local server = read_servers(runner, 1)[1]
    runner.pipe:close()
    assert(process.eventually(function() return gone(server) end))
    os.remove(runner.script)
  end)
end)

describe("dev/zk", function()
  it("gives a command its servers and ends with its status", function()
    local text = process.output("dev/zk exec -- sh -c 'echo $ZK_HOSTS; exit 7'; echo $?")
    assert.matches("^127%.0%.0%.1:%d+\n7$", text)
    local hosts = process.output("dev/zk exec --members 3 -- printenv ZK_HOSTS")
    assert.equal(3, select(2, hosts:gsub("127%.0%.0%.1:%d+", "")))
    assert.equal("137", process.output("dev/zk exec -- sh -c 'kill -9 $$'; echo $?"))
  end)

  it("serves until the end of its input", function()
    local line = process.output("echo | dev/zk start 2>&1")
    assert.matches("^HOSTS=127%.0%.0%.1:%d+$", line)
    assert.is_false(process.holds("exec 3<>/dev/tcp/127.0.0.1/" .. line:match("%d+$")))
  end)

  it("prints its usage", function()
    assert.matches("^usage: .*\n2$", process.output("dev/zk 2>&1; echo $?"))
    assert.matches("unknown option %-%-bad\nusage", process.output("dev/zk start --bad 2>&1"))
    assert.matches("%-%-members needs a number", process.output("dev/zk start --members x 2>&1"))
  end)
end)

-- Else a program could get the port of a server that restarts.
it("ports are not given twice within a short time, even to different processes", function()
  local seen, count = {}, 0
  local line = ([[%s -e 'package.path = %q; print(table.concat(require("zkrecipes.testing.supervisor").ports(100), " "))']])
    :format(process.interpreter, package.path)
  local pipe = io.popen(("for _ in 1 2 3 4; do %s & done; wait"):format(line))
  for port in pipe:read("*a"):gmatch("%d+") do
    assert.is_nil(seen[port], "twice: " .. port)
    seen[port], count = true, count + 1
  end
  pipe:close()
  for _, port in ipairs(supervisor.ports(200)) do
    assert.is_nil(seen[tostring(port)])
    count = count + 1
  end
  assert.equal(600, count)
end)
