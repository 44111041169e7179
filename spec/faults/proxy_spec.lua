-- The proxy between real clients and a real server: its counts are exact, and each fault does what its description says.

local process = require "spec.support.process"
local proxies = require "spec.support.proxy"
local testing = require "zkrecipes.testing"
local wire = require "spec.support.wire"

local NO_NODE = -101

describe("the proxy", function()
  local server, proxy, direct, serial
  setup(function()
    server = assert(testing.start())
    direct = assert(wire.connect(server.hosts, { timeout = 120000 }))
    serial = 0
  end)
  teardown(function()
    direct:close()
    server:stop()
  end)
  before_each(function()
    proxy = proxies.start(server)
    serial = serial + 1
  end)
  after_each(function() proxy:stop() end)

  local function path(name) return ("/%s-%d"):format(name, serial) end

  local function connect(options)
    return assert(wire.connect(proxy.hosts, options or { timeout = 60000 }))
  end

  -- Reconnects to the session of a client that has lost its connection, without the proxy.
  local function recover(client)
    return assert(wire.connect(server.hosts, { id = client.id, password = client.password }))
  end

  local function assert_silent(client)
    client.sock:settimeout(0.1)
    assert.same({ nil, "timeout" }, { client:receive() })
    client.sock:settimeout(200)
  end

  local function wait_until_sent(name)
    assert(process.eventually(function() return proxy:sent()[name] == 1 end))
  end

  local function is_there(name)
    local err = direct:exists(name)
    assert.is_true(err == 0 or err == NO_NODE)
    return err == 0
  end

  describe("counts", function()
    it("every request by its name, replies and events", function()
      local client = connect()
      client:create(path("a"))
      client:get(path("a"), true)
      client:get(path("a"))
      direct:request("set", wire.text(path("a")) .. wire.text("new") .. wire.int(-1))
      assert.equal(-1, client:receive().xid)
      client:request("multi", wire.int(-1) .. "\1" .. wire.int(-1))
      proxy:freeze("up")
      for _ = 1, 3 do client:send("ping") end -- they share an xid
      proxy:heal()
      client:sync("/")
      client:sync(path("a"))
      client:request("children", wire.text("/") .. "\0")
      client:delete(path("a"))
      client:close()
      assert(proxy:wait_for("live", 0))
      local counts = proxy:counts()
      local bytes = { up = counts.bytes_up, down = counts.bytes_down }
      counts.bytes_up, counts.bytes_down = nil, nil
      assert.same({ connections = 1, connect = 1, create2 = 1, getData = 2, multi = 1, ping = 3, heartbeat = 1,
        sync = 1, getChildren2 = 1, delete = 1, closeSession = 1, requests = 8, replies = 13, events = 1 },
        setmetatable(counts, nil))
      assert.is_true(bytes.up > 200 and bytes.down > 300)
    end)

    it("bytes exactly", function()
      local client = connect()
      proxy:reset()
      client:sync("/abc")
      assert.equal(4 + 8 + 8, proxy:counts().bytes_up)
      assert.equal(4 + 16 + 8, proxy:counts().bytes_down)
    end)

    it("since the last reset, with 0 for requests that never came", function()
      local client = connect()
      client:sync("/x")
      proxy:reset()
      assert.equal(0, proxy:counts().sync)
      client:sync("/x")
      client:sync("/x")
      assert.equal(2, proxy:counts().sync)
      assert.equal(0, proxy:counts().create2)
    end)

    it("a request when it is answered, and apart from that when it is sent", function()
      local client = connect()
      client:create(path("a"))
      proxy:freeze("up")
      client:send("exists", wire.text(path("a")) .. "\0")
      client:send("delete", wire.text(path("a")) .. wire.int(-1))
      wait_until_sent "delete"
      local sent, counts = proxy:sent(), proxy:counts()
      assert.same({ 1, 1, 1, 1, 3 }, { sent.connect, sent.create2, sent.exists, sent.delete, sent.requests })
      assert.same({ 1, 1, 0, 0, 1 }, { counts.connect, counts.create2, counts.exists, counts.delete, counts.requests })
      proxy:heal()
      assert(proxy:wait_for("delete"))
      assert.is_false(is_there(path("a")))
      assert.same(proxy:sent(), proxy:counts())
    end)

    it("no answer to what was sent before the last reset", function()
      local client = connect()
      proxy:freeze("up")
      client:send("sync", wire.text("/x"))
      wait_until_sent "sync"
      proxy:reset()
      client:send("exists", wire.text("/") .. "\0")
      proxy:heal()
      assert(proxy:wait_for("exists"))
      local counts = proxy:counts()
      assert.same({ 0, 1, 1, 2 }, { counts.sync, counts.exists, counts.requests, counts.replies })
    end)

    it("an answer that a fault drops, but only as sent a request that it drops", function()
      proxy:drop_reply("sync")
      connect():sync("/x")
      proxy:drop_request("exists")
      connect():exists("/x")
      local sent, counts = proxy:sent(), proxy:counts()
      assert.same({ 1, 1, 1, 0 }, { sent.sync, counts.sync, sent.exists, counts.exists })
    end)

    it("per connection, with its session", function()
      local one, two = connect(), connect()
      one:sync("/x")
      two:sync("/x")
      two:sync("/x")
      local syncs = {}
      for _, connection in ipairs(proxy:connections()) do syncs[connection.session] = connection.sync end
      assert.same({ [one.id] = 1, [two.id] = 2 }, syncs)
      assert.equal(2, proxy:wait_for("live", 2))
      one:close()
      assert.equal(1, proxy:wait_for("live", 1))
    end)

    it("thousands of pipelined requests, and keeps their order", function()
      local client = connect()
      for _ = 1, 3000 do client:send("sync", wire.text("/x")) end
      for i = 1, 3000 do assert.equal(i, client:receive().xid) end
      assert.equal(3000, proxy:counts().sync)
      assert.equal(3001, proxy:counts().replies)
    end)

    it("and remembers the requests in their order", function()
      local client = connect()
      client:create(path("a"))
      client:delete(path("a"))
      assert.same({ "1 connect ", "1 create2 " .. path("a"), "1 delete " .. path("a") }, proxy:trace())
    end)
  end)

  it("passes a megabyte unharmed, and four-letter words", function()
    local client, data = connect(), ("\0\255x\n"):rep(250000)
    assert.equal(0, (client:create(path("big"), data)))
    local err, read = client:get(path("big"))
    assert.equal(0, err)
    assert.is_true(read == data)
    assert.matches("Mode: standalone", require "zkrecipes.testing.wire".word(proxy.hosts:match("%d+$"), "srvr", 60))
  end)

  it("ends connections by a reset or a FIN, or on one side only", function()
    for _, options in ipairs{ {}, { fin = true }, { side = "client" }, { side = "server" } } do
      local client = connect()
      proxy:cut(options)
      assert.same({ nil, "closed" }, { client:receive() })
      recover(client):close()
    end
    assert.equal(0, proxy:wait_for("live", 0))
  end)

  it("refuses, and accepts again on the same port", function()
    proxy:refuse()
    assert.same({ nil, "connection refused" }, { wire.connect(proxy.hosts) })
    proxy:heal()
    connect():close()
  end)

  it("resets a client whose server is gone", function()
    local dead = proxies.start("127.0.0.1:1")
    local client, message = wire.connect(dead.hosts)
    assert.is_nil(client)
    assert.equal("closed", message)
    dead:stop()
  end)

  describe("as a black hole", function()
    it("swallows both ways and keeps the connection open", function()
      local client = connect()
      proxy:blackhole(true)
      client:send("create2", wire.create_payload(path("lost")))
      wait_until_sent "create2"
      assert_silent(client)
      assert.is_false(is_there(path("lost")))
      proxy:heal()
      assert.same({ nil, "closed" }, { client:receive() })
      assert.is_false(is_there(path("lost")))
    end)

    it("swallows the answers only", function()
      local client = connect()
      proxy:blackhole("down")
      client:send("create2", wire.create_payload(path("applied")))
      assert(proxy:wait_for("replies", 2))
      assert.is_true(is_there(path("applied")))
      assert_silent(client)
    end)

    it("hides even the end of the client: the server expires the session", function()
      local client = connect({ timeout = 20000 })
      client:create(path("mine"), "", wire.EPHEMERAL)
      proxy:blackhole("up")
      client:abandon()
      assert(proxy:wait_for("live", 0))
      assert.is_true(is_there(path("mine")))
      assert(process.eventually(function() return not is_there(path("mine")) end))
    end)

    it("lets clients that lost nothing continue", function()
      local client = connect()
      proxy:blackhole(true)
      proxy:heal()
      assert.equal(0, (client:sync("/x")))
    end)
  end)

  it("freezes: everything arrives late, and in order", function()
    local client = connect()
    proxy:freeze("up")
    client:send("create2", wire.create_payload(path("late")))
    client:send("delete", wire.text(path("late")) .. wire.int(-1))
    wait_until_sent "delete"
    assert_silent(client)
    proxy:heal()
    assert.same({ 1, 2 }, { client:receive().xid, client:receive().xid })
  end)

  it("delays each way", function()
    local clock = require "socket".gettime
    local client = connect()
    proxy:delay(200)
    local start = clock()
    assert.equal(0, (client:sync("/x")))
    local took = clock() - start
    assert.is_true(took >= 0.398, "took " .. took)
    proxy:heal()
    local quick = process.eventually(function() -- a busy machine is slow sometimes, a delay is there always
      start = clock()
      assert.equal(0, (client:sync("/x")))
      return clock() - start < 0.39
    end)
    assert.is_true(quick)
  end)

  it("drops the reply of the n-th request after the server applied it, and can refuse from then on", function()
    local client = connect()
    proxy:drop_reply("create2", 2)
    assert.equal(0, (client:create(path("first"))))
    assert.same({ nil, "closed" }, { client:create(path("second")) })
    assert.equal(1, proxy:wait_for("fired"))
    assert.is_true(is_there(path("second")))
    recover(client):close()
    proxy:die("create2")
    assert.is_nil((connect():create(path("third"))))
    assert.is_nil((wire.connect(proxy.hosts)))
    proxy:heal()
    assert.is_true(is_there(path("third")))
  end)

  it("cuts before the n-th request reaches the server, after all before it did", function()
    local client = connect()
    proxy:drop_request("create2", 3)
    for i = 1, 4 do client:send("create2", wire.create_payload(path("n" .. i))) end
    assert(proxy:wait_for("fired"))
    assert.same({ 1, 2 }, { client:receive().xid, client:receive().xid })
    assert.same({ nil, "closed" }, { client:receive() })
    assert.same({ true, true, false, false }, { is_there(path("n1")), is_there(path("n2")), is_there(path("n3")), is_there(path("n4")) })
  end)

  it("cuts at any frame, by the frame's number", function()
    for n = 1, 3 do
      proxy:drop_request("*", n)
      local client = connect()
      client:ping()
      client:sync("/")
      local answers = 0
      for _ = 1, 4 do
        if not client:sync("/x") then break end
        answers = answers + 1
      end
      assert.equal(n - 1, answers)
    end
  end)

  it("loses the opening of a session, before or after the server has created it", function()
    proxy:drop_request("connect")
    assert.same({ nil, "closed" }, { wire.connect(proxy.hosts) })
    proxy:drop_reply("connect")
    assert.same({ nil, "closed" }, { wire.connect(proxy.hosts) })
    assert.equal(2, proxy:fired())
    connect():close()
  end)

  it("holds a request, and all behind it, until released", function()
    local client = connect()
    client:create(path("held"))
    proxy:hold("delete")
    client:send("delete", wire.text(path("held")) .. wire.int(-1))
    client:send("exists", wire.text(path("held")) .. "\0")
    assert(proxy:wait_for("fired"))
    assert.is_true(is_there(path("held")))
    assert_silent(client)
    proxy:release()
    assert.equal(0, client:receive().err)
    assert.equal(NO_NODE, client:receive().err)
    assert.equal(1, proxy:counts().delete)
  end)

  it("holds an answer", function()
    local client = connect()
    proxy:hold_reply("create2")
    client:send("create2", wire.create_payload(path("slow")))
    assert(proxy:wait_for("fired"))
    assert.is_true(is_there(path("slow")))
    assert_silent(client)
    proxy:release()
    assert.equal(0, client:receive().err)
  end)

  it("lets a held request reach the server after its client is gone", function()
    local client = connect()
    proxy:hold("create2")
    client:send("create2", wire.create_payload(path("ghost")))
    assert(proxy:wait_for("fired"))
    proxy:cut{ side = "client" }
    assert.same({ nil, "closed" }, { client:receive() })
    assert.is_false(is_there(path("ghost")))
    proxy:release()
    assert(process.eventually(function() return is_there(path("ghost")) end))
  end)

  it("reports a condition that was not fulfilled", function()
    local value, message = proxy:wait_for("fired", 1, 0.05)
    assert.is_nil(value)
    assert.equal("proxy: waited for fired = 1: timeout 0", message)
    assert.error_matches(function() proxy:blackhole("sideways") end, "both, up or down, not sideways")
  end)

  it("does not outlive its runner", function()
    local script = os.tmpname()
    local file = assert(io.open(script, "w"))
    file:write(([[package.path = %q package.cpath = %q
      require "spec.support.proxy".start("127.0.0.1:%s")
      os.execute("sleep 4 >/dev/null 2>&1 & kill -STOP $PPID")]]):format(package.path, package.cpath, server.port))
    file:close()
    local pipe = io.popen("echo $$; exec " .. process.interpreter .. " " .. script, "r")
    local runner = pipe:read("*l")
    local child = process.eventually(function()
      local pid = process.output("pgrep -P " .. runner .. " -f '[p]roxy.lua --control'")
      return process.holds("grep -q '^State:.*T' /proc/" .. runner .. "/status") and pid:match("%d+")
    end)
    assert.is_true(process.runs(child))
    os.execute("kill -9 " .. runner)
    assert(process.eventually(function() return not process.runs(child) end))
    pipe:close()
    os.remove(script)
  end)
end)

describe("the proxy in front of an ensemble", function()
  it("has a port per member and can cut off one of them", function()
    local ensemble = assert(testing.ensemble { config = { syncLimit = 120 } })
    local proxy = proxies.start(ensemble)
    assert.equal(3, #proxy.members)
    local one, two = assert(wire.connect(proxy.members[1], { timeout = 60000 })),
      assert(wire.connect(proxy.members[2], { timeout = 60000 }))
    proxy:refuse(1)
    proxy:cut{ member = 1 }
    assert.same({ nil, "closed" }, { one:receive() })
    assert.is_nil((wire.connect(proxy.members[1])))
    assert.equal(0, (two:sync("/x")))
    assert.equal(2, proxy:connections()[1].member)
    proxy:stop()
    ensemble:stop()
  end)
end)
