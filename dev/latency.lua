-- How long a round trip takes from a coroutine of one host, and so what the host adds to it: the median of 2,000 gets one
-- after the other.
--
--   make LUA=5.4; dev/zk exec -- lua5.4 dev/latency.lua HOST   (with LUA_PATH and LUA_CPATH for build/)

local name = arg[1]
local COUNT = 2000

local zk = require "zkrecipes"
local clock = zk.now

local function measure(its)
  local session = assert(its.session { hosts = os.getenv("ZK_HOSTS") })
  assert(session:connected(10))
  for _ = 1, 500 do session:get("/") end
  local times = {}
  for i = 1, COUNT do
    local before = clock()
    session:get("/")
    times[i] = (clock() - before) * 1e6
  end
  session:close()
  table.sort(times)
  print(("%-9s %-8s p50 %5.0f us  p99 %5.0f us"):format(name, rawget(_G, "jit") and "luajit" or _VERSION:sub(5),
    times[COUNT / 2], times[COUNT * 99 / 100]))
end

if name == "builtin" then
  zk.run(function() measure(zk) end)
else
  local loop = require("spec.support.loops." .. name)
  local over, ok, problem = false, nil, nil
  loop.start(function()
    ok, problem = zk.pcall(measure, zk.using(loop.adapter or name))
    over = true
  end)
  loop.run(60, function() return over end)
  assert(ok, problem)
end
