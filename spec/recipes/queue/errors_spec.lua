-- Errors of a queue: misuse, and failures. In simulated worlds.

local env = require "spec.support.env"
local sim = require "zkrecipes.sim"

local fails, raises = env.fails, env.raises

local function in_world(body)
  return function()
    local world = sim.new { seed = 1, limit = 5000 }
    world:run(function()
      local zk = world:process()
      local session = zk.session { timeout = 10 }
      body(session:queue("/q", { attempts = 1 }), world, zk, session)
    end)
  end
end

describe("misuse of a queue", function()
  it("of its path names 'queue'", in_world(function(_, _, _, session)
    for _, format in ipairs { false, "simple" } do
      local options = { format = format or nil }
      raises("#1 to 'queue' %(path 'jobs' must start with '/'", function() session:queue("jobs", options) end)
      raises("#1 to 'queue' %(path '/jobs/' ", function() session:queue("/jobs/", options) end)
      raises("#1 to 'queue' %(path '/jo//bs' ", function() session:queue("/jo//bs", options) end)
      raises("#1 to 'queue' %(path of a znode below the root", function() session:queue("/", options) end)
      raises("#1 to 'queue' %(path expected, got number", function() session:queue(5, options) end)
      raises("#1 to 'queue' %(path expected, got nil", function() session:queue(nil, options) end)
    end
  end))

  it("of redrive's limit", in_world(function(queue)
    raises("#1 to 'redrive' %(number expected, got string", function() queue:redrive("x") end)
    for _, limit in ipairs { 2.5, -1, 1 / 0, -1 / 0, 0 / 0 } do
      raises("#1 to 'redrive'", function() queue:redrive(limit) end)
    end
    for _ = 1, 3 do
      queue:put("x")
      assert(queue:claim(200)):nack()
    end
    assert.equal(0, queue:redrive(0))
    assert.equal(2, queue:redrive(2))
    assert.equal(1, queue:redrive())
  end))

  it("of an id", in_world(function(queue)
    raises("#1 to 'remove' %(1 to 200 bytes expected, got 0", function() queue:remove("") end)
    raises("#1 to 'remove' %(1 to 200 bytes expected, got 201", function() queue:remove(("x"):rep(201)) end)
    raises("#1 to 'remove' %(string expected, got nil", function() queue:remove() end)
    raises("#2 to 'put' %(option 'id': 1 to 200 bytes expected, got 0", function() queue:put("x", { id = "" }) end)
    assert.is_false(queue:remove(("x"):rep(200)))
  end))

  it("of a list", in_world(function(queue)
    raises("#1 to 'put_all' %(list expected, got a table with 'data'", function() queue:put_all { data = "x" } end)
    raises("#1 to 'put_all' %(list expected, got a table with 'data'", function() queue:put_all { "x", data = "y" } end)
    raises("#1 to 'put_all' %(list expected, got a table without entry 2", function() queue:put_all { "x", nil, "y" } end)
    raises("#1 to 'put_all' %(list expected, got a table without entry 1", function() queue:put_all { [0] = "x" } end)
    raises("#1 to 'put_all' %(entry 2: string or table expected, got number", function() queue:put_all { "x", 5 } end)
    raises("#1 to 'put_all' %(entry 1, option 'data': string expected, got nil", function() queue:put_all { {} } end)
    assert.equal(0, queue:size())
    assert.equal(0, queue:put_all {})
  end))
end)

describe("a failure of a queue", function()
  local METHODS = { put = { "x" }, put_all = { { "x" } }, claim = { 0 }, take = { 0 }, size = {}, peek = {}, dead_size = {},
    redrive = {}, remove = { "id" } }

  -- The message has name, path and reason, and nothing about the request that failed.
  local function check(queue, names, code)
    for name in names:gmatch "%S+" do
      local message = fails(code, queue[name](queue, (unpack or table.unpack)(METHODS[name]))) -- luacheck: ignore 113 143
      assert.matches("^queue:" .. name .. " /q: %w[^/]*$", message)
    end
  end

  -- Raised at the line of the loop.
  local function check_loops(queue, ...)
    for _, name in ipairs { ... } do
      raises("lua:%d+: queue:" .. name .. " /q: %w[^/]*$", function()
        for _ in queue[name](queue) do assert(false) end
      end)
    end
  end

  it("has the name of the method and the path", in_world(function(queue, world, zk, session)
    queue:put("x")
    assert.equal(1, select("#", queue:size()))
    local item = assert(queue:claim(200))
    local limited = session:queue("/q", { capacity = 5 })
    world:disconnect(zk)
    check(queue, "put put_all claim take size peek dead_size redrive remove", "connection_loss")
    check(limited, "put put_all", "connection_loss")
    check_loops(queue, "items", "dead")
    local message = fails("connection_loss", item:ack())
    assert.equal("item:ack " .. item.path .. ": ", message:sub(1, #item.path + 11))
    world:heal()
    session:close()
    check(queue, "put put_all claim take size peek dead_size redrive remove", "closed")
    check_loops(queue, "items", "dead")
    assert.equal(4, select("#", queue:put_all { "x" }))
  end))

  it("has the name and the path in the simple format too", in_world(function(_, world, zk, session)
    local queue = session:queue("/q", { format = "simple" })
    queue:put("x")
    world:disconnect(zk)
    check(queue, "put put_all take size peek", "connection_loss")
    check_loops(queue, "items")
    world:heal()
    assert.equal("x", queue:peek().data)
    local seen = {}
    queue:put("y")
    for item in queue:items() do seen[#seen + 1] = item.data end
    assert.same({ "x", "y" }, seen)
    session:close()
    check(queue, "put put_all take size peek", "closed")
  end))
end)
