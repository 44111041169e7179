-- Any loop that can poll a descriptor: here poll(2) of lua-posix, or luasocket's select where there is none.
-- Two coroutines take turns in a lock, and meanwhile the loop does what else it has to do.
-- Run it: lua5.4 examples/poll.lua [hosts]

local zk = require "zkrecipes".using "poll"

local PATH = "/zkrecipes-example-poll"

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

-- How to sleep until the descriptor is readable, for so many seconds at most (nil: no limit).
local function poller()
  local found, posix = pcall(require, "posix.poll")
  if found then
    return function(fd, seconds) posix.rpoll(fd, seconds and math.ceil(seconds * 1000) or -1) end
  end
  local socket, descriptor = require "socket", nil
  local object = { getfd = function() return descriptor end, dirty = function() return false end }
  return function(fd, seconds)
    descriptor = fd
    socket.select({ object }, nil, seconds)
  end
end

-- The session lends what the loop needs; one is enough for all.
local session = zk.session { hosts = arg[1] or "127.0.0.1:2181" }
local loop, poll, ticks, over = session:loop(), poller(), 0, false

coroutine.wrap(function()
  main()
  session:close()
  over = true
end)()
while not over do
  poll(loop.fd(), math.min(loop.timeout() or 1, 0.005)) -- 0.005: this loop has a tick of its own
  loop.dispatch()
  ticks = ticks + 1
end
print("the loop has ended, it ticked: " .. tostring(ticks > 5))
