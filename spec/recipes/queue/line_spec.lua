-- Many waiters for one queue in one process: their order, and their cost. In simulated worlds.

local env = require "spec.support.env"
local lines = require "zkrecipes.recipes.queue.line"
local sim = require "zkrecipes.sim"

-- Runs body(world, zk, queue) in a process of a new world.
local function in_world(body)
  local world = sim.new { seed = 1, limit = 100000 }
  return world:run(function()
    local zk = world:process()
    local queue = zk.session({ timeout = 10 }):queue("/jobs")
    queue:put("first")
    assert(queue:claim()):ack()
    return body(world, zk, queue)
  end)
end

-- CPU seconds for this many items, one a second, with this many waiters.
local function cost(waiters, items)
  return in_world(function(world, zk, queue)
    local got, tasks = 0, {}
    for i = 1, waiters do
      tasks[i] = zk.spawn(function()
        if queue:take() then got = got + 1 end
      end)
    end
    world:advance(5)
    local from = os.clock()
    for _ = 1, items do
      queue:put("x")
      world:advance(1)
    end
    local took = os.clock() - from
    assert.equal(items, got)
    for i = 1, waiters do tasks[i]:cancel() end
    return took
  end)
end

describe("a waiter for a queue", function()
  it("does not make an item more expensive", function()
    cost(100, 10)
    local few, many = cost(100, 10), cost(4000, 10)
    assert.is_true(many < 30 * few + 0.01, ("%.4f s beside 4000, %.4f s beside 100"):format(many, few))
  end)

  it("counts as one consumer per process and session", function()
    in_world(function(world, zk, queue)
      for round = 1, 3 do
        local tasks = {}
        for i = 1, 50 do
          queue:put("x")
          tasks[i] = zk.spawn(function() return queue:claim(30):ack() end)
        end
        for i = 1, 50 do assert.is_true(tasks[i]:wait(600)) end
        assert.equal(1, #world:children("/jobs/consumers"))
        world:expire(zk)
        world:advance(10 + round)
      end
    end)
  end)

  it("is served in order", function()
    in_world(function(world, zk, queue)
      local seen = {}
      for i = 1, 20 do
        zk.spawn(function() seen[tonumber((queue:take(100)))] = i end)
        zk.sleep(0)
      end
      world:advance(5)
      for i = 1, 20 do
        queue:put(tostring(i))
        world:advance(1)
      end
      for i = 1, 20 do assert.equal(i, seen[i]) end
    end)
  end)

  it("keeps waiting beside callers that only try; these do not wait for it", function()
    in_world(function(world, zk, queue)
      local patient = {}
      for i = 1, 5 do patient[i] = zk.spawn(queue.claim, queue, 100) end
      world:advance(1)
      for _ = 1, 5 do env.fails("timeout", zk.spawn(queue.claim, queue, 0):wait(1)) end
      for i = 1, 5 do
        queue:put(tostring(i))
        assert.equal(tostring(i), patient[i]:wait(200).data)
      end
    end)
  end)

  it("is forgotten when its caller leaves", function()
    in_world(function(world, zk, queue)
      zk.spawn(queue.claim, queue, 10000)
      world:advance(1)
      local gone = setmetatable({}, { __mode = "k" })
      for _ = 1, 50 do
        local task = zk.spawn(queue.claim, queue, 1)
        world:advance(0.5)
        gone[queue.consumer.line.ahead] = true
        task:cancel()
        world:advance(0.1)
      end
      for _ = 1, 50 do queue:claim(0) end
      assert.equal(1, queue.consumer.line.count)
      collectgarbage()
      collectgarbage()
      local left = 0
      for _ in pairs(gone) do left = left + 1 end
      assert.is_true(left < 5, left)
    end)
  end)
end)

describe("the line", function()
  local function waiters(line, count)
    local list = {}
    for i = 1, count do
      list[i] = { name = i, try = i % 3 == 0 }
      line:push(list[i])
    end
    return list
  end

  local function names(line)
    local list = {}
    for waiter in function() return line:pop() end do list[#list + 1] = waiter.name end
    assert.equal(0, line.count)
    return list
  end

  it("is first come, first served", function()
    local line = lines.new()
    assert.is_nil(line:pop())
    local list = waiters(line, 5)
    assert.equal(5, line.count)
    line:remove(list[1])
    line:remove(list[4])
    line:remove(list[4])
    assert.same({ 2, 3, 5 }, names(line))
    line:remove(list[2])
    assert.equal(0, line.count)
  end)

  it("keeps its place when it comes back", function()
    for _, order in ipairs { { 1, 2, 3, 4 }, { 4, 3, 2, 1 }, { 2, 4, 1, 3 }, { 3, 1, 4, 2 } } do
      local line = lines.new()
      local list = waiters(line, 7)
      for _ = 1, 4 do line:pop() end
      line:remove(list[5])
      for i = 1, 4 do line:put_back(list[order[i]]) end
      assert.same({ 1, 2, 3, 4, 6, 7 }, names(line))
      line:put_back(list[6])
      line:put_back(list[3])
      assert.same({ 3, 6 }, names(line))
    end
  end)

  it("distinguishes callers that only try", function()
    local line = lines.new()
    local list = waiters(line, 9)
    for _ = 1, 3 do line:pop() end
    line:put_back(list[3])
    line:remove(list[6])
    local tries = line:pop_tries()
    assert.equal(2, #tries)
    assert.equal(3, tries[1].name)
    assert.equal(9, tries[2].name)
    assert.same({}, line:pop_tries())
    assert.same({ 4, 5, 7, 8 }, names(line))
  end)
end)
