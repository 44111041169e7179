-- A partitioner under exhausted memory, at every single allocation of the core, in virtual time.
-- Tags: sanitize, one thread

local allocations = require "spec.support.allocations"
local collect = require "spec.support.collect"
local sim = require "zkrecipes.sim"

local check = allocations.check

-- Makes a partitioner, runs, takes another set, and closes it.
local function operation(zk, session)
  local one = check(session:partitioner("/p", { "a", "b" }, { id = "m", settle = 0 }))
  if not one then return end
  local changes, served = check(one:changes()), {}
  local task = zk.spawn(function() one:run(function(part) served[part] = true end) end)
  repeat local ready = check(one:ready(200)) until ready
  for _ = 1, 2 do
    repeat local change = check(changes:next(200)) until change and change.kind == "gained"
  end
  while not (served.a and served.b) do zk.sleep(0.1) end
  repeat local done = check(one:set_parts({ "a" }, 200)) until done
  repeat local change = check(changes:next(200)) until change and change.kind == "ended"
  repeat local closed = check(one:close(200)) until closed
  task:wait()
end

describe("exhausted memory", function()
  it("in a partitioner: make, ready, run, changes, set_parts, close", function()
    local world = sim.new { seed = 1 }
    world:run(function()
      local session = world:session()
      assert(session:create("/p/parts", nil, { parents = true }))
      assert(session:create "/p/members")
      local count = allocations.at_every(function() operation(world.zk, session) end)
      assert.is_true(count > 20)
      world:advance(5)
      collect() -- partitioners that failed were dropped
      collect()
      world:advance(5)
      assert.equal(0, session:usage().watched_bytes)
      assert.same({}, world:children "/p/members")
    end)
  end)
end)
