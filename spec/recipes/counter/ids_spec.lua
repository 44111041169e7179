-- Ids on a real server.

local sim = require "zkrecipes.sim"
local zk = require "zkrecipes"
local env = require "spec.support.env"
local run, fails, raises = env.run, env.fails, env.raises

describe("ids", function()
  it("are unique in all processes and grow in each", run(function()
    local namespace = env.namespace()
    local one, other = env.session { namespace = namespace }, env.session { namespace = namespace }
    local seen, takers = {}, {}
    for i = 1, 4 do
      local ids = (i % 2 == 0 and one or other):ids("/a/ids", { block = 7 })
      takers[#takers + 1] = function()
        local before = 0
        for _ = 1, 50 do
          local number = assert(ids:next())
          assert.is_true(number > before and not seen[number])
          before, seen[number] = number, true
        end
      end
    end
    zk.all(takers)
    one:close()
    other:close()
  end))

  it("are given in order to coroutines that ask at the same time", run(function()
    local session = env.session()
    local ids, asked = session:ids("/ids", { block = 10 }), {}
    for i = 1, 35 do asked[i] = function() return ids:next() end end
    local numbers = { zk.all(asked) }
    for i = 1, 35 do assert.equal(i, numbers[i]) end
    assert.equal("40", session:get("/ids"))
    session:close()
  end))

  it("keep nothing of a call whose limit has passed", function()
    local world = sim.new { seed = 1 }
    world:run(function()
      local session = world:session()
      local ids = session:ids "/ids"
      world:stop_server(1)
      for _ = 1, 10 do env.late(ids:next { timeout = 0.1 }) end
      assert.is_nil(next(ids.waiters.numbers))
    end)
  end)

  it("end at 2^53, and never go back", run(function()
    local session = env.session()
    assert(session:counter("/ids"):set(2 ^ 53 - 3))
    local ids = session:ids("/ids", { block = 2 })
    assert.equal(2 ^ 53 - 2, ids:next())
    assert.equal(2 ^ 53 - 1, ids:next())
    assert.matches("^ids:next /ids: ", fails("full", ids:next()))
    assert(session:delete_tree("/ids"))
    assert.matches("^ids:next /ids: the counter went back: 1 comes after 9007199254740991",
      fails("conflict", ids:next()))
    assert(session:counter("/ids"):set(2 ^ 53 - 2))
    fails("conflict", ids:next())
    session:close()
  end))

  it("fail for all simultaneous callers with one request, and work again later", run(function()
    local session = env.session()
    assert(session:create("/ids", "text"))
    local ids, failed = session:ids("/ids"), {}
    for i = 1, 5 do failed[i] = env.start(function() return ids:next() end) end
    for i = 1, 5 do fails("conflict", failed[i]()) end
    assert(session:set("/ids", "1"))
    assert.equal(2, ids:next())
    session:close()
  end))

  it("come from sequential znodes that are deleted at once", run(function()
    local session = env.session()
    local ids, seen = session:ids("/ids"), {}
    for _ = 1, 5 do
      local name = assert(ids:next_name "order-")
      assert.matches("^order%-%d%d%d%d%d%d%d%d%d%d$", name)
      assert.is_nil(seen[name])
      seen[name] = true
    end
    env.eventually("no znode", function()
      for _, name in ipairs(session:children("/ids")) do
        if name:find "^order" then return false end
      end
      return true
    end)
    assert(session:delete_tree("/ids"))
    assert.matches("^ids:next_name /ids: the directory was made anew", fails("conflict", ids:next_name "order-"))
    session:close()
  end))

  it("end for ever when a name shows that the directory was made anew", run(function()
    local namespace = env.namespace()
    local session, other = env.session { namespace = namespace }, env.session { namespace = namespace }
    local ids, theirs, given = session:ids("/ids", { block = 10 }), other:ids "/ids", {}
    assert.equal(1, ids:next())
    for _ = 1, 3 do given[assert(theirs:next_name "order-")] = true end
    given[assert(ids:next_name "order-")] = true
    assert(session:delete_tree "/ids")
    for _ = 1, 8 do -- the server's sequence begins again, and passes the last number that was given here
      local name = ids:next_name "order-"
      assert.is_nil(given[name])
      assert.is_nil(name)
    end
    assert.matches("^ids:next_name /ids: the directory was made anew", fails("conflict", ids:next_name "order-"))
    assert.matches("^ids:next /ids: the directory was made anew", fails("conflict", ids:next())) -- 2 to 10 may be given again
    session:close()
    other:close()
  end))

  it("raise misuse", run(function()
    local session = env.session()
    local ids = session:ids("/ids")
    for _, bad in ipairs { 0, 1.5, -1, 1e10, 0 / 0 } do
      raises("option 'block': whole number from 1 to 1000000000 expected", function() session:ids("/ids", { block = bad }) end)
    end
    raises("option 'block': number expected", function() session:ids("/ids", { block = "1" }) end)
    raises("below the root", function() session:ids("/") end)
    raises("string expected", function() ids:next_name() end)
    raises("must not end with '/'", function() ids:next_name "" end)
    raises("holds a slash", function() ids:next_name "a/b" end)
    raises("seconds must not be negative", function() ids:next { timeout = -1 } end)
    session:close()
    fails("closed", ids:next())
    fails("closed", ids:next_name "a")
  end))
end)
