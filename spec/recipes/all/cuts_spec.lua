-- A connection that breaks again and again: a waiter is told every change that happened meanwhile, and nothing grows.

local env = require "spec.support.env"
local run = env.run

describe("broken connections, a thousand in virtual time or a few of many real sessions,", function()
  for _, name in ipairs { "thousand_cuts", "few_cuts" } do
    it("leave each waiter with its watches, one znode and the memory that it had: " .. name, function() env.alone(name) end)
  end
end)

describe("a change while the connection is down", function()
  -- there: the path exists before the change. told: the events that the watch reports.
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

  it("is reported once by session:watch in the same session, and so are later changes", run(function()
    local proxy, namespace = env.proxy(), env.namespace()
    local session = env.session { hosts = proxy.hosts, namespace = namespace, timeout = 100 }
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
