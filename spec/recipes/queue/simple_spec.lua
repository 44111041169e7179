-- A queue of the simple format, in simulated worlds. budget_spec.lua tests its znodes.

local env = require "spec.support.env"
local sim = require "zkrecipes.sim"
local simple = require "zkrecipes.recipes.queue.simple"

local fails, raises = env.fails, env.raises

local function in_world(body)
  return function()
    local world = sim.new { seed = 1, limit = 5000 }
    world:run(function()
      local zk = world:process()
      local session = zk.session { timeout = 10 }
      body(world, zk, session:queue("/q", { format = "simple" }), session)
    end)
  end
end

describe("a simple queue", function()
  it("fails a take with `closed` if the session is closed, with a limit and without", in_world(function(world, zk, queue, session)
    local tasks = { zk.spawn(queue.take, queue), zk.spawn(queue.take, queue, 100) }
    world:advance(1)
    session:close()
    for i = 1, 2 do fails("closed", tasks[i]:wait(10)) end
    fails("closed", queue:take())
  end))

  it("ends a take in time, and takes an item that comes in time", in_world(function(world, zk, queue)
    local from = world:now()
    local message = fails("timeout", queue:take(2))
    assert.equal("queue:take /q: there is no item", message)
    assert.is_true(world:now() - from >= 2 and world:now() - from < 2.1)
    local task = zk.spawn(queue.take, queue, 5)
    world:advance(1)
    queue:put("x")
    assert.equal("x", (task:wait(1)))
  end))

  it("continues a take after a lost connection, and in the next session", in_world(function(world, zk, queue, session)
    local task = zk.spawn(queue.take, queue)
    world:advance(1)
    world:cut(zk)
    world:advance(5)
    world:expire(session)
    world:advance(20)
    queue:put("x")
    assert.equal("x", (task:wait(200)))
  end))

  it("does not list a directory with too many names", in_world(function(world, zk, queue, session)
    local listed = simple.LISTED
    simple.LISTED = 3
    queue:put_all { "1", "2", "3" }
    local kind = "children" -- of request
    local asked = world:requests(zk, kind)
    assert.equal("1", queue:peek().data)
    assert.equal(asked + 1, world:requests(zk, kind))
    queue:put("4")
    assert.equal("queue:take /q: the directory has 4 znodes; format 'simple' lists at most 3", fails("full", queue:take()))
    fails("full", queue:take(0))
    fails("full", queue:peek())
    assert.has_error(queue:items(), "queue:items /q: the directory has 4 znodes; format 'simple' lists at most 3")
    assert.equal(asked + 1, world:requests(zk, kind))
    assert.equal(4, queue:size())
    assert(session:delete("/q/qn-0000000001"))
    assert.equal("1", queue:take())
    simple.LISTED = listed
  end))

  it("takes items that an operator has named, in the order of their numbers", in_world(function(_, _, queue, session)
    assert(queue:put("1"))
    assert(session:create("/q/qn-00000000003", "3"))
    assert(session:create("/q/qn-2", "2"))
    assert(session:create("/q/qn--2147483648", "0"))
    assert(session:create("/q/qn-x", "no item"))
    for i = 0, 3 do assert.equal(tostring(i), assert(queue:take(0))) end
    fails("timeout", queue:take(0))
  end))

  it("refuses options and lists that the format does not support", in_world(function(_, _, queue)
    raises("unknown option 'priority'", function() queue:put("x", { priority = 1 }) end)
    raises("#2 to 'put_all'", function() queue:put_all({ "x" }, "5") end)
    raises("#1 to 'put_all' %(entry 2: string expected, got table", function() queue:put_all { "x", { data = "y" } } end)
    raises("a table with 'data'", function() queue:put_all { data = "x" } end)
    raises("without entry 2", function() queue:put_all { "x", nil, "z" } end)
    assert.equal(0, queue:size())
    assert.equal(0, queue:put_all {})
    assert.equal(2, queue:put_all { "x", "y" })
  end))
end)
