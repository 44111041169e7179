-- cqueues: the contract, and cases with more than one controller.

local collect = require "spec.support.collect"
local cqueues = require "cqueues"
local env = require "spec.support.env"
local loop = require "spec.support.loops.cqueues"
local zk = require "zkrecipes".using "cqueues"

require "spec.adapters.contract"("cqueues", loop)

local function open()
  return zk.session { hosts = env.server().hosts, namespace = env.namespace(), timeout = 60 }
end

describe("controllers of cqueues:", function()
  it("the next controller replaces one that was dropped with its watcher and its waits", function()
    local first, session, got = cqueues.new(), nil, nil
    first:wrap(function()
      session = open()
      assert(session:create("/a", "data"))
      zk.sleep(1000)
    end)
    repeat
      assert(first:step(0.05))
    until session and session.state == "connected"
    local second = cqueues.new()
    second:wrap(function()
      for _ = 1, 10 do got = session:get("/a") end
      session:close()
    end)
    assert(second:loop(200))
    assert.is_true(second:empty())
    assert.are.equal("data", got)
  end)

  it("a controller may run inside another one", function()
    local outer, inner, results = cqueues.new(), cqueues.new(), {}
    inner:wrap(function()
      local session = open()
      results.inner = session:create("/a")
      session:close()
    end)
    outer:wrap(function()
      local session = open()
      results.outer = session:create("/a")
      session:close()
    end)
    outer:wrap(function()
      assert(inner:step(0))
      while not inner:empty() do
        cqueues.poll(inner)
        assert(inner:step(0))
      end
    end)
    assert(outer:loop(200))
    assert.are.same({ inner = "/a", outer = "/a" }, results)
    assert.is_true(outer:empty())
  end)

  it("a session opened outside is driven from the first wait on", function()
    local session, made = open(), nil
    local controller = cqueues.new()
    controller:wrap(function()
      made = session:create("/a")
      session:close()
    end)
    assert(controller:loop(200))
    assert.are.equal("/a", made)
    assert.error_matches(function() zk.spawn(print) end, "cannot spawn outside of a cqueues controller")
  end)

  it("an item that is collected while no controller runs returns to the queue", function()
    local session, controller, item = open(), cqueues.new(), nil
    local queue = session:queue("/jobs")
    local function inside(fn)
      local done
      controller:wrap(function()
        fn()
        done = true
      end)
      while not done do assert(controller:step(0.1)) end
    end
    inside(function()
      assert(queue:put("x"))
      item = assert(queue:claim(200))
    end)
    local dropped = setmetatable({ item }, { __mode = "v" })
    item = nil -- luacheck: ignore 311
    repeat collect() until not dropped[1]
    inside(function()
      local again = assert(queue:claim(200))
      assert.are.equal("x", again.data)
      assert.are.equal(1, again.attempts)
      assert(again:ack())
      session:close()
    end)
  end)
end)
