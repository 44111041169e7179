-- Plain ZooKeeper from Lua, on a real server.
-- Tags: sanitize

local collect = require "spec.support.collect"
local zk = require "zkrecipes"
local testing = require "zkrecipes.testing"
local env = require "spec.support.env"
local run, fails = env.run, env.fails

describe("a session", function()
  it("connects, shows its state, closes", run(function()
    local session = env.session { hosts = env.server().hosts }
    assert.are.equal("connecting", session.state)
    assert.is_nil(session.id)
    assert.is_true(session:connected(200))
    assert.are.equal("connected", session.state)
    assert.matches("^%x+$", session.id)
    assert.are.equal(16, #session.id)
    assert.are.equal(15, session.timeout)
    assert.are.equal(env.server().hosts, session.server)
    assert.is_true(session:close())
    assert.are.equal("closed", session.state)
    assert.is_true(session:close())
    fails("closed", session:get("/"))
    fails("closed", session:connected(1))
  end))

  -- On Lua 5.1 `for ... in` cannot wait.
  local _ = (_VERSION ~= "Lua 5.1" or rawget(_G, "jit")) and it("streams its states", run(function()
    local session = env.session()
    local seen = {}
    local wait = env.start(function()
      for state in session:states() do
        seen[#seen + 1] = state
      end
    end)
    session:connected(200)
    session:close()
    wait()
    assert.are.same({ "connecting", "connected", "closed" }, seen)
  end))

  it("ends its ephemerals when it closes", run(function()
    local namespace = env.namespace()
    local one, other = env.session { namespace = namespace, timeout = 100 }, env.session { namespace = namespace }
    assert(one:create("/e", nil, { ephemeral = true }))
    assert(other:exists("/e"))
    one:close()
    env.eventually("it is gone", function() return other:exists("/e") == false end, 90)
  end))

  it("is closed when it is collected", run(function()
    local namespace = env.namespace()
    local other = env.session { namespace = namespace }
    local function create_and_forget()
      local session = env.session { namespace = namespace }
      assert(session:create("/e", nil, { ephemeral = true }))
    end
    create_and_forget()
    env.eventually("the forgotten session's ephemeral goes", function()
      collect()
      return other:exists("/e") == false
    end)
  end))

  it("is collected although its own objects refer to it", run(function()
    local core = require "zkrecipes.core"
    local before = core.live()
    local function make_and_forget()
      local session, lock
      session = zk.session { hosts = env.server().hosts, namespace = env.namespace(), log = function() return session end }
      lock = session:lock("/l", { cohort = true, on_request = function() return lock end })
      assert(lock:acquire(200)):release()
      assert(session:close())
    end
    make_and_forget()
    env.eventually("nothing is left", function()
      collect()
      local live = core.live()
      return (live.session or 0) <= (before.session or 0) and (live.lock or 0) <= (before.lock or 0)
    end)
  end))

  -- Without collect: LuaJIT's compiled code keeps a few, but not one of each call.
  it("leaves no more than a few of its objects behind", run(function()
    local core = require "zkrecipes.core"
    local session = env.session()
    local before = core.live()
    for _ = 1, 200 do
      local lock = session:lock("/l", { cohort = true, on_request = function() end })
      assert(lock:acquire(200)):release()
      session:watch("/w"):close()
    end
    env.eventually("nearly all are gone", function()
      collectgarbage()
      local live = core.live()
      return (live.lock or 0) <= (before.lock or 0) + 100 and (live.watch or 0) <= (before.watch or 0) + 100
    end)
    session:close()
  end))

  it("takes hosts as a table and a chroot with them", run(function()
    local root = env.session { namespace = "/" }
    local name = env.namespace()
    assert(root:create(name))
    local session = zk.session { hosts = { env.server().hosts .. name }, timeout = 100, namespace = "/in" }
    assert.are.equal("/x", (assert(session:create("/x", "1", { parents = true }))))
    assert.are.equal("1", (root:get(name .. "/in/x")))
    assert.are.equal("/", (assert(session:set("/", "root")) and "/"))
    assert(root:delete_tree(name))
  end))
end)

describe("plain requests", function()
  local session
  before_each(function() session = env.session() end)
  after_each(function() session:close() end)

  it("create every kind", run(function()
    local path, stat = assert(session:create("/p", "data", { parents = true }))
    assert.are.same({ "/p", 0, 4 }, { path, stat.version, stat.data_length })
    assert.is_nil(stat.ephemeral_owner)
    local _, ephemeral = assert(session:create("/p/e", "", { ephemeral = true }))
    assert.are.equal(session.id, ephemeral.ephemeral_owner)
    assert.are.equal("/p/s0000000001", (session:create("/p/s", nil, { sequential = true })))
    assert.matches("^/p/es%d+$", (session:create("/p/es", nil, { sequential = true, ephemeral = true })))
    assert(session:create("/p/c", nil, { container = true }))
    assert(session:create("/p/t", nil, { ttl = 60 }))
    assert.matches("^/p/ts%d+$", (session:create("/p/ts", nil, { ttl = 60, sequential = true })))
    fails("node_exists", session:create("/p", ""))
    assert.matches("parent does not exist; pass parents = true", fails("no_node", session:create("/no/such", "")))
    assert.matches("part 1 %(/no/such%): its parent does not exist", fails("no_node", session:multi { { "create", "/no/such", "" } }))
    fails("no_children_for_ephemerals", session:create("/p/e/x", ""))
    assert.are.equal("/deep/er/node", (session:create("/deep/er/node", "x", { parents = true })))
  end))

  it("get and set, with versions, null and binary data", run(function()
    assert(session:create("/n", nil, { parents = true }))
    local data, stat = session:get("/n")
    assert.is_nil(data)
    assert.are.equal(0, stat.version)
    assert.are.equal(1, assert(session:set("/n", "")).version)
    assert.are.equal("", (session:get("/n")))
    local all = {}
    for byte = 0, 255 do
      all[#all + 1] = string.char(byte)
    end
    all = table.concat(all)
    assert(session:set("/n", all, 1))
    assert.are.equal(all, (session:get("/n")))
    fails("bad_version", session:set("/n", "x", 1))
    fails("no_node", session:set("/none", "x"))
    assert(session:set("/n", nil))
    assert.is_nil((session:get("/n")))
    local got, message, code = session:get("/none")
    assert.is_nil(got)
    assert.are.equal("no_node", code)
    assert.matches("session:get /none: ", message)
  end))

  it("carry as much as a server takes, and fail with a clear message beyond", run(function()
    local large = string.rep("x", 990000)
    assert(session:create("/large", large, { parents = true }))
    assert.are.equal(large, (session:get("/large")))
    fails("too_large", session:set("/large", string.rep("x", 1024 * 1024)))
    fails("too_large", session:create("/larger", string.rep("x", 5 * 1024 * 1024)))
    assert.are.equal("connected", session.state)
  end))

  it("exists, delete, children", run(function()
    assert.is_false(session:exists("/x"))
    assert(session:create("/x", "1", { parents = true }))
    assert.are.equal(1, session:exists("/x").data_length)
    assert(session:create("/x/b"))
    assert(session:create("/x/a"))
    local names, stat = session:children("/x")
    table.sort(names)
    assert.are.same({ "a", "b" }, names)
    assert.are.equal(2, stat.num_children)
    fails("not_empty", session:delete("/x"))
    fails("bad_version", session:delete("/x/a", 3))
    assert.is_true(session:delete("/x/a", 0))
    assert.is_true(session:delete("/x/b"))
    assert.is_true(session:delete("/x"))
    fails("no_node", session:delete("/x"))
    fails("no_node", session:children("/x"))
  end))

  it("delete_tree", run(function()
    for i = 1, 250 do
      assert(session:create("/t/d" .. i % 5 .. "/n" .. i, nil, { parents = true }))
    end
    assert.is_true(session:delete_tree("/t"))
    assert.is_false(session:exists("/t"))
    fails("no_node", session:delete_tree("/t"))
    env.raises("the root cannot be deleted", function() session:delete_tree("/") end)
    env.raises("bad argument #1 to 'delete_tree'", function() session:delete_tree("x") end)
  end))

  it("multi: all parts or none", run(function()
    assert(session:create("/m", "0", { parents = true }))
    local results = assert(session:multi {
      { "check", "/m", 0 },
      { "create", "/m/a", "x" },
      { "create", "/m/s", nil, { sequential = true, ephemeral = true } },
      { "set", "/m", "1", 0 },
      { "delete", "/m/a" },
    })
    assert.are.same({ true, "/m/a", 1, true }, { results[1], results[2], results[4].version, results[5] })
    assert.matches("^/m/s%d+$", results[3])
    local message = fails("bad_version", session:multi { { "create", "/m/z" }, { "set", "/m", "2", 9 } })
    assert.matches("part 2 %(/m%)", message)
    assert.is_false(session:exists("/m/z"))
    assert.has_error(function() session:multi {} end)
  end))

  it("sync", run(function()
    assert.is_true(session:sync("/"))
  end))

  it("reconfig of a standalone server is refused with a clear message", run(function()
    assert.matches("^session:reconfig /: .*does not support this request",
      fails("unsupported", session:reconfig { joining = "server.9=127.0.0.1:1:2;3" }))
  end))

  it("a canceled reconfig keeps the memory that is being sent", run(function()
    local bytes = ("x"):rep(200000)
    for i = 1, 30 do
      for _ = 1, 20 do zk.spawn(session.set, session, "/none", bytes) end -- requests ahead of it
      local task = zk.spawn(session.reconfig, session, { joining = ("server.9=127.0.0.1:1:2;3"):rep(i), leaving = "4" })
      zk.sleep(0)
      task:cancel()
      zk.sleep(0)
    end
    assert(session:sync("/"))
  end))

  it("a message without a subject has no gap", run(function()
    local other = env.session()
    assert(other:connected(200))
    assert.matches("^session:add_auth: ", env.fails("auth_failed", other:add_auth("", "x")))
    other:close()
  end))

  it("a credential may be empty, and is recognized when it is added again", run(function()
    local other = env.session()
    for _ = 1, 2 do assert.is_true(other:add_auth("ip", nil)) end
    assert.is_true(other:add_auth("ip", ""))
    other:close()
  end))

  it("from a hundred coroutines at once", run(function()
    assert(session:create("/many", nil, { parents = true }))
    local jobs = {}
    for i = 1, 100 do
      jobs[i] = function()
        assert(session:create("/many/" .. i, tostring(i)))
        return (session:get("/many/" .. i))
      end
    end
    local results = { zk.all(jobs) }
    assert.are.equal(100, #results)
    assert.are.equal("42", results[42])
  end))
end)

describe("session:watch", function()
  it("reports every kind of change once, in order", run(function()
    local session = env.session()
    assert(session:create("/", ""))
    for _ = 1, 30 do
      local watch = session:watch("/w")
      assert(session:create("/w", "0"))
      assert.are.equal("created", watch:wait(200))
      assert(session:set("/w", "1"))
      assert.are.equal("changed", watch:wait(200))
      assert(session:create("/w/child"))
      assert.are.equal("children", watch:wait(200))
      assert(session:delete_tree("/w"))
      local word = watch:wait(200)
      if word == "children" then
        word = watch:wait(200)
      end
      assert.are.equal("deleted", word)
      env.late(watch:wait(0.02))
      watch:close()
      assert.has_error(function() watch:wait() end)
    end
  end))

  it("wakes its waiter when it is closed", run(function()
    local session = env.session()
    local watch = session:watch("/w")
    local wait = env.start(function() return fails("closed", watch:wait()) end)
    zk.sleep(0.01)
    watch:close()
    assert.matches("watch", wait())
  end))

  it("leaves at most one watch per holder on the server, however often clients wait", run(function()
    local server = assert(testing.start()) -- a new server, because it counts the watches of all sessions
    local function open() return zk.session { hosts = server.hosts, timeout = 60 } end
    local session, holder = open(), open()
    local locks, holds, waits = {}, {}, {}

    local function watches() return tonumber(server:mntr():match("zk_watch_count%s+(%d+)")) end

    local function park(i)
      waits[i] = env.start(function() return locks[i]:acquire() end)
      env.eventually("it watches", function() return server:wchp():find(holds[i].path, 1, true) end)
    end

    for i = 1, 30 do
      -- The paths are so long that forgotten watches would soon exceed a session's limit.
      local path = "/" .. i .. ("l"):rep(500)
      locks[i], holds[i] = session:lock(path), assert(holder:lock(path):acquire())
      park(i)
      assert.is_true(watches() <= i)
      locks[i]:cancel()
      fails("canceled", waits[i]())
    end
    for i = 1, 30 do
      waits[i] = env.start(function()
        for _ = 1, 100 do
          local hold, _, code = locks[i]:acquire(0.01)
          assert.is_true(hold == nil and (code == "timeout" or code == "connection_loss"), code) -- answered by then?
        end
      end)
    end
    for i = 1, 30 do waits[i]() end
    assert.is_true(watches() <= 30)
    env.eventually("all are taken back, though the holders hold on", function() return watches() == 0 end)
    env.eventually("the session knows it", function() return session:usage().watched_bytes == 0 end)
    for i = 1, 29 do holds[i]:release() end
    park(30)
    assert.are.equal(1, watches())
    session:close()
    fails("closed", waits[30]())
    env.eventually("none is left", function() return watches() == 0 end)
    assert.is_true(holds[30]:valid())
    holder:close()
    server:stop()
  end))
end)
