-- A session keeps what it knows of strangers (core/strangers.c) only as long as it needs it.
-- Tags: sanitize, one thread

local env = require "spec.support.env"
local sim = require "zkrecipes.sim"
local fails = env.fails

local STRANGER = "x-lock-0000000000"
local FORGOTTEN = 25 -- seconds: after these a session knows nothing of a stranger that it has not met again

local function within(body)
  return function()
    local world = sim.new { seed = 1, servers = 1, jitter = 0 }
    world:run(function() body(world, world:session(), world:session()) end)
  end
end

-- A waiting acquire and a try: both must succeed.
local function pass(lock)
  for limit = 0, 10, 10 do assert(lock:acquire(limit)):release() end
end

local function in_use(world, session)
  local usage = session:usage()
  return { usage.watches, usage.watched_bytes, world:watches() }
end

describe("a session that meets a stranger", function()
  for _, limit in ipairs { 0, 10 } do
    it("counts its path once, limit = " .. limit, within(function(world, session, other)
      assert(other:create("/l/" .. STRANGER, "", { parents = true }))
      assert(session:lock("/l"):acquire(limit)):release()
      assert.are.same({ 1, 4 + #"/l/" + #STRANGER, 1 }, in_use(world, session))
      world:advance(FORGOTTEN)
      assert.are.same({ 0, 0, 0 }, in_use(world, session))
      pass(session:lock "/l")
    end))
  end

  it("ignores thousands that come and go", function() env.alone "strangers" end)

  it("ignores thousands that stay, each in another directory", within(function(world, session, other)
    for i = 1, 3000 do
      local dir = ("/l%04d"):format(i)
      assert(other:create(dir .. "/" .. STRANGER, "", { parents = true }))
      pass(session:lock(dir))
      world:advance(0.1)
    end
    world:advance(FORGOTTEN)
    assert.are.same({ 0, 0, 0 }, in_use(world, session))
  end))

  it("names the znode that it cannot ignore, if there are too many at a time", within(function(_, session, other)
    local dir = "/" .. ("d"):rep(1900)
    for i = 1, 60 do assert(other:create(("%s/x%02d-lock-0000000000"):format(dir, i), "", { parents = true })) end
    for limit = 0, 10, 10 do
      local message = fails("conflict", session:lock(dir):acquire(limit))
      assert.matches("the znode " .. dir .. "/x%d%d%-lock%-0000000000 is ahead and is not ephemeral.*delete it", message)
    end
    for i = 1, 30 do assert(other:delete(("%s/x%02d-lock-0000000000"):format(dir, i))) end
    pass(session:lock(dir))
  end))

  it("names that znode to every waiter", within(function(world, session, other)
    local process = world:process()
    local theirs, waits = process.session { timeout = 10 }, {}
    assert(other:create("/l/lock-0000000000", "", { parents = true }))
    for i = 1, 3 do waits[i] = process.spawn(function() return theirs:lock("/l"):acquire(10) end) end
    for i = 1, 3 do
      assert.matches("/l/lock-0000000000 is ahead and is not ephemeral", fails("conflict", waits[i]:wait(20)), 1, true)
    end
    assert(session)
  end))
end)

describe("a try that finds an ephemeral znode with an unusual name", function()
  it("leaves only watches that the session counts", within(function(world, session, other)
    for i = 1, 50 do
      assert(other:create(("/l%d/x-lock-0000000000"):format(i), "", { ephemeral = true, parents = true }))
      fails("timeout", session:lock("/l" .. i):acquire(0))
      assert.are.equal(world:watches(), session:usage().watches)
    end
    world:advance(FORGOTTEN)
    assert.are.same({ 0, 0, 0 }, in_use(world, session))
  end))

  it("notices that it is deleted, and that another one takes its place", within(function(_, session, other)
    local path, lock = "/l/x-lock-0000000000", session:lock "/l"
    for _ = 1, 20 do
      assert(other:create(path, "", { parents = true }))
      pass(lock)
      assert(other:multi { { "delete", path }, { "create", path, "", { ephemeral = true } } })
      assert(session:sync "/")
      fails("timeout", lock:acquire(0))
      fails("timeout", lock:acquire(0.1))
      assert(other:delete(path))
    end
    pass(lock)
  end))
end)

-- Methods that show holders, or write to them: a znode that is not ephemeral is no holder.
describe("a znode that is not ephemeral", function()
  local function values(list)
    local all = {}
    for i, one in ipairs(list) do all[i] = one.value or one.data end
    return all
  end

  it("gets no request and keeps its data; the holder gets the request", within(function(world, session, other)
    for i, name in ipairs { STRANGER, "lock-0000000000" } do
      local path, asked = "/l" .. i, false
      local hold = assert(session:lock(path, { on_request = function(hold)
        asked = true
        hold:release()
      end }):acquire(5))
      assert(other:create(path .. "/" .. name, "precious", { parents = true }))
      assert.are.equal(1, other:lock(path):request(5))
      world:advance(2)
      assert.is_true(asked)
      assert.are.equal("precious", (other:get(path .. "/" .. name)))
      assert.is_false(hold:valid())
    end
  end))

  it("is no contender", within(function(_, session, other)
    local hold = assert(session:lock("/l", { data = "ours" }):acquire(5))
    for _, name in ipairs { STRANGER, "lock-0000000000", "x__WRIT__0000000000" } do assert(other:create("/l/" .. name, "evil")) end
    local all = assert(other:lock("/l"):contenders(5))
    assert.are.same({ "ours" }, values(all))
    assert.is_true(all[1].holding)
    hold:release()
    local semaphore = session:semaphore("/s", 2)
    hold = assert(session:semaphore("/s", 2, { data = "ours" }):acquire(5))
    assert(other:create("/s/a-5-lease-0000000000", "evil"))
    all = assert(semaphore:contenders(5))
    assert.are.same({ "ours" }, values(all))
    assert.is_true(all[1].holding)
    hold:release()
  end))

  it("does not lead, and is no candidate", within(function(world, session, other)
    local election = other:election "/e"
    for i = 1, 3 do assert(other:create(("/e/x%d-latch-0000000000"):format(i), "evil", { parents = true })) end
    assert.is_nil(election:leader(5))
    local seen = {}
    local observer = world.zk.spawn(function()
      for leader in election:observe() do seen[#seen + 1] = leader and leader.value or "nobody" end
    end)
    world:advance(5)
    assert.are.same({ "nobody" }, seen)
    local before = world:requests(other)
    world:advance(60)
    assert.is_true(world:requests(other) - before < 60) -- it watches, and does not poll
    local term = assert(session:election("/e", { value = "ours" }):campaign(20))
    world:advance(1)
    assert.are.same({ "nobody", "ours" }, seen)
    assert(other:create("/e/latch-0000000000", "evil")) -- its name is usual, so no other candidate is elected
    for _ = 1, 2 do
      assert.are.equal("ours", election:leader(5).value)
      assert.are.equal("ours", session:election("/e"):leader(5).value)
    end
    local all = assert(election:candidates(5))
    assert.are.same({ "ours" }, values(all))
    assert.is_true(all[1].leading)
    term:resign()
    world:advance(1)
    assert.are.same({ "nobody", "ours", "nobody" }, seen)
    assert.is_nil(election:leader(5))
    observer:cancel()
  end))

  it("neither leads by its rank nor counts for the quorum", within(function(_, session, other)
    assert(other:create("/e/x-rank-0000000000", "99\nevil", { parents = true }))
    assert(other:create("/e/x-rank-0000000001", "evil"))
    local two = session:election("/e", { value = "ours", rank = 5, quorum = 2 })
    fails("timeout", two:campaign(20))
    local term = assert(session:election("/e", { value = "ours", rank = 5 }):campaign(20))
    assert.are.equal("ours", two:leader(5).value)
    assert.are.same({ "ours" }, values(assert(two:candidates(5))))
    term:resign()
  end))

  it("is no contender of kazoo", within(function(_, session, other)
    local tag = ("0123456789abcdef"):rep(2)
    assert(other:create("/l/" .. tag .. "__lock__0000000007", "", { parents = true }))
    assert(other:create("/l/" .. tag .. "__rlock__0000000007", ""))
    for limit = 0, 10, 10 do
      assert(session:lock("/l"):acquire(limit)):release()
      assert(session:rwlock("/l"):read(limit)):release()
      assert(session:rwlock("/l"):write(limit)):release()
      assert(session:election("/l"):campaign(limit)):resign()
    end
    local theirs = "/l/" .. tag:reverse() .. "__lock__0000000008"
    assert(other:create(theirs, "", { ephemeral = true }))
    for limit = 0, 10, 10 do
      assert.matches(theirs .. " belongs to kazoo", fails("conflict", session:lock("/l"):acquire(limit)), 1, true)
    end
    assert(other:delete(theirs))
    pass(session:lock "/l")
  end))
end)

describe("a semaphore", function()
  local FULL = "a-5-lease-0000000000" -- more than the limit
  local OURS = "0123456789abcdef-1-5-lease-0000000000"

  local function limited(other, names, mode)
    assert(other:semaphore("/s", 2):acquire(5)):release()
    for _, name in ipairs(names) do assert(other:create("/s/" .. name, "", mode)) end
  end

  local MIXED = { FULL, "b-2-lease-0000000000", "c-1-lease-0000000001" }

  for _, names in ipairs { { FULL }, { "a-1-lease-0000000000", "b-1-lease-0000000000" }, MIXED } do
    it("has all its permits beside strangers, " .. table.concat(names, " "), within(function(world, session, other)
      limited(other, names)
      assert.are.equal(2, session:semaphore("/s", 2):available(5))
      local third = world:session()
      assert(third:connected(5))
      local first = assert(third:semaphore("/s", 2):acquire(0))
      local second = assert(session:semaphore("/s"):acquire(10))
      assert.are.equal(0, other:semaphore("/s"):available(5))
      fails("timeout", other:semaphore("/s"):acquire(0))
      fails("timeout", other:semaphore("/s"):acquire(5))
      first:release()
      second:release()
      assert(session:semaphore("/s"):acquire(10, 2)):release()
    end))
  end

  it("gives two simultaneous callers a permit each, beside a stranger", within(function(world, session, other)
    limited(other, { FULL })
    local waits = {}
    for i, its in ipairs { session, other } do
      waits[i] = world.zk.spawn(function() return its:semaphore("/s"):acquire(20) end)
    end
    for i = 1, 2 do assert(waits[i]:wait(20)) end
    for i = 1, 2 do assert(waits[i]:wait(0)):release() end
  end))

  it("counts an ephemeral znode with an unusual name", within(function(world, session, other)
    for _, name in ipairs { FULL, "a-2-lease-0000000000" } do
      limited(other, { name }, { ephemeral = true })
      local semaphore = session:semaphore "/s"
      assert.are.equal(name == FULL and 2 or 0, semaphore:available(5)) -- the stranger counts as a waiter
      fails("timeout", semaphore:acquire(0))
      fails("timeout", semaphore:acquire(5))
      local wait = world.zk.spawn(function() return semaphore:acquire(60) end)
      world:advance(30)
      assert(other:delete("/s/" .. name))
      assert(wait:wait(5)):release()
    end
    assert.are.equal(world:watches(), session:usage().watches)
  end))

  it("notices a resize while it reads strangers", within(function(world, session, other)
    local holds = {}
    for delay = 0, 40 do
      local path = "/s" .. delay
      holds[delay] = assert(other:semaphore(path, 11):acquire(5))
      for i = 1, 10 do assert(other:create(("%s/x-1-lease-%010d"):format(path, i), "", { ephemeral = true })) end
      local semaphore = session:semaphore(path)
      local waits = { world.zk.spawn(function() return semaphore:acquire(20) end) }
      world:advance(delay / 1000)
      assert(other:semaphore(path):resize(12))
      waits[2] = world.zk.spawn(function() return semaphore:acquire(20) end) -- this waiter reads the new limit
      local first = assert(waits[1]:wait(1))
      fails("timeout", waits[2]:wait(30))
      assert.is_true(first:valid() and holds[delay]:valid())
    end
  end))

  it("names the stranger in its way if a recipe would give that name", within(function(_, session, other)
    for _, name in ipairs { OURS, (OURS:gsub("%-5%-lease", "-2-lease")) } do
      limited(other, { name })
      for _ = 1, 2 do
        assert.matches("/s/" .. name .. " is ahead and is not ephemeral", fails("conflict", session:semaphore("/s"):acquire(30)), 1, true)
      end
      fails("timeout", session:semaphore("/s"):acquire(0))
      assert(other:delete("/s/" .. name))
      assert(session:semaphore("/s"):acquire(10)):release()
    end
  end))
end)
