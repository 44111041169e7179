-- Numbers for workers on a real server.
-- Tags: sanitize

local zk = require "zkrecipes"
local env = require "spec.support.env"
local sim = require "zkrecipes.sim"
local run, fails = env.run, env.fails

local function taken(session)
  local names = {}
  for _, name in ipairs(session:children("/w") or {}) do
    if name ~= "queue" then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

local function all_free(session)
  env.eventually("all numbers are free", function() return #taken(session) == 0 end)
end

local function waits(ids, count)
  env.eventually(count .. " wait", function()
    local queue = ids.session:children(ids.path .. "/queue")
    return queue and #queue == count
  end)
end

describe("worker_id", function()
  it("gives the smallest free number as a hold", run(function()
    local session = env.session()
    local ids = session:worker_id("/w", 3, { data = "me" })
    local zero, one = assert(ids:acquire(200)), assert(ids:acquire(200))
    assert.are.same({ 0, 1, "/w/1" }, { zero.number, one.number, one.path })
    local data, stat = assert(session:get("/w/0"))
    assert.are.same({ "me", zero.token, session.id }, { data, stat.czxid, stat.ephemeral_owner })
    assert.is_true(zero:valid() and zero:left() > 0)
    assert(zero:create("/x", "guarded"))
    zero:release()
    assert.is_false(zero:valid())
    env.eventually("0 is free", function() return session:exists("/w/0") == false end)
    local again = assert(ids:acquire(200))
    assert.are.equal(0, again.number)
    assert.is_true(again.token > zero.token)
    local two = assert(ids:acquire(0))
    assert.are.equal(2, two.number)
    for _, hold in ipairs { again, one, two } do hold:release() end
    all_free(session)
  end))

  it("does not wait with a timeout of 0, and says which numbers are taken", run(function()
    local session = env.session()
    local ids = session:worker_id("/w", 1)
    local hold = assert(ids:acquire(0))
    assert.matches("^worker_id:acquire /w: .*all numbers below 1 are taken", fails("timeout", ids:acquire(0)))
    env.late(ids:acquire(0.05))
    assert.is_nil(session:lock("/l"):acquire().number)
    hold:release()
    all_free(session)
  end))

  it("gives no number twice, and every waiter of every session gets one", run(function()
    local namespace, session = env.namespace(), nil
    local jobs, owner, turns = {}, {}, 0
    for i = 1, 40 do
      if i % 10 == 1 then session = env.session { namespace = namespace } end
      local ids = session:worker_id("/w", 3)
      jobs[i] = env.start(function()
        assert(ids:with(200, function(hold)
          assert.is_true(hold.number >= 0 and hold.number < 3)
          assert.is_nil(owner[hold.number])
          owner[hold.number] = i
          zk.sleep(0.001)
          owner[hold.number], turns = nil, turns + 1
        end))
      end)
    end
    for i = 1, 40 do jobs[i]() end
    assert.are.equal(40, turns)
    all_free(session)
    env.eventually("no turn is left", function() return #(session:children("/w/queue") or {}) == 0 end)
  end))

  it("serves callers with a different max on one path", run(function()
    local namespace = env.namespace()
    local one, other = env.session { namespace = namespace }, env.session { namespace = namespace }
    local few, many = one:worker_id("/w", 1), other:worker_id("/w", 2)
    local zero, first = assert(few:acquire(200)), assert(many:acquire(200))
    local waits_few = env.start(function() return few:acquire(200) end)
    waits(few, 1)
    local waits_many = env.start(function() return many:acquire(200) end)
    waits(few, 2)
    first:release()
    first = assert(waits_many()) -- a waiter that may have only number 0 is not in the way
    assert.are.equal(1, first.number)
    zero:release()
    assert.are.equal(0, assert(waits_few()).number)
  end))

  it("wakes the next waiter when the first one gives up", run(function()
    local namespace = env.namespace()
    local sessions = {}
    for i = 1, 3 do sessions[i] = env.session { namespace = namespace } end
    local hold = assert(sessions[1]:worker_id("/w", 1):acquire(200))
    local ids, second = sessions[2]:worker_id("/w", 1), sessions[3]:worker_id("/w", 1)
    local first = env.start(function() return ids:acquire() end)
    waits(ids, 1)
    local next_one = env.start(function() return second:acquire(200) end)
    waits(ids, 2)
    env.eventually("both know their place", function()
      return ids:attempts()[1].ahead == 0 and second:attempts()[1].ahead == 1
    end)
    assert.are.equal(1, ids:cancel())
    fails("canceled", first())
    hold:release()
    assert.are.equal(0, assert(next_one()).number)
  end))

  it("leaves a stranger's number alone, and waits until it is gone", run(function()
    local session = env.session()
    assert(session:create("/w/0", "a stranger", { parents = true }))
    assert(session:create("/w/00"))
    local ids = session:worker_id("/w", 2)
    local hold = assert(ids:acquire(200))
    assert.are.equal(1, hold.number)
    fails("timeout", ids:acquire(0))
    local wait = env.start(function() return ids:acquire(200) end)
    waits(ids, 1)
    assert(session:delete("/w/0"))
    assert.are.equal(0, assert(wait()).number)
    hold:release()
  end))

  it("does not give the number of a lost session while its znode stands", run(function()
    local namespace, proxy = env.namespace(), env.proxy()
    local session = env.session { hosts = proxy.hosts, namespace = namespace, timeout = 10 }
    local other = env.session { namespace = namespace }
    assert(session:connected(200))
    local hold, told = assert(session:worker_id("/w", 2):acquire(200)), nil
    hold:on_lost(function(_, why) told = why end)
    proxy:blackhole()
    env.eventually("it is lost", function() return told end)
    assert.are.same({ "lost", false }, { told, hold:valid() })
    if other:exists("/w/0") then
      local next_one = assert(other:worker_id("/w", 2):acquire(200))
      assert.is_true(next_one.number == 1 or next_one.token > hold.token)
    end
    proxy:heal()
  end))

  it("is in the status while it is held and while a caller waits for it", run(function()
    local session = env.session()
    local ids = session:worker_id("/w", 1)
    local hold = assert(ids:acquire(200))
    local wait = env.start(function() return ids:acquire(200) end)
    waits(ids, 1)
    local status, held, waiting = zk.status(), nil, nil
    for _, one in ipairs(status.holds) do held = one.token == hold.token and one or held end
    for _, one in ipairs(status.waiting) do waiting = one.path == "/w" and one or waiting end
    assert.are.same({ "/w/0", 1, "worker_id" }, { held.path, held.waiters, waiting.kind })
    hold:release()
    assert(wait()):release()
  end))

  it("costs a worker the same number of requests, however many workers start at once", function()
    local function requests_of(count)
      local world, all, taken_by = sim.new { seed = 3 }, 0, {}
      world:run(function()
        local tasks, kept = {}, {}
        for i = 1, count do
          local process = world:process()
          local session = process.session()
          assert(session:connected(10))
          tasks[i] = process.spawn(function()
            kept[i] = assert(session:worker_id("/w", count):acquire())
            assert.is_nil(taken_by[kept[i].number])
            taken_by[kept[i].number] = i
            all = all + world:requests(session)
          end)
        end
        for i = 1, count do tasks[i]:wait() end
      end)
      return all / count
    end
    local few, many = requests_of(20), requests_of(80)
    assert.is_true(many < few * 1.5, ("%.1f requests each, and %.1f"):format(few, many))
  end)

  it("refuses a wrong max", run(function()
    local session = env.session()
    for _, max in ipairs { 0, -1, 1.5, 2 ^ 31, "x" } do
      assert.has_error(function() session:worker_id("/w", max) end)
    end
    assert.has_error(function() session:worker_id("/w") end)
    assert.has_error(function() session:worker_id("w", 1) end)
  end))
end)

-- What docs/recipes/worker_id.md says of a waiter that stands still.
describe("a waiter for a number whose process is paused", function()
  for _, case in ipairs { { "runs again", 30, 20 }, { "is cut off for good", 10, 60 } } do
    it("holds up those behind it, but no new caller, until its process " .. case[1], function()
      local world = sim.new { seed = 1, jitter = 0, limit = 1e7 }
      world:run(function()
        local function ids(host) return host.session { timeout = case[2] }:worker_id("/w", 3) end
        local holder, hosts, at, holds = ids(world:process()), {}, {}, {}
        for i = 1, 3 do holds[i] = assert(holder:acquire(5)) end
        for i = 1, 3 do
          hosts[i] = world:process()
          local mine = ids(hosts[i])
          hosts[i].spawn(function()
            local hold = mine:acquire(1000)
            at[i] = hold and world:now()
          end)
          world:advance(1)
        end
        world:pause(hosts[1], case[3])
        for i = 1, 3 do holds[i]:release() end
        local released = world:now()
        world:advance(math.min(case[2], case[3]) / 2)
        assert.are.same({}, at)
        assert(holder:acquire(0)):release()
        world:advance(20)
        for i = 2, 3 do assert.is_true(at[i] < released + 20 + 2) end
      end)
    end)
  end
end)
