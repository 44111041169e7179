-- The contestants, in the order of the columns, and how each is started.
--
--   rows     it takes part in these rows only
--   ready    seconds until several of them are running and warm

local LIBRARIES = "/usr/share/java/"
local JARS = {}
for name in ("curator-recipes curator-framework curator-client zookeeper zookeeper-jute guava slf4j-api slf4j-nop"):gmatch("%S+") do
  JARS[#JARS + 1] = LIBRARIES .. name .. ".jar"
end
local JAVA = "java -Djute.maxbuffer=16777216 -cp build/bench:" .. table.concat(JARS, ":") -- long listings are over its limit

local function on(interpreter, variant)
  return ("env LUA_PATH='lua/?.lua;lua/?/init.lua;;' LUA_CPATH='build/%s/?.so;;' %s bench/zkrecipes.lua"):format(variant, interpreter)
end

-- The rows in which a grant is passed to the deciding thread.
local CROSSING = {}
for row in ("free at_once handoff_10 handoff_100 handoff_1000 sessions_100 sessions_1000 loop_10 loop_100 contend_2 contend_4 contend_8")
  :gmatch("%S+") do
  CROSSING[row] = true
end

return {
  { id = "floor", title = "floor (bare C)", command = "build/bench/floor" },
  { id = "floor2", title = "floor, two threads", command = "build/bench/floor --two-threads", rows = CROSSING },
  { id = "lua5.4", title = "zkrecipes, Lua 5.4", command = on("lua5.4", "5.4"), ours = true },
  { id = "luajit", title = "zkrecipes, LuaJIT", command = on("luajit", "luajit"), ours = true },
  { id = "curator", title = "Curator", command = JAVA .. " Curator", ready = 7 },
  { id = "kazoo", title = "kazoo", command = "/usr/bin/python3 bench/kazoo_bench.py", ready = 4 },
}
