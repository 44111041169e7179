-- A loop of the user's own around poll(2) of lua-posix, or on Lua 5.4, for which Debian has none, luasocket's select: for
-- the contract of adapters (spec/adapters/contract.lua).

local coroutines = require "zkrecipes.host.coroutines"
local zk = require("zkrecipes").using "poll"

local M = { ends = false }

local function by_posix()
  local rpoll = require "posix.poll".rpoll
  return function(fd, seconds) rpoll(fd, math.ceil(seconds * 1000)) end
end

local function by_select()
  local socket = require "socket"
  local watched
  local object = { getfd = function() return watched end, dirty = function() return false end }
  return function(fd, seconds)
    watched = fd
    socket.select({ object }, nil, seconds)
  end
end

M.means = _VERSION == "Lua 5.4" and "select" or "posix"
local wait = M.means == "select" and by_select() or by_posix()

local sleepers = {} -- coroutine > when it continues

function M.start(fn)
  local co = coroutine.create(fn)
  assert(coroutine.resume(co))
end

function M.sleep(seconds)
  sleepers[coroutines.running()] = zk.now() + seconds
  coroutine.yield()
end

local function resume_sleepers()
  local now, ready = zk.now(), {}
  for co, at in pairs(sleepers) do
    if at <= now then ready[#ready + 1] = co end
  end
  for _, co in ipairs(ready) do
    sleepers[co] = nil
    assert(coroutine.resume(co))
  end
end

-- One session, which never connects, provides the loop for all.
local loop

function M.run(limit, over)
  loop = loop or zk.session { hosts = "127.0.0.1:1", timeout = 60 }:loop()
  local deadline = zk.now() + limit
  while not over() and zk.now() < deadline do
    local left = math.min(loop.timeout() or limit, deadline - zk.now())
    for _, at in pairs(sleepers) do left = math.min(left, at - zk.now()) end
    wait(loop.fd(), math.max(left, 0))
    loop.dispatch()
    resume_sleepers()
  end
  return false
end

return M
