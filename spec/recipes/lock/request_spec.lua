-- lock:request() while another call writes into the holder's znode, in simulated worlds, at every moment.

local sim = require "zkrecipes.sim"

-- Calls fn(world, after) for every moment of a request's life; the other write begins at the time `after`.
local function sweep(fn)
  for ms = 0, 120, 2 do
    local world = sim.new { latency = 0.01, jitter = 0 }
    world:run(function() fn(world, ms / 1000) end)
  end
end

describe("lock:request()", function()
  it("does not overwrite the mark of a downgrade", function()
    local asked = {}
    sweep(function(world, after)
      local writer, reader, other = world:session(), world:session(), world:session()
      local hold = assert(writer:rwlock("/rw", { data = "mine" }):write())
      local waiting = world.test.spawn(function() return reader:rwlock("/rw"):read(10) end)
      world:advance(1)
      local request = world.test.spawn(function() return other:lock("/rw"):request() end)
      world:advance(after)
      assert.is_true(hold:downgrade())
      local count = request:wait()
      asked[count] = true
      local read = waiting:wait()
      assert.is_truthy(read, "the reader behind is not let in, after " .. after)
      read:release()
      assert.is_truthy((world:get(hold.path)):find("^__SHARED__"), "after " .. after)
      assert.are.same({ true, true }, { hold.shared, hold:valid() })
      hold:release()
    end)
    assert.are.same({ [0] = true, true }, asked)
  end)

  it("fails if the holder's znode changes before each try", function()
    local world = sim.new { latency = 0.01, jitter = 0 }
    world:run(function()
      local holder, other = world:session(), world:session()
      local hold = assert(holder:lock("/l"):acquire())
      local writing = true
      local writer = world.test.spawn(function()
        while writing do assert(holder:set(hold.path, "mine")) end
      end)
      local count, message, code = other:lock("/l"):request()
      writing = false
      writer:wait()
      assert.are.same({ nil, "conflict" }, { count, code })
      assert.are.equal("lock:request /l: the holder's znode keeps changing; try again later", message)
      assert.are.equal(1, other:lock("/l"):request())
    end)
  end)

  it("is not lost if two clients request at the same time", function()
    sweep(function(world, after)
      local holder, one, two = world:session(), world:session(), world:session()
      local told = {}
      local lock = holder:lock("/l", { data = "mine", on_request = function() told[#told + 1] = world:now() end })
      local hold = assert(lock:acquire())
      world:advance(1)
      local requests = {}
      for i, session in ipairs { one, two } do
        requests[i] = world.test.spawn(function()
          if i == 2 then world:advance(after) end
          local began = world:now()
          assert.are.equal(1, session:lock("/l"):request())
          return began
        end)
      end
      local began = { requests[1]:wait(), requests[2]:wait() }
      world:advance(1)
      assert.is_true(told[#told] > began[2], "nobody is told of the second, after " .. after)
      assert.are.equal("mine", (world:get(hold.path)))
      hold:release()
    end)
  end)
end)
