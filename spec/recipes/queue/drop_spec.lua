-- Items that a program drops without ack or nack, by `local item <close>` or by collection, in simulated worlds. Each item returns to its
-- place once, and the attempt does not count.
-- Tags: sanitize, one thread

local collect = require "spec.support.collect"
local core = require "zkrecipes.core"
local env = require "spec.support.env"
local queues = require "spec.support.queues"
local requests = require "zkrecipes.lost_answers"
local sim = require "zkrecipes.sim"

-- Does what `local item <close>` does.
local function close(item) debug.getmetatable(item).__close(item) end

-- Runs body(world, zk, queue): a process whose consumer is known to the servers already, and an item.
local function in_world(body)
  return function()
    local world = sim.new { seed = 1, limit = 5000 }
    world:run(function()
      local zk = world:process()
      local queue = zk.session({ timeout = 30 }):queue("/jobs")
      queue:put("first")
      assert(queue:claim()):ack()
      queue:put("x")
      body(world, zk, queue)
    end)
  end
end

local function no_claim(world) return #world:children("/jobs/claims") == 0 end

local function claims_of(queue) return queues.counts(queue).claims end

-- The item is there as if it had never been claimed.
local function untouched(world, queue, attempts)
  env.eventually_in(world, "no claim is left", function() return no_claim(world) and claims_of(queue) == 0 end)
  local item = assert(queue:claim(60))
  assert.same({ "x", attempts or 1 }, { item.data, item.attempts })
  assert.is_true(item:ack())
  assert.same({ 0, 0 }, { queue:size(), queue:dead_size() })
end

-- Claims an item, plans the faults, closes the item and drops it. No reference is left.
local function claim_and_close(world, zk, queue, plan)
  zk.spawn(function()
    local item = assert(queue:claim(60))
    if plan then plan(world, zk) end
    close(item)
  end):wait()
end

local FAULTS = {
  ["works"] = false,
  ["is lost"] = function(world, zk) world:plan(zk, "lose_request", { kind = "multi", down = 2 }) end,
  ["is lost twice"] = function(world, zk)
    world:plan(zk, "lose_request", { kind = "multi", down = 2 })
    world:plan(zk, "lose_request", { kind = "multi", nth = 2, down = 2 })
  end,
  ["is done, and its answer lost"] = function(world, zk) world:plan(zk, "lose_reply", { kind = "multi", down = 2 }) end,
  ["comes late"] = function(world, zk) world:plan(zk, "late_request", { kind = "multi", seconds = 3 }) end,
}

describe("an item that is closed and then collected", function()
  for what, plan in pairs(FAULTS) do
    it("returns once if its request " .. what, in_world(function(world, zk, queue)
      claim_and_close(world, zk, queue, plan)
      world:advance(0.1)
      collect(4)
      world:advance(10)
      untouched(world, queue)
    end))

    it("returns once if it is closed twice and its request " .. what, in_world(function(world, zk, queue)
      zk.spawn(function()
        local item = assert(queue:claim(60))
        if plan then plan(world, zk) end
        close(item)
        close(item)
      end):wait()
      world:advance(0.1)
      collect(4)
      untouched(world, queue)
    end))
  end

  it("returns by one request", in_world(function(world, zk, queue)
    local before
    claim_and_close(world, zk, queue, function(_, client)
      world:partition(client)
      before = world:requests(zk, "multi")
    end)
    collect(4)
    world:advance(1)
    collect(4)
    world:advance(1)
    assert.equal(before + 1, world:requests(zk, "multi"))
    world:heal()
    untouched(world, queue)
  end))

  it("keeps the count of attempts that earlier nacks have used", in_world(function(world, zk, queue)
    assert(queue:claim(60)):nack()
    claim_and_close(world, zk, queue, FAULTS["is lost"])
    collect(4)
    untouched(world, queue, 2)
  end))

  it("returns when the server allows it again", in_world(function(world, zk, queue)
    local admin = world:session()
    local function allow(perms) assert(admin:set_acl("/jobs/lanes/00000/in", { { scheme = "world", id = "anyone", perms = perms } })) end
    claim_and_close(world, zk, queue, function() allow("ra") end)
    collect(4)
    world:advance(10)
    assert.is_false(no_claim(world))
    allow("rwcda")
    untouched(world, queue)
  end))

  it("is free if its session ends meanwhile", in_world(function(world, zk, queue)
    claim_and_close(world, zk, queue, function() world:disconnect(zk) end)
    collect(4)
    world:advance(60)
    world:heal()
    untouched(world, queue, 2) -- the servers freed it
  end))
end)

-- The waiter gives up at the moment at which it is given an item.
it("an item whose waiter has gone returns once, also if it is collected", in_world(function(world, zk, queue)
  world:plan(zk, "delay", { kind = "multi", seconds = 2 })
  world:plan(zk, "lose_request", { kind = "multi", nth = 2, down = 2 })
  env.fails("connection_loss", zk.spawn(queue.claim, queue, 1):wait(60))
  for _ = 1, 30 do
    world:advance(0.1)
    collect(4)
  end
  untouched(world, queue)
end))

-- ---- Exhausted memory --------------------------------------------------------------------------

-- Runs operation(n) in new worlds, each time with a later allocation that fails. after(queue) runs when allocations succeed again;
-- attempts: see untouched.
local function at_every_allocation(operation, after, attempts)
  local n, reached = 0, true
  while reached do
    n = n + 1
    in_world(function(world, zk, queue)
      operation(world, zk, queue, n)
      world:advance(10)
      reached = core.alloc_failed()
      core.alloc_fail(0)
      if after then after(queue) end
      collect(4)
      untouched(world, queue, attempts)
    end)()
  end
  return n
end

describe("when one allocation fails", function()
  it("a closed item still returns", function()
    local count = at_every_allocation(function(world, zk, queue, n)
      claim_and_close(world, zk, queue, function() core.alloc_fail(n) end)
    end)
    assert.is_true(count > 3, count)
  end)

  it("an item whose claim has an unknown outcome still returns", function()
    local count = at_every_allocation(function(world, zk, queue, n)
      world:plan(zk, "lose_reply", { kind = "multi" })
      zk.spawn(function()
        core.alloc_fail(n)
        local item = queue:claim(5)
        if item then close(item) end
      end):wait()
    end)
    assert.is_true(count > 20, count)
  end)

  it("a repeated ack says that it was done", function()
    local count = at_every_allocation(function(_, zk, queue, n)
      zk.spawn(function()
        local item = assert(queue:claim(60))
        core.alloc_fail(n)
        local ok, message, code = item:ack()
        if code == "no_memory" then ok, message = item:ack() end
        assert.is_true(ok, message)
      end):wait()
    end, function(queue)
      assert.equal(0, queue:size())
      assert(queue:put("x"))
    end)
    assert.is_true(count > 3, count)
  end)

  it("a repeated nack says that it was done", function()
    local count = at_every_allocation(function(_, zk, queue, n)
      zk.spawn(function()
        local item = assert(queue:claim(60))
        core.alloc_fail(n)
        local ok, message, code = item:nack()
        if code == "no_memory" then ok, message = item:nack() end
        assert.is_true(ok, message)
      end):wait()
    end, nil, 2)
    assert.is_true(count > 3, count)
  end)
end)

describe("a step that must succeed", function()
  it("is repeated after each temporary failure, with growing pauses", in_world(function(world, _, queue)
    local codes, times = { "server_error", "no_memory", "connection_loss", "full", "lost", "server_error", "server_error" }, {}
    local value = requests.insist(queue.session, function(given)
      times[#times + 1] = world:now()
      if codes[#times] then return nil, "message", codes[#times] end
      return given
    end, "done")
    assert.same({ "done", #codes + 1 }, { value, #times })
    for i = 3, #times do assert.is_true(times[i] - times[i - 1] > times[i - 1] - times[i - 2]) end
    assert(queue:claim(60)):ack()
  end))

  it("is given up after any other code, and if there is nothing to do", in_world(function(_, _, queue)
    local session, asked = queue.session, 0
    local function step(...)
      asked = asked + 1
      return ...
    end
    for _, code in ipairs { "closed", "no_auth", "no_node", "bad_version" } do
      env.fails(code, requests.insist(session, step, nil, "message", code))
    end
    assert.is_nil((requests.insist(session, step, nil, "gone")))
    assert.equal(5, asked)
    assert(queue:claim(60)):ack()
  end))
end)
