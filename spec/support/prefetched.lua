-- What the specs of `prefetch` share: a process with such a queue in a simulated world, and what it sends.

local sim = require "zkrecipes.sim"

local M = {}

-- Runs body(world, zk, queue, other) in a process of a new world. other: the same queue, of another process that does not claim.
function M.in_world(prefetch, body)
  return function()
    local world = sim.new { seed = 1, limit = 100000 }
    world:run(function()
      local zk = world:process()
      local other = world:session():queue("/jobs")
      assert(other:put("first"))
      local queue = zk.session({ timeout = 10 }):queue("/jobs", { prefetch = prefetch })
      assert(queue:claim(5)):ack()
      world:advance(3) -- no listing is in use
      body(world, zk, queue, other)
    end)
  end
end

function M.put(queue, from, to)
  local list = {}
  for i = from, to do list[#list + 1] = tostring(i) end
  assert(queue:put_all(list))
end

function M.requests(world, zk)
  return { get = world:requests(zk, "get"), multi = world:requests(zk, "multi") }
end

function M.spent(world, zk, fn)
  local before = M.requests(world, zk)
  fn()
  local after = M.requests(world, zk)
  return { get = after.get - before.get, multi = after.multi - before.multi }
end

return M
