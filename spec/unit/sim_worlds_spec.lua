-- Simulated worlds: the same seed gives the same history; several at once; their end; misuse. Needs no server.
-- Tags: sanitize

local fork = require "spec_fork"
local deaf = require "spec.support.deaf"
local env = require "spec.support.env"
local process = require "spec.support.process"
local sim = require "zkrecipes.sim"
local zk = require "zkrecipes"

local assert_misuse = deaf.assert_misuse

-- The trace of a world with this seed, line by line.
local function history(seed)
  local lines = {}
  local world = sim.new { seed = seed, trace = function(line) lines[#lines + 1] = line end }
  world:faults { cut = 0.1, lose_reply = 0.1, pause = 0.05, expire = 0.05, max_down = 3, max_pause = 12, max_delay = 1 }
  world:run(function()
    for i = 1, 3 do
      local session = world:session { timeout = 4 }
      local lock = session:lock("/l")
      world:process().spawn(function()
        for _ = 1, 10 do
          local hold = lock:acquire(20)
          lines[#lines + 1] = i .. (hold and " holds " .. hold.token or " waits")
          world.zk.sleep(1)
          if hold then hold:release() end
        end
      end)
    end
  end)
  return table.concat(lines, "\n")
end

describe("a history", function()
  it("is the same for the same seed, and differs for another seed", function()
    local first = history(7)
    assert.is_true(#first > 10000)
    assert.matches("\n +%d+%.%d+  client %x+: ", first)
    assert.matches("\n%d holds %x+\n", first)
    for _ = 1, 3 do assert.is_true(first == history(7)) end
    assert.is_false(first == history(8))
  end)

  it("does not depend on the process it runs in", function()
    local script = [[
      package.path = os.getenv("LUA_PATH")
      local sim = require "zkrecipes.sim"
      local world = sim.new { seed = 3, trace = true }
      world:run(function()
        for _ = 1, 3 do
          local session = world:session()
          world.zk.spawn(function() session:lock("/l"):with(function() world.zk.sleep(1) end) end)
        end
        world.zk.sleep(20)
      end)]]
    local file = os.tmpname()
    local handle = assert(io.open(file, "w"))
    handle:write(script)
    handle:close()
    local command = ("env %s %s 2>&1"):format(os.getenv("ZR_LUA") or process.interpreter, file)
    local first = process.output(command)
    assert.matches("\n +20%.%d+  ", first)
    for _ = 1, 3 do assert.is_true(first == process.output(command)) end
    os.remove(file)
  end)
end)

describe("worlds", function()
  it("do not disturb each other, nor the built-in host", function()
    local one, two = sim.new(), sim.new()
    local real = deaf.deaf_session()
    local a, b = one:session(), two:session()
    assert(a:create("/a", "") and b:create("/b", ""))
    assert.is_nil(one:get("/b"))
    assert.is_nil(select(2, one:get("/b")))
    zk.run(function()
      local began = zk.now()
      assert(a:get("/a")) -- blocks the built-in host for a moment
      one:advance(3600)
      assert.are.equal("inner", one:run(function() one.zk.sleep(60) return "inner" end))
      local task = zk.spawn(function() return select(3, real:connected(0.02)) end)
      assert.are.equal("connection_loss", (task:wait()))
      assert.is_true(zk.now() - began < 1800) -- not the hour that passed in the world
    end)
    one:run(function()
      zk.sleep(0.001) -- blocks the world
      assert(b:get("/b"))
      one.zk.sleep(1)
    end)
    assert.is_true(two:now() < 1)
    real:close(0)
  end)

  it("are collected with everything in them", function() env.alone "worlds" end)

  it("live as long as one of their sessions", function()
    local session = sim.new():session()
    for _ = 1, 3 do collectgarbage() end
    assert(session:create("/x"))
    assert(session:close())
  end)

  it("may be alive when the Lua state is closed", function()
    local script = "local w = require 'zkrecipes.sim'.new(); local s = w:session(); hold = s:lock('/l'):acquire() " ..
      "w:pause(s, 80000) w.zk.spawn(function() s:get('/x') end) w:advance(1) w:partition(w.zk) print 'end'"
    local command = ('env %s -e "%s" 2>&1; echo $?'):format(os.getenv("ZR_LUA") or process.interpreter, script)
    assert.are.equal("end\n0", process.output(command))
  end)

  it("do not work in a forked child", function()
    local world = sim.new()
    local session = world:session()
    assert(session:connected())
    local pid = fork.fork()
    if pid == 0 then
      local ok, message = pcall(world.run, world, function() end)
      local _, _, code = session:get("/x")
      local good = not ok and message:find("a simulated world cannot be used in a child process", 1, true)
      fork.exit(good and code == "forked" and 7 or 1)
    end
    assert.are.equal(7, fork.wait(pid))
    assert(session:create("/x"))
  end)
end)

describe("the page docs/sim.md", function()
  local file = assert(io.open("docs/sim.md"))
  local text, count = file:read("*a"), 0
  file:close()
  for block in text:gmatch("```lua\n(.-)```") do
    count = count + 1
    it("has programs that run, number " .. count, function() assert((loadstring or load)(block, "=docs/sim.md"))() end)
  end
end)

describe("misuse of a world", function()
  it("raises at the caller's line", function()
    local world = sim.new()
    assert_misuse(function() sim.new(1) end, "bad argument #1 to 'new' %(table of options expected, got number%)")
    assert_misuse(function() sim.new { sed = 1 } end, "bad argument #1 to 'new' %(unknown option 'sed'; there are: ")
    assert_misuse(function() sim.new { seed = "1" } end, "bad argument #1 to 'new' %(option 'seed': number expected")
    assert_misuse(function() sim.new { seed = 1.5 } end, ".*option 'seed': integer from 0 to")
    assert_misuse(function() sim.new { seed = 0 / 0 } end, ".*option 'seed': integer from 0 to")
    assert_misuse(function() sim.new { servers = 0 } end, ".*option 'servers': integer from 1 to 9 expected, got 0")
    assert_misuse(function() sim.new { latency = -1 } end, ".*option 'latency': 0 to 60 seconds expected")
    assert_misuse(function() sim.new { trace = 1 } end, ".*option 'trace': boolean or function expected")
    assert_misuse(function() world:run() end, "bad argument #1 to 'run' %(function expected, got nil%)")
    assert_misuse(function() world:run(print, 1) end, "bad argument #2 to 'run'")
    assert_misuse(function() world:run(function() world:run(print) end) end, "zk.run is running already")
    assert_misuse(function() world:advance() end, "bad argument #1 to 'advance' %(seconds expected, got nil%)")
    assert_misuse(function() world:advance(-1) end, "bad argument #1 to 'advance'")
    assert_misuse(function() world:get("x") end, "bad argument #1 to 'get' %(path expected, got x%)")
    assert_misuse(function() world:alive("x") end, "bad argument #1 to 'alive'")
    assert_misuse(function() world:session { timeout = "x" } end, "bad argument #1 to 'session'")
    assert_misuse(function() world:requests({}, "get") end, "bad argument #1 to 'requests'")
    assert_misuse(function() world:requests(nil, "gett") end, "bad argument #2 to 'requests' %(unknown kind of " ..
      "request 'gett'; there are: add_auth, any, children, create, delete, exists, get, get_acl, multi, reconfig, " ..
      "set, set_acl, sync, unwatch%)")
  end)
end)
