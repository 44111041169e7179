-- Who takes part, in the order of the columns, and how each is started.

local JAVA = "/usr/share/java/"
local JARS = {}
for name in ("curator-recipes curator-framework curator-client zookeeper zookeeper-jute guava slf4j-api slf4j-nop"):gmatch("%S+") do
  JARS[#JARS + 1] = JAVA .. name .. ".jar"
end

local function on(interpreter, variant)
  return ("env LUA_PATH='lua/?.lua;lua/?/init.lua;;' LUA_CPATH='build/%s/?.so;;' %s bench/zkrecipes.lua"):format(variant, interpreter)
end

return {
  { id = "floor", title = "floor (bare C)", command = "build/bench/floor" },
  { id = "lua5.4", title = "zkrecipes, Lua 5.4", command = on("lua5.4", "5.4"), ours = true },
  { id = "luajit", title = "zkrecipes, LuaJIT", command = on("luajit", "luajit"), ours = true },
  { id = "curator", title = "Curator", command = "java -cp build/bench:" .. table.concat(JARS, ":") .. " Curator" },
  { id = "kazoo", title = "kazoo", command = "/usr/bin/python3 bench/kazoo_bench.py" },
}
