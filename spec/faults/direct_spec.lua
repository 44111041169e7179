-- The host's thread sends a request itself if the I/O thread only waits (src/zk/direct.c). What the I/O thread must do for such a request,
-- it must do now, not with the next heartbeat. A session of 100 s sends one each 6 s, so they are what is counted.

local child = require "spec.support.child"
local env = require "spec.support.env"
local process = require "spec.support.process"
local zk = require "zkrecipes"
local run = env.run

local COUNT, MANY = 30, 100

describe("a request that the host's thread sends", function()
  local proxy, path

  local function setup_path()
    proxy = env.proxy()
    local session = env.session { namespace = "/", timeout = 100 }
    path = env.namespace()
    assert(session:create(path, ""))
    session:close()
  end

  -- gives: how its requests ended, and how many heartbeats were sent, without those that prove a connection.
  local function in_child(variables)
    setup_path()
    local preloaded = os.getenv("LUA_CPATH"):match("^[^;]*"):gsub("%?", "spec_secrets")
    local said = process.output(("env LD_PRELOAD=%s %s %s spec/support/direct_child.lua %s %s %d 2>&1"):format(preloaded, variables,
      env.interpreter(), proxy.hosts, path, COUNT))
    local sent = proxy:sent()
    return said, sent.heartbeat - sent.connect -- each connection begins with one
  end

  local function waits_for_none(variables, expected)
    local said, heartbeats = in_child(variables)
    assert.equal(expected, said)
    assert.is_true(heartbeats < COUNT / 2, heartbeats .. " heartbeats")
  end

  it("is sent to its end if the socket takes only a part", run(function()
    waits_for_none("SHORT_SENDS=64", "done " .. COUNT)
  end))

  it("is answered if its connection breaks", run(function()
    waits_for_none("BROKEN_SEND=datadata", "connection_loss " .. COUNT)
  end))

  -- The kernel counts how often the I/O thread went to sleep.
  local function sleeps()
    local count = 0
    for times in process.output("grep -h ^voluntary /proc/$PPID/task/*/status"):gmatch("%d+") do count = count + times end
    local own = process.output("grep -h ^voluntary /proc/$PPID/status"):match("%d+")
    return count - own
  end

  it("does not wake the I/O thread, nor does its answer if the host waits in a call of the module", run(function()
    setup_path()
    local session = env.session { namespace = "/", timeout = 100 }
    assert(session:exists(path))
    local least = math.huge -- it has work of its own, and on a busy machine it may be awake when a request comes
    for _ = 1, 20 do
      local before = sleeps()
      for _ = 1, MANY do assert(session:exists(path)) end
      least = math.min(least, sleeps() - before)
    end
    session:close()
    assert.is_true(least < MANY / 2, "at least " .. least .. " times")
  end))

  -- When it wakes up, one of its threads must see the end of the connection before another one writes into it.
  it("is not sent into a connection that ended while the process was paused", run(function()
    local namespace = env.namespace()
    proxy = env.proxy()
    local session = env.session { namespace = namespace }
    assert(session:create("/register", "0", { parents = true }))
    local holder = child.start(namespace, 60, proxy.hosts)
    assert.matches("^token", holder:ask("acquire"))
    for _ = 1, 3 do
      assert.are.equal("written", holder:ask("write 1"))
      holder:signal("STOP")
      proxy:cut()
      zk.sleep(4) -- longer than it is between two heartbeats
      holder:tell("write 2")
      holder:signal("CONT")
      assert.are.equal("written", holder:answer())
    end
    holder:stop()
    session:close()
  end))
end)
