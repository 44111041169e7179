-- Measures how long a coroutine of each host waits for the host: `make latency`.
--
--   get       a round trip, one after the other, to a server on this machine
--   wake-up   from the end of a wait for a lock, which another coroutine cancels, to the next line: no server takes part
--
-- Medians and 99 % of 2,000 each, in microseconds. To run it alone: lua5.4 dev/latency.lua HOST, with LUA_PATH and LUA_CPATH for build/,
-- within dev/zk exec. Inside nginx this file returns the measurement.

local COUNT = 2000

local function summary(times)
  table.sort(times)
  return ("%5.0f %5.0f"):format(times[#times / 2], times[#times * 99 / 100])
end

local function gets(zk, session)
  local times = {}
  for i = -500, COUNT do
    local before = zk.now()
    session:get("/")
    if i > 0 then times[i] = (zk.now() - before) * 1e6 end
  end
  return times
end

local function wake_ups(zk, session)
  local lock, times, asked = session:lock("/zkrecipes-latency"), {}, nil
  local hold = assert(lock:acquire(10))
  local waiter = zk.spawn(function()
    for i = 1, COUNT do
      lock:acquire()
      times[i] = (zk.now() - asked) * 1e6
    end
  end)
  while #times < COUNT do
    zk.sleep(0.002) -- until it waits, and the loop sleeps
    asked = zk.now()
    lock:cancel()
  end
  waiter:wait()
  hold:release()
  session:delete_tree("/zkrecipes-latency")
  return times
end

local function measure(zk, hosts)
  local session = assert(zk.session { hosts = hosts })
  assert(session:connected(10))
  local text = ("get %s   wake-up %s"):format(summary(gets(zk, session)), summary(wake_ups(zk, session)))
  session:close()
  return text
end

if rawget(_G, "ngx") then return measure end -- luacheck: ignore 113

local HOSTS = os.getenv("ZK_HOSTS")
local HERE = rawget(_G, "jit") and "luajit" or _VERSION:match("%d%.%d")

local function on_loop(name)
  local loop = require("spec.support.loops." .. name)
  local over, ok, result = false, nil, nil
  local zk = require "zkrecipes".using(loop.adapter or name)
  loop.start(function()
    ok, result = zk.pcall(measure, zk, HOSTS)
    over = true
  end)
  loop.run(120, function() return over end)
  return assert(ok and result, result)
end

local function in_nginx()
  local it = require "spec.support.nginx".start { server = ([[ location = / { content_by_lua_block {
    ngx.print(require "dev.latency"(require "zkrecipes", "%s"))
  } } ]]):format(HOSTS) }
  local _, text = it:get("/", 120)
  it:stop()
  return text
end

local function one(name)
  local text
  if name == "openresty" then
    text = in_nginx()
  elseif name == "builtin" then
    local zk = require "zkrecipes"
    text = zk.run(function() return measure(zk, HOSTS) end)
  else
    text = on_loop(name)
  end
  print(("%-9s %-6s %s"):format(name, HERE, text))
end

local function all()
  local names = { "builtin" }
  for name in pairs(require "spec.adapters.matrix".matrix) do
    if require "spec.adapters.matrix".runs(name) then names[#names + 1] = name end
  end
  if HERE == "luajit" then names[#names + 1] = "openresty" end
  table.sort(names)
  for _, name in ipairs(names) do os.execute(os.getenv("ZR_LUA") .. " dev/latency.lua " .. name) end
end

if arg[1] then one(arg[1]) else all() end
