-- A partitioner whose parts are named anew, again and again, keeps nothing of the old names. In virtual time.

local sim = require "zkrecipes.sim"

local PATTERN = "customer%-%d+"

-- The names that can be reached from the table, but not through its session or host.
local function names_in(root)
  local seen, names, count = { [root] = true, [root.session] = true, [root.host] = true, [_G] = true }, {}, 0
  local rest = { root }
  local function visit(value)
    local name = type(value) == "string" and value:match(PATTERN)
    if name and not names[name] then names[name], count = true, count + 1 end
    if type(value) == "table" and not seen[value] then
      seen[value] = true
      rest[#rest + 1] = value
    end
  end
  while rest[1] do
    for key, value in next, table.remove(rest) do
      visit(key)
      visit(value)
    end
  end
  return count
end

describe("a partitioner", function()
  it("forgets the parts that it does not divide any more", function()
    local world = sim.new { seed = 1 }
    world:run(function()
      local zk, session = world.zk, world:session()
      local one = assert(session:partitioner("/p", { "a" }, { settle = 0 }))
      local changes = assert(one:changes())
      local task = zk.spawn(function() repeat until not changes:next() end)
      assert(one:ready(100))
      for i = 1, 50 do
        assert(one:set_parts({ "customer-" .. i }, 100))
        zk.sleep(1)
      end
      assert.same({ "customer-50" }, one:mine())
      assert.equal(1, names_in(one.work))
      assert(one:set_parts({}, 100))
      zk.sleep(1)
      assert.equal(0, names_in(one.work))
      assert(one:close(100))
      task:wait()
    end)
  end)
end)
