-- Claims that end early: their caller is canceled, the session is closed, or memory is exhausted, at each moment. The item returns, and the
-- attempt does not count. In simulated worlds.
-- Tags: sanitize, one thread

local core = require "zkrecipes.core"
local env = require "spec.support.env"
local queues = require "spec.support.queues"
local sim = require "zkrecipes.sim"
local wait = require "zkrecipes.host.wait"

local fails = env.fails

-- Runs body(world, queue, zk, mine): a queue with this item (nil: none), which another process knows, and a handle of a process that has
-- never claimed.
local function in_world(item, body)
  local world = sim.new { seed = 1, limit = 5000 }
  world:run(function()
    local queue = world:process().session({ timeout = 30 }):queue("/jobs")
    assert(queue:put("first"))
    assert(queue:claim(5)):ack()
    if item then assert(queue:put(item)) end
    local zk = world:process()
    local session = zk.session { timeout = 30 }
    assert(session:connected(5))
    body(world, queue, zk, session:queue("/jobs"), session)
  end)
end

local function nothing_left(world, mine)
  env.eventually_in(world, "nothing is left", function()
    local counts = queues.counts(mine)
    return #world:children("/jobs/claims") == 0 and #(world:children("/jobs/seat") or {}) == 0 and counts.claims + counts.waiting == 0
  end)
end

local function is_there(queue, data)
  local item = assert(queue:claim(60))
  assert.same({ data, 1 }, { item.data, item.attempts })
  assert(item:ack())
  assert.same({ 0, 0 }, { queue:size(), queue:dead_size() })
end

for _, method in ipairs { "claim", "take" } do
  it("an item returns if the caller of " .. method .. " is gone when it was given, but has not taken its result", function()
    in_world("x", function(world, queue, _, mine)
      local slot, host = core.classes.queue.inner[method](mine.core)
      local wanted = wait.expect(host, slot)
      world:advance(1)
      assert.is_true(wanted.done)
      wanted:give_up()
      world:advance(1)
      nothing_left(world, mine)
      is_there(queue, "x")
    end)
  end)
end

it("an item that was taken for a caller that has gone is put back once, also if the answer comes too late", function()
  in_world("x", function(world, queue, zk)
    local mine = zk.session({ timeout = 30, request_timeout = 0.5 }):queue("/jobs")
    local slot, host = core.classes.queue.inner.take(mine.core)
    local wanted = wait.expect(host, slot)
    world:advance(1)
    assert.is_true(wanted.done)
    world:plan(zk, "delay", { kind = "create", seconds = 2 })
    wanted:give_up()
    world:advance(10)
    assert.equal(0, world:planned(zk))
    is_there(queue, "x")
  end)
end)

describe("a claim that is canceled", function()
  -- The answer to each kind of request is late, one after the other.
  for _, kind in ipairs { "children", "create", "get", "multi", "exists" } do
    it("while it waits for the answer to a " .. kind .. ", lets its item return", function()
      in_world("x", function(world, queue, zk, mine)
        world:plan(zk, "delay", { kind = kind, seconds = 2 })
        local task = zk.spawn(mine.claim, mine, 100)
        world:advance(1)
        assert.equal(0, world:planned(zk))
        task:cancel()
        fails("canceled", task:wait(1))
        world:advance(5)
        nothing_left(world, mine)
        is_there(queue, "x")
      end)
    end)
  end

  it("gives its item to the next caller of the process", function()
    in_world("x", function(world, _, zk, mine)
      world:plan(zk, "delay", { kind = "multi", seconds = 2 })
      local one = zk.spawn(mine.claim, mine, 100)
      world:advance(1)
      local other = zk.spawn(mine.claim, mine, 100)
      world:advance(0.1)
      one:cancel()
      local item = assert(other:wait(100))
      assert.same({ "x", 1 }, { item.data, item.attempts })
      assert(item:ack())
      nothing_left(world, mine)
    end)
  end)
end)

describe("a session that is closed under a claim", function()
  for _, kind in ipairs { "children", "create", "get", "multi" } do
    it("while it waits for the answer to a " .. kind .. ", ends it; another process gets the item", function()
      in_world("x", function(world, queue, zk, mine, session)
        world:plan(zk, "delay", { kind = kind, seconds = 2 })
        local task = zk.spawn(mine.claim, mine)
        world:advance(1)
        session:close()
        fails("closed", task:wait(1))
        local item = assert(queue:claim(60))
        assert.is_true(item.attempts <= 2)
        assert(item:ack())
        nothing_left(world, mine)
      end)
    end)
  end

  it("while the queue is empty, ends it, and leaves the line of idle processes", function()
    in_world(nil, function(world, _, zk, mine, session)
      local task = zk.spawn(mine.claim, mine)
      world:advance(1)
      assert.equal(1, #world:children("/jobs/seat"))
      session:close()
      fails("closed", task:wait(1))
      nothing_left(world, mine)
    end)
  end)
end)

-- ---- Exhausted memory --------------------------------------------------------------------------

-- Runs body(n) with later and later allocations that fail, until none fails. Returns how many.
local function at_every_allocation(body)
  local n, reached = 0, true
  while reached do
    n = n + 1
    reached = body(n)
  end
  return n
end

-- Fails the n-th allocation from now on while fn() runs. Returns whether it was reached.
local function failing(n, fn)
  core.alloc_fail(n)
  fn()
  local reached = core.alloc_failed()
  core.alloc_fail(0)
  return reached
end

describe("when one allocation fails", function()
  for _, method in ipairs { "claim", "take" } do
    it("a " .. method .. " of a new process succeeds or fails, and loses nothing", function()
      local count = at_every_allocation(function(n)
        local reached
        in_world("x", function(world, queue, zk, mine)
          local item, code
          reached = failing(n, function()
            zk.spawn(function()
              local first, second
              first, second, code = mine[method](mine, 20)
              item = first and (method == "take" and second or first)
            end):wait()
            world:advance(10)
          end)
          if method == "claim" and item then assert(item:ack()) end
          if item then assert(queue:put("x")) else assert.equal("no_memory", code) end
          nothing_left(world, mine)
          if queues.counts(mine).missing == 0 then is_there(queue, "x") end
        end)
        return reached
      end)
      assert.is_true(count > 20, count)
    end)
  end

  it("a process that is idle gets the next item, or fails", function()
    local count = at_every_allocation(function(n)
      local reached
      in_world(nil, function(world, queue, zk, mine)
        local task
        reached = failing(n, function()
          task = zk.spawn(mine.claim, mine, 200)
          world:advance(5)
        end)
        assert(queue:put("x"))
        local item, _, code = task:wait(100)
        if item then
          assert(item:ack())
        else
          assert.equal("no_memory", code)
          is_there(queue, "x")
        end
        nothing_left(world, mine)
      end)
      return reached
    end)
    assert.is_true(count > 20, count)
  end)

  it("a peek fails, and can be repeated", function()
    at_every_allocation(function(n)
      local reached
      in_world("x", function(_, _, zk, mine)
        reached = failing(n, function()
          zk.spawn(function()
            local item, _, code = mine:peek()
            assert.is_true(item and item.data == "x" or code == "no_memory", code)
          end):wait()
        end)
        assert.equal("x", mine:peek().data)
      end)
      return reached
    end)
  end)
end)
