-- cqueues: the coroutines of a controller; its loop ends when the last session is closed.
-- Two coroutines take turns in a lock, and meanwhile the loop does what else it has to do.
-- Run it: lua5.4 examples/cqueues.lua [hosts]

local cqueues = require "cqueues"
local zk = require "zkrecipes".using "cqueues"

local PATH = "/zkrecipes-example-cqueues"

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

local controller, ticks, over = cqueues.new(), 0, false
controller:wrap(function()
  main()
  over = true
end)
controller:wrap(function()
  while not over do
    cqueues.sleep(0.005)
    ticks = ticks + 1
  end
end)
assert(controller:loop())
print("the loop has ended, it ticked: " .. tostring(ticks > 5))
