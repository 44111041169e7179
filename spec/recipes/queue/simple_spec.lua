-- A queue of the simple format, in simulated worlds. budget_spec.lua tests its znodes.
-- Tags: sanitize, one thread

local allocations = require "spec.support.allocations"
local arguments = require "zkrecipes.recipes.queue.arguments"
local core = require "zkrecipes.core"
local env = require "spec.support.env"
local sim = require "zkrecipes.sim"

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

  it("does not list a directory with too many names", in_world(function(world, zk, _, session)
    local listed = arguments.LISTED
    finally(function() arguments.LISTED = listed end)
    arguments.LISTED = 3
    local queue = session:queue("/few", { format = "simple" })
    queue:put_all { "1", "2", "3" }
    local kind = "children" -- of request
    local asked = world:requests(zk, kind)
    assert.equal("1", queue:peek().data)
    assert.equal(asked + 1, world:requests(zk, kind))
    queue:put("4")
    assert.equal("queue:take /few: the directory has 4 znodes; format 'simple' lists at most 3", fails("full", queue:take()))
    fails("full", queue:take(0))
    fails("full", queue:peek())
    assert.has_error(queue:items(), "queue:items /few: the directory has 4 znodes; format 'simple' lists at most 3")
    assert.equal(asked + 1, world:requests(zk, kind))
    assert.equal(4, queue:size())
    assert(session:delete("/few/qn-0000000001"))
    assert.equal("1", queue:take())
  end))

  it("takes items that an operator has named, in the order of their numbers", in_world(function(_, _, queue, session)
    assert(queue:put("1"))
    assert(session:create("/q/qn-00000000003", "3"))
    assert(session:create("/q/qn-2", "2"))
    assert(session:create("/q/qn--2147483648", "0"))
    assert(session:create("/q/qn-x", "no item"))
    for i = 0, 3 do assert.equal(tostring(i), assert(queue:take(0))) end
    fails("timeout", queue:take(0))
    for _, number in ipairs { "99999999999999999999999", "100000000000000000000000", "-5", "-10", "-0", "07" } do
      assert(session:create("/q/qn-" .. number, number))
    end
    for _, name in ipairs { "qn-", "qn--", "qn-1x", "qn-1 ", "qn-0x1", "qm-1", "qn" } do
      assert(session:create("/q/" .. name, "no item"))
    end
    local seen = {}
    for item in queue:items() do seen[#seen + 1] = item.data end
    assert.same({ "-10", "-5", "-0", "07", "99999999999999999999999", "100000000000000000000000" }, seen)
  end))

  it("fails the take that gets an item which cannot be deleted, and gives the others", in_world(function(_, _, queue, session)
    assert(queue:put_all { "1", "2", "3" })
    assert(session:create("/q/qn-0000000000/child", ""))
    fails("not_empty", queue:take(0))
    assert.equal("2", queue:take(0))
    assert.equal("3", queue:take(0))
    fails("not_empty", queue:take(0))
    assert(session:delete("/q/qn-0000000000/child"))
    assert.equal("1", queue:take(0))
  end))

  it("gives data as they are; no data are empty", in_world(function(_, _, queue, session)
    local data = "a\0b\255\n"
    assert(queue:put(data))
    assert(queue:put(""))
    assert(session:create("/q/qn-", nil, { sequential = true }))
    local seen = {}
    for item in queue:items() do seen[#seen + 1] = item.data or "none" end
    assert.same({ data, "", "none" }, seen)
    assert.same({ data = data, path = "/q/qn-0000000000" }, queue:peek())
    for _, expected in ipairs { data, "", "" } do assert.equal(expected, queue:take(0)) end
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

  it("says how many items it has put before it failed", in_world(function(world, zk, queue, session)
    assert(queue:put("0"))
    world:plan(zk, "lose_request", { kind = "create", nth = 3 })
    local _, _, code, done = queue:put_all { "1", "2", "3", "4" }
    assert.same({ "connection_loss", 2 }, { code, done })
    world:advance(5)
    assert.equal(3, queue:size())
    session:close()
    _, _, code, done = queue:put_all { "5" }
    assert.same({ "closed", 0 }, { code, done })
  end))

  it("says that the item may be gone if the answer to its delete was lost", in_world(function(world, zk, queue)
    assert(queue:put_all { "1", "2" })
    world:plan(zk, "lose_reply", { kind = "delete" })
    assert.matches("may or may not", fails("connection_loss", queue:take(5)), 1, true)
    world:advance(5)
    assert.equal("2", queue:take(5))
    assert(queue:put("3"))
    world:plan(zk, "lose_request", { kind = "delete" })
    fails("connection_loss", queue:take(5))
    world:advance(5)
    assert.equal("3", queue:take(5))
  end))
end)

-- Runs body(world, zk, queue, other): `other` is the queue of another process.
local function with_other(body)
  return in_world(function(world, zk, queue)
    body(world, zk, queue, world:process().session({ timeout = 10 }):queue("/q", { format = "simple" }))
  end)
end

-- Starts takes that wait. Returns their tasks.
local function waiting(world, zk, queue, count)
  local tasks = {}
  for i = 1, count do tasks[i] = zk.spawn(queue.take, queue) end
  world:advance(1)
  return tasks
end

describe("takes of one process", function()
  it("share a listing", with_other(function(world, zk, queue, other)
    for _, path in ipairs { "missing", "empty" } do
      local from = world:requests(zk)
      local tasks = waiting(world, zk, queue, 50)
      assert.is_true(world:requests(zk) - from <= 6, path .. ": " .. world:requests(zk) - from)
      from = world:requests(zk)
      assert(other:put("1"))
      world:advance(1)
      assert.is_true(world:requests(zk) - from <= 10, path .. ": " .. world:requests(zk) - from)
      for i = 2, 50 do assert(other:put(tostring(i))) end
      local seen = {}
      for i = 1, 50 do seen[tonumber((tasks[i]:wait(10)))] = true end
      assert.equal(50, #seen)
    end
  end))

  it("do not give the listing that began before the call", with_other(function(world, zk, queue, other)
    assert(other:put("0"))
    assert.equal("0", queue:take(5))
    world:plan(zk, "delay", { kind = "children", seconds = 0.8 })
    local first = zk.spawn(queue.take, queue, 0)
    world:advance(0.3)
    assert(other:put("1"))
    local second = zk.spawn(queue.take, queue, 0)
    local one, two = first:wait(10), second:wait(10)
    assert.equal("1", one or two)
  end))

  it("go on when the one ends that lists", with_other(function(world, zk, queue, other)
    assert(other:put("0"))
    assert.equal("0", queue:take(5))
    world:plan(zk, "delay", { kind = "children", seconds = 3 })
    local first = zk.spawn(queue.take, queue)
    world:advance(0.5)
    local second = zk.spawn(queue.take, queue)
    world:advance(0.5)
    first:cancel()
    assert(other:put("1"))
    assert.equal("1", (second:wait(60)))
  end))

  it("go on when the one ends that tries the item", with_other(function(world, zk, queue, other)
    local tasks = waiting(world, zk, queue, 2)
    world:plan(zk, "delay", { kind = "get", seconds = 3 })
    assert(other:put("1"))
    world:advance(1)
    tasks[1]:cancel()
    assert.equal("1", (tasks[2]:wait(60)))
  end))

  it("leave nothing behind", with_other(function(world, zk, queue, other)
    local session = zk.session { timeout = 10 }
    local mine = session:queue("/q", { format = "simple" })
    local before = session:usage().watches
    for i = 1, 5 do
      local tasks = waiting(world, zk, mine, 3)
      assert(other:put("x"))
      world:advance(1)
      for each = 1, 3 do tasks[each]:cancel() end
      world:advance(120)
      assert.equal(before, session:usage().watches, "round " .. i)
    end
    fails("timeout", queue:take(0))
  end))
end)

it("takes that wait get the item if another one ends for want of memory", in_world(function(world, zk, queue)
  local producer, ended = world:process(), 0
  local other = producer.session({ timeout = 10 }):queue("/q", { format = "simple" })
  assert(other:put("0"))
  assert.equal("0", queue:take(5))
  local count = allocations.at_every(function(n)
    core.alloc_fail(0)
    local tasks, taken = waiting(world, zk, queue, 2), 0
    world:plan(producer, "delay", { kind = "create", seconds = 2 })
    local put = producer.spawn(other.put, other, "x")
    world:advance(1)
    core.alloc_fail(n)
    world:advance(5)
    for _, task in ipairs(tasks) do
      if task.done then
        ended = ended + 1
        taken = taken + (allocations.check(task:wait()) and 1 or 0)
      end
    end
    assert.is_true(put:wait(1))
    assert.is_true(taken == 1 or #world:children("/q") == 1 and tasks[1].done and tasks[2].done, n)
    for _, task in ipairs(tasks) do task:cancel() end
    while #world:children("/q") > 0 do queue:take(0) end
  end)
  assert.is_true(count > 5 and ended > count, count)
end))

describe("an iterator of a simple queue", function()
  it("goes on where it was when a step has failed", in_world(function(world, zk, queue)
    assert(queue:put_all { "1", "2", "3" })
    local items = queue:items()
    assert.equal("1", items().data)
    world:disconnect(zk)
    assert.has_error(items)
    world:heal()
    world:advance(5)
    assert.equal("2", items().data)
    assert.equal("3", items().data)
    assert.is_nil(items())
    assert.is_nil(items())
  end))

  it("leaves out what is gone", with_other(function(_, _, queue, other)
    assert(queue:put_all { "1", "2", "3" })
    local items = queue:items()
    assert.equal("1", items().data)
    assert.equal("1", other:take(0))
    assert.equal("2", other:take(0))
    assert.equal("3", items().data)
    assert.is_nil(items())
  end))

  it("can be used by several coroutines", in_world(function(_, zk, queue)
    assert(queue:put_all { "1", "2", "3" })
    local items, tasks, seen = queue:items(), {}, {}
    for i = 1, 5 do tasks[i] = zk.spawn(items) end
    for i = 1, 5 do
      local item = tasks[i]:wait(10)
      if item then seen[item.data] = true end
    end
    for item in items do seen[item.data] = true end
    assert.same({ ["1"] = true, ["2"] = true, ["3"] = true }, seen)
  end))
end)

it("a simple queue says so when memory is exhausted, and loses nothing", function()
  local world = sim.new { seed = 1, limit = 1e6 }
  world:run(function()
    local zk = world:process()
    local session = zk.session { timeout = 10 }
    local queue, put, taken = session:queue("/q", { format = "simple" }), 0, 0
    assert(session:connected(5))
    local count = allocations.at_every(function()
      local waiter = zk.spawn(queue.take, queue, 5)
      put = put + (allocations.check(queue:put("x")) and 1 or 0)
      local _, _, _, done = queue:put_all { "y", "z" }
      put = put + (done or 2)
      allocations.check(queue:peek())
      pcall(queue:items())
      taken = taken + (allocations.check(waiter:wait(20)) and 1 or 0)
      while queue:take(0) do taken = taken + 1 end
    end)
    while queue:take(0) do taken = taken + 1 end
    assert.is_true(count > 20, count)
    assert.equal(put, taken)
    assert.equal(0, queue:size())
  end)
end)
