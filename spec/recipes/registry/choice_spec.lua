-- Registries: what `pick` chooses. In virtual time; that `pick` never yields is in registry_spec.lua.
-- Tags: sanitize, one thread

local collect = require "spec.support.collect"
local sim = require "zkrecipes.sim"
local env = require "spec.support.env"
local fails = env.fails

-- A test body with a registry that shows these instances: { id, weight, enabled }.
local function with(given, body, options)
  return function()
    local world = sim.new { seed = 1 }
    world:run(function()
      local session = world:session()
      local registry, members = session:registry("/s", options), {}
      for i, each in ipairs(given) do
        members[i] = registry:register("web", { id = each[1], address = "h", weight = each[2], enabled = each[3] })
        assert(members[i]:ready(30))
      end
      assert(registry:ready(30))
      if #given > 0 then assert(registry:await("web", #given, 30)) end
      body(registry, world, members)
    end)
  end
end

local THREE = { { "a" }, { "b" }, { "c" } }

-- How often each was picked in so many picks.
local function counted(registry, times, strategy)
  local count = {}
  for i = 1, times do
    local id = assert(registry:pick("web", strategy, "key " .. i)).id
    count[id] = (count[id] or 0) + 1
  end
  return count
end

local function keys(number, registry)
  local at = {}
  for i = 1, number do at[i] = registry:pick("web", "hash", "user " .. i).id end
  return at
end

local function many(number)
  local given = {}
  for i = 1, number do given[i] = { "10.0.0." .. i .. ":8080" } end
  return given
end

describe("pick", function()
  it("round_robin: each once in each round, and that is the default", with(THREE, function(registry)
    assert.same({ a = 1, b = 1, c = 1 }, counted(registry, 3))
    assert.same({ a = 100, b = 100, c = 100 }, counted(registry, 300, "round_robin"))
  end))

  it("random: each with the same probability", with(THREE, function(registry)
    for _, count in pairs(counted(registry, 9000, "random")) do assert.is_true(count > 2700 and count < 3300, count) end
  end))

  it("weighted: in proportion, evenly mixed", with({ { "a", 5 }, { "b", 1 }, { "c", 0.5 } }, function(registry)
    local count = counted(registry, 1300, "weighted")
    for id, expected in pairs { a = 1000, b = 200, c = 100 } do
      assert.is_true(math.abs(count[id] - expected) <= 1, id .. ": " .. count[id])
    end
    local apart = 0
    for _ = 1, 100 do
      apart = registry:pick("web", "weighted").id == "a" and 0 or apart + 1
      assert.is_true(apart <= 2)
    end
  end))

  it("weighted: in proportion at once when a weight changes, and when a heavy one is down", with({ { "a", 1e6 }, { "b", 1 }, { "c", 1 } },
    function(registry, world, members)
      counted(registry, 3000, "weighted")
      assert(members[1]:update({ weight = 2 }, 30))
      world:advance(1)
      local count = counted(registry, 400, "weighted")
      for id, expected in pairs { a = 200, b = 100, c = 100 } do assert.is_true(math.abs((count[id] or 0) - expected) <= 4, id) end
      assert(members[1]:update({ weight = 1000 }, 30))
      world:advance(1)
      counted(registry, 501, "weighted")
      registry:instances("web")[1]:down(60)
      count = counted(registry, 200, "weighted")
      for _, id in ipairs { "b", "c" } do assert.is_true(math.abs((count[id] or 0) - 100) <= 4, id) end
    end))

  it("least: fewest uses that are not over", with(THREE, function(registry)
    local uses, seen = {}, {}
    for i = 1, 6 do
      uses[i] = registry:pick("web", "least")
      seen[uses[i].id] = (seen[uses[i].id] or 0) + 1
    end
    assert.same({ a = 2, b = 2, c = 2 }, seen)
    assert.equal(2, uses[1]:uses())
    for _ = 1, 3 do uses[1]:done() end
    assert.equal(1, uses[1]:uses()) -- each use is over once
    for _ = 1, 10 do
      local use = registry:pick("web", "least")
      assert.equal(uses[1].id, use.id)
      use:done()
    end
    registry:pick("web", "random"):done() -- not counted
    for i = 2, 6 do uses[i]:done() end
    for _, instance in ipairs(registry:instances "web") do assert.equal(0, instance:uses()) end
  end))

  it("least: a use is over, once, when its instance was dropped, or its task was canceled", with(THREE, function(registry, world)
    local function uses()
      local count = 0
      collect(2)
      for _, instance in ipairs(registry:instances "web") do count = count + instance:uses() end
      return count
    end
    local kept = registry:pick("web", "least")
    for i = 1, 6 do
      local use = registry:pick("web", "least")
      if i % 2 == 0 then use:done() end
    end
    assert.equal(1, uses())
    local tasks = {}
    for i = 1, 6 do
      tasks[i] = world.zk.spawn(function()
        local use = registry:pick("web", "least")
        world.zk.sleep(60)
        use:done()
      end)
    end
    world:advance(1)
    assert.equal(7, uses())
    for i = 1, 6 do tasks[i]:cancel() end
    world:advance(1)
    tasks = nil -- luacheck: ignore 311
    assert.equal(1, uses())
    kept:done()
    kept = nil -- luacheck: ignore 311
    assert.equal(0, uses())
  end))

  it("hash: one key, one instance; the same in another process", with(many(10), function(registry, world)
    local at = keys(1000, registry)
    assert.same(at, keys(1000, registry))
    local other = world:process().session():registry "/s"
    assert(other:await("web", 10, 30))
    assert.same(at, keys(1000, other))
  end))

  it("hash: only the keys of the instance that leaves move, 1/n of all", with(many(10), function(registry, world, members)
    local NUMBER = 20000
    local before, share = keys(NUMBER, registry), {}
    for i = 1, NUMBER do share[before[i]] = (share[before[i]] or 0) + 1 end
    for id, count in pairs(share) do assert.is_true(count > 1800 and count < 2200, id .. ": " .. count) end
    local gone = members[4]
    assert(gone:leave(30))
    env.eventually_in(world, "it is gone", function() return #registry:instances "web" == 9 end)
    local after, moved = keys(NUMBER, registry), 0
    for i = 1, NUMBER do
      if before[i] ~= after[i] then
        moved = moved + 1
        assert.equal(gone.id, before[i])
      end
    end
    assert.equal(share[gone.id], moved)
    local back = assert(registry:register("web", { id = gone.id, address = "h" }))
    assert(registry:await("web", 10, 30))
    assert.same(before, keys(NUMBER, registry))
    assert(back:leave(30))
  end))

  it("hash: by weight", with({ { "a", 1 }, { "b", 3 } }, function(registry)
    local count = counted(registry, 8000, "hash")
    assert.is_true(count.a > 1850 and count.a < 2150, count.a)
  end))

  it("gives none that is not enabled", with({ { "a" }, { "b", nil, false } }, function(registry, world, members)
    for _, strategy in ipairs { "random", "round_robin", "weighted", "least", "hash" } do
      assert.same({ a = 20 }, counted(registry, 20, strategy))
    end
    assert.equal(2, #registry:instances "web")
    assert(members[1]:update({ enabled = false }, 30))
    env.eventually_in(world, "no instance", function() return not registry:pick "web" end)
    fails("no_node", registry:pick "web")
    assert(members[2]:update({ enabled = true }, 30))
    env.eventually_in(world, "an instance", function() return registry:pick "web" end)
    assert.same({ b = 20 }, counted(registry, 20))
  end))

  for _, strategy in ipairs { "random", "round_robin", "weighted", "least", "hash" } do
    it(strategy .. ": none that is down, until its pause is over", with(THREE, function(registry, world)
      local one
      repeat one = registry:pick("web", "random") until one.id == "b"
      assert.equal(3, one:down(3))
      local count = counted(registry, 60, strategy)
      assert.is_nil(count.b)
      assert.is_true(count.a > 0 and count.c > 0)
      world:advance(2.9)
      assert.is_nil(counted(registry, 60, strategy).b)
      world:advance(0.2)
      assert.is_true(counted(registry, 60, strategy).b > 0)
    end))
  end

  it("says that nothing is there, or is not loaded yet", with({}, function(registry, world)
    assert.matches("^registry:pick /s: no instance of 'none' is registered", fails("no_node", registry:pick "none"))
    local zk = world:process()
    world:partition(zk)
    local late = zk.session({}):registry "/s"
    assert.matches("not loaded", fails("timeout", late:pick "web"))
  end))
end)

describe("an instance that is down", function()
  it("is out longer with each failure, and is trusted again later", with(THREE, function(registry, world)
    local function of_b()
      for _, instance in ipairs(registry:instances "web") do
        if instance.id == "b" then return instance end
      end
    end
    for _, pause in ipairs { 2, 4, 8, 16, 32, 60, 60 } do
      assert.equal(pause, of_b():down(2))
      world:advance(pause + 0.1)
    end
    world:advance(61)
    assert.equal(2, of_b():down(2))
    world:advance(2.1)
    assert.equal(4, of_b():down(2))
    assert.is_true(of_b():up())
    assert.is_true(counted(registry, 3).b == 1)
    assert.equal(1, of_b():down())
    assert.equal(500, of_b():down(500) and of_b():up() and of_b():down(500)) -- longer than the longest
  end))

  it("is not punished for each of many uses that fail at once", with(THREE, function(registry, world)
    local uses = {}
    repeat
      local use = registry:pick("web", "random")
      if use.id == "a" then uses[#uses + 1] = use end
    until #uses == 10
    assert.equal(2, uses[1]:down(2))
    for i = 2, 5 do assert.equal(2, uses[i]:down(2)) end
    world:advance(3)
    for i = 6, 10 do assert.equal(0, uses[i]:down(2)) end
    assert.is_true(counted(registry, 3).a == 1)
  end))

  local function all_down(registry)
    local pauses = { a = 30, b = 10, c = 20 }
    for _, instance in ipairs(registry:instances "web") do instance:down(pauses[instance.id]) end
  end

  it("is given if all are down and it is the least bad", with(THREE, function(registry, world)
    all_down(registry)
    for _, strategy in ipairs { "random", "round_robin", "weighted", "least", "hash" } do
      assert.same({ b = 10 }, counted(registry, 10, strategy))
    end
    assert.equal(20, registry:pick("web"):down(10)) -- as c, which is before it
    registry:pick("web"):down(1000)
    world:advance(0.1)
    local id = registry:pick("web").id
    assert.is_true(id == "b" or id == "c")
    world:advance(30)
    assert.is_true(counted(registry, 20, "random").a > 0)
  end))

  it("is not given if the registry is told so", with(THREE, function(registry, world)
    all_down(registry)
    assert.matches("all instances of 'web' are down", fails("conflict", registry:pick "web"))
    world:advance(10.1)
    assert.same({ b = 5 }, counted(registry, 5))
  end, { least_bad = false }))

  it("is out for the longest pause that the registry allows", with(THREE, function(registry, world)
    for _, pause in ipairs { 2, 4, 5, 5 } do
      assert.equal(pause, registry:instances("web")[1]:down(2))
      world:advance(pause + 0.1)
    end
  end, { longest_down = 5 }))
end)
