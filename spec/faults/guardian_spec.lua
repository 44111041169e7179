-- Processes that die in every possible way: their guardians must end the sessions. Processes that live: their guardians
-- must not.
-- Tags: sanitize

local zk = require "zkrecipes"
local testing = require "zkrecipes.testing"
local env = require "spec.support.env"
local child = require "spec.support.child"
local guardians = require "spec.support.guardians"
local process = require "spec.support.process"
local run = env.run

local TIMEOUT, AT_ONCE = guardians.TIMEOUT, guardians.AT_ONCE
local guardian, unguarded, succeeded, start = guardians.one, guardians.none, guardians.succeeded, guardians.start

local function read(format, ...)
  local file = assert(io.open(string.format(format, ...), "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

-- Calls a function that makes the process die. Then the process's znode must be deleted at once.
local function released_by(kill, options)
  local worker, session, watch = start(options)
  guardian(worker.pid) -- the guardian knows the session from its start
  local from = zk.now()
  kill(worker)
  assert.are.equal("deleted", watch:wait(2 * TIMEOUT))
  local took = zk.now() - from
  assert.is_true(took < AT_ONCE, "it took " .. took)
  env.eventually("the guardian has gone", function() return unguarded(worker.pid) end)
  session:close()
  return worker
end

local function signal(name)
  return function(worker) worker:signal(name) end
end

local function command(line)
  return function(worker) worker:tell(line) end
end

describe("the session of a guarded process ends at once when it", function()
  for _, name in ipairs { "KILL", "SEGV", "ABRT", "TERM" } do
    it("dies by SIG" .. name, run(function() released_by(signal(name)):stop() end))
  end

  it("is killed while it is paused", run(function()
    released_by(function(worker)
      worker:signal("STOP")
      worker:signal("KILL")
    end):stop()
  end))

  it("exits without closing anything", run(function() released_by(command "exit"):stop() end))
  it("ends by an error", run(function() released_by(command "fail"):stop() end))
  it("ends normally", run(function() released_by(command "end"):stop() end))

  it("becomes another program", run(function()
    local worker = released_by(command "exec")
    assert.is_true(process.runs(worker.pid))
    worker:signal("KILL")
    worker:stop()
  end))

  it("is killed with its whole process group", run(function()
    released_by(function(worker) os.execute("kill -9 -" .. worker.pid) end, { through = "setsid" }):stop()
  end))

  it("dies, and its children live on", run(function()
    local copy, program
    local worker = released_by(function(worker)
      copy, program = worker:ask("copy"), worker:ask("fork")
      worker:signal("KILL")
    end)
    assert.is_true(process.runs(copy) and process.runs(program))
    os.execute("pkill -KILL -P " .. copy .. "; kill -KILL " .. copy .. " " .. program)
    worker:stop()
  end))
end)

describe("a worker that its master has forked", function()
  it("has its own guardian, and its death does not end its master's session", run(function()
    local master, session = start()
    local pid = master:ask("worker")
    env.eventually("the worker's znode", function() return session:exists("/w") end)
    local watch = session:watch("/w")
    assert(session:sync("/w"))
    guardian(pid)
    local from, id = zk.now(), master:ask("id")
    os.execute("kill -KILL " .. pid)
    assert.are.equal("deleted", watch:wait(2 * TIMEOUT))
    assert.is_true(zk.now() - from < AT_ONCE)
    assert.are.equal(id, master:ask("id"))
    assert(session:exists("/e"))
    guardian(master.pid)
    master:stop()
    session:close()
  end))
end)

describe("a lock", function()
  it("is granted to the next waiter at once when the holder is killed", run(function()
    local namespace = env.namespace()
    local holder = child.start(namespace, TIMEOUT, nil, { script = "guarded" })
    local session = env.session { namespace = namespace }
    for _ = 1, 3 do
      local path = holder:ask("acquire")
      assert(session:exists(path))
      guardian(holder.pid) -- on a busy machine its start may take longer than the acquire
      local wait = env.start(function() return session:lock("/l"):acquire(2 * TIMEOUT) end)
      env.queue_of(session, "/l", 2)
      local from = zk.now()
      holder:signal("KILL")
      local hold = assert(wait())
      assert.is_true(zk.now() - from < AT_ONCE)
      holder:stop()
      holder = child.start(namespace, TIMEOUT, nil, { script = "guarded" })
      assert.is_true(hold:release())
    end
    holder:stop()
    session:close()
  end))
end)

describe("a guardian", function()
  it("does nothing while the process is paused", run(function()
    local worker, session, watch = start()
    local id = worker:ask("id")
    guardian(worker.pid)
    worker:signal("STOP")
    env.fails("timeout", watch:wait(1.5))
    guardian(worker.pid)
    worker:signal("CONT")
    assert.are.equal(id, worker:ask("id"))
    assert(session:exists("/e"))
    worker:stop()
    session:close()
  end))

  it("does nothing while the process lives and has closed its descriptors", run(function()
    local worker, session, watch = start()
    local id, first = worker:ask("id"), guardian(worker.pid)
    assert.are.equal("all closed", worker:ask("close_from"))
    env.eventually("the guardian gives up", function() return unguarded(worker.pid) or succeeded(worker.pid, first) end)
    env.late(watch:wait(0.5))
    assert.are.equal(id, session:exists("/e").ephemeral_owner)
    worker:signal("KILL")
    worker:stop()
    testing.expire(env.server(), id) -- unless a new guardian has ended the session
    session:close()
  end))

  it("ends when its session is closed; another session has its own guardian", run(function()
    local worker, session = start()
    local own = env.session { guardian = true }
    assert(own:connected(200))
    guardian(worker.pid)
    assert.matches("^closed", worker:ask("close"))
    env.eventually("the guardian has gone", function() return unguarded(worker.pid) end)
    local pid = read("/proc/self/stat"):match("^%d+")
    guardian(pid)
    own:close()
    env.eventually("our guardian has gone", function() return unguarded(pid) end)
    worker:stop()
    session:close()
  end))

  it("ends when its session expires; the new session has another one", run(function()
    local worker, session = start()
    local id, first = worker:ask("id"), guardian(worker.pid)
    assert(testing.expire(env.server(), id))
    env.eventually("a new session", function() return worker:ask("id") ~= id end)
    env.eventually("another guardian", function() return succeeded(worker.pid, first) end)
    worker:stop()
    session:close()
  end))

  it("that is killed does no harm, and is replaced", run(function()
    local worker, session, watch = start {}
    local first = guardian(worker.pid)
    os.execute("kill -KILL " .. first)
    env.eventually("another guardian", function() return succeeded(worker.pid, first) end)
    assert.matches("^1 the session's guardian has ended; the session starts another one", worker:ask("notes"))
    assert(session:exists("/e"))
    worker:signal("KILL")
    local from = zk.now()
    assert.are.equal("deleted", watch:wait(2 * TIMEOUT))
    assert.is_true(zk.now() - from < AT_ONCE)
    worker:stop()
    session:close()
  end))

  it("is no child of the process, sleeps, and sends nothing", run(function()
    local worker, session = start { timeout = 20 }
    local pid = guardian(worker.pid)
    assert.are.equal("true", worker:ask("childless"))
    assert.are_not.equal(tostring(worker.pid), read("/proc/%s/stat", pid):match("%) %a (%d+)"))
    assert.are.equal(pid, read("/proc/%s/stat", pid):match("%) %a %d+ %d+ (%d+)"), "a session of its own")

    -- Only root may read these two.
    assert.are.equal("", process.output("cat /proc/" .. pid .. "/environ 2>/dev/null"))
    local descriptors
    env.eventually("it has closed its program's file", function()
      descriptors = process.output("ls /proc/" .. pid .. "/fd 2>/dev/null")
      return descriptors == "0\n1\n2" or descriptors == "" and process.output("id -u") ~= "0"
    end)
    assert.matches("^zk%-guardian%z/proc/self/fd/3%z/[^%z]*/zkrecipes/guardian%.so%z" .. worker.pid .. "%z$",
      read("/proc/%s/cmdline", pid))

    local function effort()
      local status, stat = read("/proc/%s/status", pid), read("/proc/%s/stat", pid)
      return status:match("\nvoluntary_ctxt_switches:%s*(%d+)") .. " " .. stat:match("%) (%a)")
    end
    env.eventually("it sleeps", function() return effort():match("S$") end)
    local before = effort()
    zk.sleep(2) -- some heartbeats
    assert.are.equal(before, effort())
    worker:stop()
    session:close()
  end))

  -- Root may read everything, so both the reader and the processes run without privileges here.
  it("cannot be read or traced by other processes of the same user", run(function()
    local unprivileged = process.holds("setpriv --bounding-set=-all true") and "setpriv --bounding-set=-all" or ""
    local worker, session = start { through = unprivileged }
    local function readable(pid)
      return process.holds(unprivileged .. " head -c 1 /proc/" .. pid .. "/environ >/dev/null")
    end
    assert.is_true(readable(worker.pid))
    local pid = guardian(worker.pid) -- it protects itself right after its start
    env.eventually("it cannot be read", function() return not readable(pid) end)
    worker:stop()
    session:close()
  end))

  it("ignores all signals that can be ignored", run(function()
    local worker, session = start()
    local pid = guardian(worker.pid)
    for _, name in ipairs { "TERM", "INT", "HUP", "QUIT", "PIPE", "USR1" } do os.execute("kill -" .. name .. " " .. pid) end
    assert.are.equal("deleted", (function()
      local watch = session:watch("/e")
      assert(session:sync("/e"))
      worker:signal("KILL")
      return watch:wait(AT_ONCE)
    end)())
    worker:stop()
    session:close()
  end))

  it("that cannot be started is reported in the log and has no other effect", function()
    local folder = process.output("mktemp -d")
    local core = assert(package.searchpath("zkrecipes.core", package.cpath))
    os.execute(("mkdir %s/zkrecipes && cp %s %s/zkrecipes/"):format(folder, core, folder))
    local worker = child.start(env.namespace(), TIMEOUT, nil,
      { script = "guarded", through = ("env LUA_CPATH='%s/?.so;%s'"):format(folder, package.cpath) })
    assert.are.equal("/e", worker:ask("hold"))
    assert.matches("^1 the session has no guardian: " .. folder .. "/zkrecipes/guardian%.so: No such file",
      worker:ask("notes"))
    assert.matches("^closed", worker:ask("close"))
    worker:stop()
    os.execute("rm -r " .. folder)
  end)

  it("is not started without the option, and the option is a boolean", run(function()
    local session = env.session()
    assert(session:connected(200))
    assert.is_true(unguarded(read("/proc/self/stat"):match("^%d+")))
    session:close()
    assert.has_error(function() env.session { guardian = "yes" } end)
  end))
end)

describe("a guardian whose server is gone", function()
  local server
  setup(function() server = assert(testing.start()) end)
  teardown(function() server:stop() end)

  it("tries until the server is back", run(function()
    local worker, session, watch = start { hosts = server.hosts }
    guardian(worker.pid)
    server:kill()
    worker:signal("KILL")
    server:restart() -- the session gets its whole timeout again
    local from = zk.now()
    assert.are.equal("deleted", watch:wait(2 * TIMEOUT))
    assert.is_true(zk.now() - from < AT_ONCE)
    env.eventually("the guardian has gone", function() return unguarded(worker.pid) end)
    worker:stop()
    session:close()
  end))

  it("gives up when the session has certainly expired", run(function()
    local worker, session = start { hosts = server.hosts, timeout = 4 }
    guardian(worker.pid)
    server:kill()
    worker:signal("KILL")
    worker:stop()
    env.eventually("the guardian has gone", function() return unguarded(worker.pid) end)
    server:restart()
    session:close()
  end))

  it("ends a session that close could not end, once the process is dead", run(function()
    local worker, session, watch = start { hosts = server.hosts }
    server:kill()
    assert.matches("^closed", worker:ask("close 0.05"))
    guardian(worker.pid)
    worker:signal("KILL")
    server:restart()
    local from = zk.now()
    assert.are.equal("deleted", watch:wait(2 * TIMEOUT))
    assert.is_true(zk.now() - from < AT_ONCE)
    worker:stop()
    session:close()
  end))

  it("leaves that session to its timeout while the process lives", run(function()
    local worker, session = start { hosts = server.hosts, timeout = 30 }
    server:kill()
    assert.matches("^closed", worker:ask("close 0.05"))
    guardian(worker.pid)
    env.eventually("the guardian has gone", function() return unguarded(worker.pid) end)
    assert.is_true(process.runs(worker.pid))
    worker:stop()
    server:restart()
    session:close()
  end))
end)

describe("on an ensemble", function()
  local ensemble
  setup(function() ensemble = assert(testing.ensemble { config = { syncLimit = 120 } }) end)
  teardown(function() ensemble:stop() end)

  -- Kills a follower, because the ensemble does not serve for a moment after its leader has died.
  it("the guardian asks another server if the process's own server dies with the process", run(function()
    local follower = ensemble:followers()[1]
    local others = {}
    for _, member in ipairs(ensemble.members) do
      if member ~= follower then others[#others + 1] = member.hosts end
    end
    local namespace = env.namespace()
    local session = env.session { hosts = table.concat(others, ","), namespace = namespace }
    assert(session:connected(200))
    local worker
    repeat -- until the process is connected to the follower by chance
      if worker then worker:stop() end
      worker = child.start(namespace, TIMEOUT, ensemble.hosts, { script = "guarded" })
      assert(worker:ask("id"))
    until worker:ask("server") == follower.hosts
    assert.are.equal("/e", worker:ask("hold"))
    assert(session:sync("/e")) -- its server may lag behind, and then the watch would report the creation
    local watch = session:watch("/e")
    assert(session:sync("/e"))
    guardian(worker.pid)
    local from = zk.now()
    os.execute("kill -KILL " .. worker.pid .. " " .. follower.pid)
    assert.are.equal("deleted", watch:wait(2 * TIMEOUT))
    assert.is_true(zk.now() - from < AT_ONCE)
    worker:stop()
    session:close()
  end))
end)
