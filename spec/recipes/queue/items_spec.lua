-- What an iterator of a queue, of either format, gives when steps are canceled, fail or overlap. In simulated worlds.
-- Tags: sanitize, one thread

local core = require "zkrecipes.core"
local sim = require "zkrecipes.sim"

-- Runs body(world, zk, queue) with a queue that has the items "1", "2" and "3". The normal one's first item is claimed.
local function with_items(format, body)
  return function()
    local world = sim.new { seed = 1, limit = 5000 }
    world:run(function()
      local zk = world:process()
      local queue = zk.session({ timeout = 10 }):queue("/q", { format = format })
      assert(queue:put_all { "1", "2", "3" })
      local claimed = format == nil and assert(queue:claim(5))
      body(world, zk, queue)
      if claimed then assert(claimed:ack()) end
    end)
  end
end

-- Returns all that the iterator gives. If a step fails, the next one follows.
local function rest_of(items)
  local seen, failed = {}, 0
  while true do
    local ok, item = pcall(items)
    if ok and not item then return seen, failed end
    if ok then seen[#seen + 1] = item.data else failed = failed + 1 end
  end
end

for name, format in pairs { normal = false, simple = "simple" } do
  local function it_has_items(what, body) it(what, with_items(format or nil, body)) end

  describe("an iterator of a queue of the " .. name .. " format", function()
    it_has_items("gives each item once to several coroutines", function(_, zk, queue)
      local items, tasks, seen = queue:items(), {}, {}
      for i = 1, 5 do tasks[i] = zk.spawn(items) end
      for i = 1, 5 do
        local item = tasks[i]:wait(10)
        if item then seen[#seen + 1] = item.data end
      end
      table.sort(seen)
      assert.same({ "1", "2", "3" }, seen)
    end)

    it_has_items("leaves no item out when a step is canceled", function(world, zk, queue)
      for _, kind in ipairs { "children", "get", "exists" } do
        local items = queue:items()
        world:plan(zk, "delay", { kind = kind, seconds = 3 })
        local step = zk.spawn(items)
        world:advance(1)
        step:cancel()
        world:advance(10)
        assert.same({ "1", "2", "3" }, rest_of(items))
      end
    end)

    it_has_items("leaves no item out when memory is exhausted", function(_, _, queue)
      local n, reached, failures = 0, true, 0
      while reached do
        n = n + 1
        core.alloc_fail(n)
        local seen, failed = rest_of(queue:items())
        reached, failures = core.alloc_failed(), failures + failed
        core.alloc_fail(0)
        assert.same({ "1", "2", "3" }, seen)
      end
      assert.is_true(failures > 5, failures)
    end)
  end)
end
