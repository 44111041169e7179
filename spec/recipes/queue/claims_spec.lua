-- A handle has at most 5,000 claims, held and waiting together. In virtual time.

local sim = require "zkrecipes.sim"
local env = require "spec.support.env"
local fails = env.fails

local MOST = 5000

local function in_world(count, fn)
  return function()
    local world = sim.new { seed = 1 }
    world:run(function()
      local session = world.zk.session()
      local queue, list = session:queue("/jobs"), {}
      for i = 1, count do list[i] = tostring(i) end
      assert(queue:put_all(list))
      fn(world, queue, session)
    end)
  end
end

describe("a handle's claims", function()
  it("are at most 5,000: the next claim is refused until an item is given back", in_world(MOST + 2, function(world, queue)
    local items = {}
    for i = 1, MOST do items[i] = assert(queue:claim(0)) end
    assert.matches("^queue:claim /jobs: this session has 5000 claims of the queue", fails("full", queue:claim(0)))
    fails("full", queue:claim())
    assert.equal(MOST, #world:children("/jobs/claims"))
    assert(items[1]:ack())
    items[1] = assert(queue:claim(0))
    fails("full", queue:claim(0))
    assert(items[2]:nack())
    items[2] = assert(queue:claim(0))
    fails("full", queue:claim(0))
    for i = 1, 2 do assert(items[i]:ack()) end
  end))

  it("are at most 5,000 if all callers claim at the same time", in_world(MOST + 100, function(world, queue)
    local given, refused, others = 0, 0, {}
    for i = 1, MOST + 100 do
      others[i] = world.zk.spawn(function()
        if i % 50 == 0 then world.zk.sleep(i / 1000) end -- while earlier ones are under way
        local item, _, code = queue:claim(60)
        if item then given = given + 1 elseif code == "full" then refused = refused + 1 end
        world.zk.sleep(1000)
        return item
      end)
    end
    world:advance(500)
    assert.same({ MOST, 100 }, { given, refused })
    assert.equal(MOST, #world:children("/jobs/claims"))
    for i = 1, #others do others[i]:cancel() end
  end))

  it("count while they wait, and not after they have given up", in_world(1, function(world, queue)
    local waits, item = {}, assert(queue:claim(0))
    for i = 1, MOST - 1 do waits[i] = world.zk.spawn(function() queue:claim() end) end
    world:advance(1)
    fails("full", queue:claim(0))
    waits[1]:cancel()
    world:advance(1)
    fails("timeout", queue:claim(0))
    for i = 2, #waits do waits[i]:cancel() end
    world:advance(1)
    fails("timeout", queue:claim(0))
    assert(queue:put("1"))
    assert.equal("1", assert(queue:claim(0)).data)
    assert(item:ack())
  end))
end)
