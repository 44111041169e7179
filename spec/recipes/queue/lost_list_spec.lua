-- The answer to a list is lost, and consumers take items of it before the producer can look what was done. In simulated worlds.
-- Tags: sanitize

local sim = require "zkrecipes.sim"

-- body(put, work, world): put(list) puts it, with a lost answer, and returns a function that waits for its result; then the producer has
-- no connection for three seconds. work: another process's queue.
local function in_world(body)
  return function()
    local world = sim.new { seed = 1, limit = 5000 }
    world:run(function()
      local zk, other = world:process(), world:process()
      local jobs = zk.session { timeout = 20 }:queue "/jobs"
      local work = other.session { timeout = 20 }:queue "/jobs"
      assert(jobs:put "warm")
      assert(work:take(5))
      body(function(list)
        local result
        world:plan(zk, "lose_reply", { kind = #list > 1 and "multi" or "create", down = 3 })
        zk.spawn(function() result = { jobs:put_all(list, 60) } end)
        other.sleep(1)
        return function()
          while not result do other.sleep(0.1) end
          assert.same({ #list, 0 }, result)
          assert.equal(0, world:planned(zk))
        end
      end, work, world)
    end)
  end
end

local function list_of(count)
  local list = {}
  for i = 1, count do list[i] = tostring(i) end
  return list
end

local function drain(work)
  local found = {}
  while true do
    local item = work:claim(1)
    if not item then return found end
    found[#found + 1] = item.data
    assert(item:ack())
  end
end

describe("a list whose answer is lost", function()
  it("is not put again if one of its items was done meanwhile", in_world(function(put, work)
    local wait = put(list_of(5))
    local first = assert(work:claim(1))
    assert.equal("1", first.data)
    assert(first:ack())
    assert.equal(4, work:size())
    wait()
    assert.same({ "2", "3", "4", "5" }, drain(work))
  end))

  it("is not put again if any one of its items is still there", in_world(function(put, work)
    for left = 1, 5 do
      local wait, items = put(list_of(5)), {}
      for i = 1, 5 do items[i] = assert(work:claim(1)) end
      for i = 1, 5 do
        if i ~= left then assert(items[i]:ack()) end
      end
      wait()
      assert(items[left]:nack())
      assert.same({ tostring(left) }, drain(work))
    end
  end))

  it("is not put again if it has a hundred items, and most of them were done", in_world(function(put, work)
    local wait = put(list_of(100))
    for i = 1, 99 do
      local item = assert(work:claim(1))
      assert.equal(tostring(i), item.data)
      assert(item:ack())
    end
    wait()
    assert.same({ "100" }, drain(work))
  end))

  -- What docs/recipes/queue.md says.
  it("is put again if none of its items is where it was put", in_world(function(put, work)
    local wait = put { "1", "2" }
    assert(assert(work:claim(1)):ack())
    assert(assert(work:claim(1)):nack(30))
    wait()
    assert.same({ "1", "2" }, drain(work))
  end))
end)
