-- luv (libuv): coroutines wherever they were made; uv.run ends when the last session is closed.
-- Two coroutines take turns in a lock, and meanwhile the loop does what else it has to do.
-- Run it: lua5.4 examples/luv.lua [hosts]

local uv = require "luv"
local zk = require "zkrecipes".using "luv"

local PATH = "/zkrecipes-example-luv"

local function work(session, name)
  local lock = session:lock(PATH)
  for turn = 1, 2 do
    local hold = assert(lock:acquire(30))
    print(name .. ": turn " .. turn)
    zk.sleep(0.02) -- the work
    hold:release()
  end
end

local function main()
  local session = zk.session { hosts = arg[1] or "127.0.0.1:2181", timeout = 20 }
  zk.all { function() work(session, "one") end, function() work(session, "two") end }
  session:delete_tree(PATH)
  session:close()
end

local timer, ticks = uv.new_timer(), 0
timer:start(5, 5, function() ticks = ticks + 1 end)

coroutine.wrap(function()
  main()
  timer:stop()
end)()
uv.run()
print("the loop has ended, it ticked: " .. tostring(ticks > 5))
