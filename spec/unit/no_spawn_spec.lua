-- A host that cannot spawn at the moment (cqueues outside of a controller, exhausted memory). The library starts its background work
-- later, and no handle hangs.

local collect = require "spec.support.collect"
local core = require "zkrecipes.core"
local sim = require "zkrecipes.sim"
local ways = require "spec.support.killed_ways"

local function raise() error("no coroutine can be started here", 0) end

local function try(way)
  local world = sim.new { servers = 1, seed = 1 }
  world:run(function()
    local here, there = world:process(), world:process()
    local state = { world = world, zk = here, session = here.session { timeout = 10 }, other_zk = there,
      other = there.session { timeout = 10 } }
    way.prepare(state)
    local adapter, refused = core.host(state.session).adapter, 0
    local spawn = adapter.spawn
    local task = here.spawn(function()
      adapter.spawn = function()
        refused = refused + 1
        raise()
      end
      way.act(state)
    end)
    world:advance(0.05)
    adapter.spawn = spawn
    assert(refused > 0, "it spawns nothing")
    assert(task:wait(60) == nil or task.ok)
    assert(task.done, "the call hangs")
    collect()
    local again = here.spawn(way.again, state)
    local ok, problem = again:wait(100)
    assert(ok, problem)
    if way.finish then way.finish(state) end
    world:advance(5)
    state.session:close()
    state.other:close()
  end)
end

local SPAWNS = { "a cohort, free", "a cohort, held elsewhere", "a revocable lock, free", "hold:on_lost" }

describe("a host that cannot spawn", function()
  for _, name in ipairs(SPAWNS) do
    for _, way in ipairs(ways) do
      if way.name == name then it("continues later: " .. name, function() try(way) end) end
    end
  end

  it("refuses zk.all, and leaves none of its tasks", function()
    local world = sim.new { servers = 1, seed = 1 }
    world:run(function()
      local zk = world:process()
      local session, ended = zk.session(), 0
      assert(session:connected(10))
      local adapter = core.host(session).adapter
      local spawn, count = adapter.spawn, 0
      function adapter.spawn(fn)
        count = count + 1
        if count == 3 then raise() end
        return spawn(fn)
      end
      local function sleep()
        local ok = zk.pcall(zk.sleep, 1000)
        ended = ended + (ok and 0 or 1)
      end
      local from = world:now()
      assert.error_matches(function() zk.all { sleep, sleep, sleep } end, "no coroutine can be started here")
      world:advance(1)
      assert.is_true(world:now() - from < 10)
      local left = 0
      for task in pairs(core.host(session).tasks) do left = left + (task.canceled and 1 or 0) end
      assert.equal(0, left)
      session:close()
    end)
  end)
end)
