-- The mark of the first waiter (src/recipes/semaphore/mark.h), in a simulated world: what it says, and what happens when it says nothing.
-- What it costs is in budget_spec.lua.
-- Tags: sanitize

local allocations = require "spec.support.allocations"
local core = require "zkrecipes.core"
local sim = require "zkrecipes.sim"

-- A world with so many sessions, each of a process of its own. `line` has the semaphores, waits and holds of those that joined.
local function within(count, limit, fn)
  return function()
    local world = sim.new { seed = 1, latency = 0.05, jitter = 0, container_interval = 1e7, limit = 1e7 }
    world:run(function()
      local line = { world = world, sessions = {}, semaphores = {}, holds = {} }
      for i = 1, count do
        local zk = world:process()
        line.sessions[i] = zk.session { timeout = 30 }
        assert(line.sessions[i]:connected(10))
        line.semaphores[i] = line.sessions[i]:semaphore("/s", limit)
      end
      fn(line, world)
      for i = 1, count do line.sessions[i]:close() end
    end)
  end
end

local function join(line, i, semaphore)
  line.world.zk.spawn(function()
    local hold, message, code = (semaphore or line.semaphores[i]):acquire(1e5)
    assert(hold or code == "no_memory", message)
    line.holds[i] = hold
  end)
  line.world:advance(2)
end

local function release(line, i)
  line.holds[i]:release()
  line.holds[i] = nil
  line.world:advance(3)
end

local function lists(line) return line.world:requests(nil, "children") end

local function path_of(line, i)
  local list = assert(line.semaphores[1]:contenders())
  for _, each in ipairs(list) do
    if each.session == line.sessions[i].id then return each.path end
  end
end

describe("a semaphore's mark", function()
  for _, data in ipairs { false, "", "me", "//" } do
    it("comes before the user's data: " .. tostring(data), within(4, 1, function(line)
      for i = 1, 4 do join(line, i, line.sessions[i]:semaphore("/s", 1, { data = data or nil })) end
      local path = path_of(line, 3)
      release(line, 1)
      local raw = assert(line.sessions[1]:get(path))
      assert.matches("^__FIRST__%x+/%x+%-1%-1%-lease%-%d+" .. (data and "//" .. data or "") .. "$", raw)
      assert.equal(data or nil, line.semaphores[1]:contenders()[2].data)
      local before = lists(line)
      release(line, 2)
      release(line, 3)
      assert.is_true(line.holds[4]:valid())
      assert.equal(1, lists(line) - before) -- the last one, when it became the first: nobody was behind it when it came
      release(line, 4)
    end))
  end

  it("has no names if too many hold: then the one behind lists", within(4, 120, function(line)
    local holds = {}
    for i = 1, 120 do holds[i] = assert(line.semaphores[1]:acquire(5)) end
    for i = 2, 4 do join(line, i) end
    local path, before = path_of(line, 3), lists(line)
    line.holds[1] = holds[1]
    release(line, 1)
    assert.equal(1, assert(line.sessions[1]:exists(path)).version)
    assert.is_nil((line.sessions[1]:get(path)))
    assert.equal(2, lists(line) - before) -- one to see who is behind
    line.holds[1] = holds[2]
    release(line, 1)
    line.holds[1] = holds[3]
    release(line, 1)
    for i = 2, 4 do assert.is_true(line.holds[i]:valid()) end
  end))

  it("is none if a person has written the znode: the one behind lists, and hears the mark later", within(4, 1, function(line)
    for i = 1, 4 do join(line, i) end
    local path, before = path_of(line, 3), lists(line)
    for _, junk in ipairs { "junk", "__FIRST__" .. ("0"):rep(16) .. "/" } do
      assert(line.sessions[1]:set(path, junk))
      line.world:advance(5)
    end
    assert.equal(2, lists(line) - before)
    assert.is_nil(line.holds[4])
    release(line, 1)
    release(line, 2)
    assert.is_nil(line.holds[4])
    release(line, 3)
    assert.is_true(line.holds[4]:valid())
  end))

  it("that names what is no seat is none", within(4, 1, function(line)
    for i = 1, 4 do join(line, i) end
    local path, before = path_of(line, 3), lists(line)
    local stat = assert(line.sessions[1]:exists(path))
    for i, junk in ipairs { "/", "/x", "//x", "x", "/a-1-lease-0000000000/", ("/%s"):format(("y"):rep(200)) } do
      assert(line.sessions[1]:set(path, ("__FIRST__%016x%s"):format(stat.czxid, junk)))
      line.world:advance(5)
      assert.is_nil(line.holds[4])
      if junk ~= "//x" then assert.is_true(lists(line) - before >= i - 1, junk) end
    end
    for i = 1, 3 do release(line, i) end
    assert.is_true(line.holds[4]:valid())
  end))

  it("is not needed by a waiter of the same session", within(1, 1, function(line, world)
    local semaphore, order = line.semaphores[1], {}
    local hold = assert(semaphore:acquire(5))
    for i = 1, 5 do
      world.zk.spawn(function()
        local mine = assert(semaphore:acquire(1e5))
        order[#order + 1] = i
        world.zk.sleep(1)
        mine:release()
      end)
      world:advance(1)
    end
    local before, writes = lists(line), world:requests(nil, "set")
    hold:release()
    world:advance(20)
    assert.same({ 1, 2, 3, 4, 5 }, order)
    assert.equal(0, world:requests(nil, "set") - writes)
    assert.equal(1, lists(line) - before) -- the last one: is somebody of another session behind it?
  end))
end)

describe("a semaphore without memory", function()
  local COUNT, LIMIT = 6, 2

  local function valid(line)
    local list = {}
    for i = 1, COUNT do
      if line.holds[i] and line.holds[i]:valid() then list[#list + 1] = i end
    end
    assert.is_true(#list <= LIMIT, "too many hold")
    return list
  end

  -- Four wait; one more joins, or the holders leave, while the n-th allocation fails.
  local function once(line, joining, n)
    core.alloc_fail(0)
    line.holds = {}
    for i = 1, COUNT - 1 do join(line, i) end
    core.alloc_fail(n)
    if joining then join(line, COUNT) end
    local granted = 0
    while true do
      local holders = valid(line)
      if #holders == 0 then break end
      release(line, holders[1])
      granted = granted + 1
    end
    assert.is_true(granted >= COUNT - 2, "granted " .. granted)
    line.world:advance(5)
    for i = 1, COUNT do
      local usage = line.sessions[i]:usage()
      assert.same({ 0, 0 }, { usage.watches, usage.in_flight })
    end
  end

  for _, joining in ipairs { true, false } do
    it(joining and "grants to the others if it was missing for one that joins" or "goes on if it was missing for a hand-off",
      within(COUNT, LIMIT, function(line)
        allocations.at_every(function(n) once(line, joining, n) end)
        assert.same({}, line.sessions[1]:children("/s"))
      end))
  end
end)
