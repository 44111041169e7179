-- A link that breaks again and again: who waits is told of all that happened meanwhile, and nothing grows.

local core = require "zkrecipes.core"
local env = require "spec.support.env"
local proxies = require "spec.support.proxy"
local sim = require "zkrecipes.sim"
local testing = require "zkrecipes.testing"
local zk = require "zkrecipes"
local run = env.run

describe("a thousand cuts", function()
  it("leave one waiter with one watch, one znode and the memory that it had", function()
    local world = sim.new { seed = 1, servers = 1 }
    world:run(function()
      local holder, host = world:session(), world:process()
      local session = host.session { timeout = 30 }
      local hold = assert(holder:lock("/l"):acquire())
      local wait = host.spawn(function() return session:lock("/l"):acquire() end)
      world:advance(1)
      local id, blocks, bytes = session.id, nil, nil
      for i = 1, 1000 do
        world:cut(session)
        world:advance(1)
        assert.are.equal("connected", session.state)
        assert.are.equal(1, world:watches())
        if i == 100 then blocks, bytes = env.blocks(), core.alloc_bytes() end
      end
      assert.are.equal(id, session.id)
      assert.are.equal(2, #world:children("/l"))
      assert.is_true(env.blocks() <= blocks and core.alloc_bytes() <= bytes)
      hold:release()
      assert(wait:wait(1)):release()
      world:advance(1)
      assert.are.same({ 0, 0 }, { world:watches(), #world:children("/l") })
    end)
  end)
end)

describe("a few cuts of many real sessions", function()
  local SESSIONS, CUTS = 40, 8
  local server, proxy

  setup(function()
    server = assert(testing.start())
    proxy = proxies.start(server)
  end)
  teardown(function()
    proxy:stop()
    server:stop()
  end)

  local function watches() return tonumber(server:mntr():match("zk_watch_count%s+(%d+)")) end

  it("leave each waiter with one watch, one znode and the memory that it had", run(function()
    local holder = zk.session { hosts = server.hosts, timeout = 30 }
    local hold = assert(holder:lock("/l"):acquire())
    local sessions, waits, blocks, bytes = {}, {}, nil, nil
    for i = 1, SESSIONS do
      sessions[i] = zk.session { hosts = proxy.hosts, timeout = 30 }
      waits[i] = env.start(function() assert(sessions[i]:lock("/l"):acquire()):release() end)
    end
    for i = 1, CUTS do
      env.queue_of(holder, "/l", SESSIONS + 1)
      env.eventually("all watch", function() return watches() == SESSIONS end)
      for _, session in ipairs(sessions) do assert(session:sync("/")) end
      if i == 3 then blocks, bytes = env.blocks(), core.alloc_bytes() end
      proxy:reset()
      proxy:cut()
      assert(proxy:wait_for("connections", SESSIONS, 30))
    end
    for _, session in ipairs(sessions) do assert(session:sync("/")) end
    assert.are.equal(SESSIONS, watches())
    assert.is_true(env.blocks() <= blocks, env.blocks() .. " blocks after " .. blocks)
    assert.is_true(core.alloc_bytes() <= bytes, core.alloc_bytes() .. " bytes after " .. bytes)
    hold:release()
    for i = 1, SESSIONS do waits[i]() end
    env.queue_of(holder, "/l", 0)
    assert.are.equal(0, watches())
    for _, session in ipairs(sessions) do session:close() end
    holder:close()
  end))
end)

describe("what changes while the link is down", function()
  -- The path is there at first or not; what happens; and what is told of it.
  local CASES = {
    { path = "/changed", there = true, told = { "changed" }, change = function(other, path) assert(other:set(path, "1")) end },
    { path = "/twice", there = true, told = { "changed" }, change = function(other, path)
      assert(other:set(path, "1"))
      assert(other:set(path, "2"))
    end },
    { path = "/deleted", there = true, told = { "deleted" }, change = function(other, path) assert(other:delete(path)) end },
    { path = "/replaced", there = true, told = { "deleted", "created" }, change = function(other, path)
      assert(other:delete(path))
      assert(other:create(path, "2"))
    end },
    { path = "/created", there = false, told = { "created" }, change = function(other, path) assert(other:create(path, "1")) end },
    { path = "/children", there = true, told = { "children" }, change = function(other, path)
      assert(other:create(path .. "/x", ""))
    end },
    { path = "/children-twice", there = true, told = { "children" }, change = function(other, path)
      assert(other:create(path .. "/x", ""))
      assert(other:delete(path .. "/x"))
    end },
  }

  it("is told by session:watch to the same session, once, and so is what comes later", run(function()
    local proxy, namespace = env.proxy(), env.namespace()
    local session = env.session { hosts = proxy.hosts, namespace = namespace, timeout = 20 }
    local other, watches = env.session { namespace = namespace }, {}
    for _, case in ipairs(CASES) do
      if case.there then assert(other:create(case.path, "0", { parents = true })) end
      watches[case] = assert(session:watch(case.path))
    end
    assert(session:sync("/"))
    local id = session.id
    proxy:refuse()
    proxy:cut()
    env.eventually("the link is seen to be lost", function() return session.state == "suspended" end)
    for _, case in ipairs(CASES) do case.change(other, case.path) end
    proxy:heal()
    for _, case in ipairs(CASES) do
      for _, word in ipairs(case.told) do assert.are.equal(word, watches[case]:wait(200), case.path) end
    end
    assert.are.equal(id, session.id)
    assert(session:sync("/"))
    for _, case in ipairs(CASES) do
      env.fails("timeout", watches[case]:wait(0))
      local there = other:exists(case.path)
      assert(there and other:set(case.path, "later") or other:create(case.path, "later"))
      assert.are.equal(there and "changed" or "created", watches[case]:wait(200), case.path)
    end
    session:close()
    other:close()
  end))
end)
