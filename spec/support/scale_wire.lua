-- Bytes on the wire of one process that joins a queue, and gets and passes on the lock: docs/scale.md. A proxy in front of a real server
-- counts those of the last process in the queue. All processes are sessions here.

local proxies = require "spec.support.proxy"
local zk = require "zkrecipes"

local M = {}

local LIMIT, LONG = 200, 110 -- seconds: for a step on a busy machine; no session expires

-- Frames that come at any time, and what asks whether all is quiet, on the wire.
local APART = { heartbeat = { 17, 25 }, ping = { 12, 20 }, sync = { 26, 34 } }

local function spent(proxy, session)
  assert(session:sync("/elsewhere")) -- when it is answered, everything before it has arrived
  local counts = proxy:sent()
  local result = { requests = counts.requests - counts.sync, up = counts.bytes_up, down = counts.bytes_down, events = counts.events }
  for name, bytes in pairs(APART) do
    result.up, result.down = result.up - counts[name] * bytes[1], result.down - counts[name] * bytes[2]
  end
  proxy:reset()
  return result
end

-- Waits without stopping the coroutines.
local function seen(proxy, name)
  repeat zk.sleep(0.002) until proxy:counts()[name] > 0
end

local function open(hosts, count)
  local sessions = {}
  for i = 1, count do sessions[i] = zk.session { hosts = hosts, timeout = LONG } end
  for i = 1, count do assert(sessions[i]:connected(LIMIT)) end
  return sessions
end

-- The i-th in the queue. Returns when it holds or has set its watches; then the next one may join.
local function wait_behind(session, path, place)
  local task = zk.spawn(function() return assert(session:lock(path):acquire(LIMIT)) end)
  repeat
    zk.sleep(0.001)
  until #assert(session:children(path)) == place
  return task
end

---What one process costs behind so many others.
---@return table { join = { requests, up, down }, hand_off = { requests, events, up, down } } bytes
function M.behind(server, path, others)
  local proxy = proxies.start(server)
  local sessions, tasks = open(server.hosts, others), {}
  local mine = open(proxy.hosts, 1)[1]
  assert(mine:create(path, ""))
  for i = 1, others do tasks[i] = wait_behind(sessions[i], path, i) end
  spent(proxy, mine)
  local wait = zk.spawn(function() return assert(mine:lock(path):acquire(LIMIT)) end)
  seen(proxy, "exists")
  local result = { join = spent(proxy, mine) }
  for i = 1, others do tasks[i]:wait():release() end
  wait:wait():release()
  seen(proxy, "multi")
  result.hand_off = spent(proxy, mine)
  for _, session in ipairs(sessions) do session:close() end
  mine:close()
  proxy:stop()
  return result
end

return M
