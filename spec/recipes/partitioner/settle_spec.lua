-- When a partitioner divides, in virtual time: a burst of changes is settled once, endless changes are not waited for, and a session that
-- is lost and regained in time moves nothing.

local sim = require "zkrecipes.sim"

local N = 60

local function parts()
  local list = {}
  for i = 1, N do list[i] = "p" .. i end
  return list
end

local made = {}

local function in_world(fn)
  return function()
    local world = sim.new { seed = 1 }
    world:run(function()
      fn(world)
      for _, each in ipairs(made) do assert(each:close(60)) end -- this ends what follows them
      made = {}
    end)
  end
end

local function member(world, id, settle)
  local zk = world:process()
  local one = assert(zk.session({ timeout = 6 }):partitioner("/app", parts(), { id = id, settle = settle }))
  made[#made + 1] = one
  return one, zk
end

-- Follows the changes of a member; gained, ended: how often.
local function counted(zk, partitioner)
  local counts = { gained = 0, ended = 0, lost = 0 }
  local changes = partitioner:changes()
  zk.spawn(function()
    for change in changes do
      counts[change.kind] = counts[change.kind] + 1
      if change.why == "lost" then counts.lost = counts.lost + 1 end
    end
  end)
  return counts
end

describe("a partitioner", function()
  it("settles a burst of changes once", in_world(function(world)
    local first, zk = member(world, "first", 2)
    local counts, others, all = counted(zk, first), {}, {}
    world:advance(10)
    assert.equal(N, #first:mine())
    for i = 1, 9 do
      local their_zk
      others[i], their_zk = member(world, "m" .. i, 2)
      all[i] = counted(their_zk, others[i])
      world:advance(0.5)
    end
    world:advance(20)
    local sum = #first:mine()
    assert.same({ gained = N, ended = N - sum, lost = 0 }, counts)
    for i = 1, 9 do
      sum = sum + #others[i]:mine()
      assert.same({ gained = #others[i]:mine(), ended = 0, lost = 0 }, all[i])
    end
    assert.equal(N, sum)
    assert.equal(2, first.work.divisions)
  end))

  it("does not wait for the end of endless changes", in_world(function(world)
    local first, zk = member(world, "first", 2)
    world:advance(10)
    local over
    zk.spawn(function()
      local group = zk.session({ timeout = 6 }):group "/app/members"
      while not over do
        local passes = group:join("passes", { id = "passes" })
        zk.sleep(0.7)
        passes:leave()
        zk.sleep(0.7)
      end
    end)
    world:advance(3)
    local second = member(world, "second", 2)
    world:advance(14)
    assert.is_true(#second:mine() > N / 4)
    assert.equal(N, #first:mine() + #second:mine())
    over = true
  end))

  it("moves nothing when a session is lost and regained while the others settle", in_world(function(world)
    local a, zk = member(world, "a", 5)
    local b, other = member(world, "b", 5)
    world:advance(20)
    local mine, counts, theirs = a:mine(), counted(zk, a), counted(other, b)
    world:advance(1)
    world:expire(zk)
    world:advance(20)
    assert.same(mine, a:mine())
    assert.same({ gained = 2 * #mine, ended = #mine, lost = #mine }, counts)
    assert.same({ gained = N - #mine, ended = 0, lost = 0 }, theirs)
  end))

  it("gives the parts of a lost member to the others, and takes its own back", in_world(function(world)
    local a, zk = member(world, "a", 0.2)
    local b = member(world, "b", 0.2)
    world:advance(20)
    local mine = a:mine()
    world:partition(zk)
    world:advance(30)
    assert.same({}, a:mine())
    assert.equal(N, #b:mine())
    world:heal(zk)
    world:advance(30)
    assert.same(mine, a:mine())
    assert.equal(N, #a:mine() + #b:mine())
  end))
end)
