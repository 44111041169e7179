-- Lets the core work inside nginx, which can wait only for its own sockets and semaphores.
--
-- 1. A timer of ours connects a socket to the bell of the engine (src/lua/bell.c): a byte arrives whenever the core has work.
-- 2. In this timer, one light thread listens to the bell. A second one, the clock, sleeps until something is due in the core. Nothing
--    polls. A third one publishes the status for the other workers (workers.lua).
-- 3. When the worker is about to end, nginx runs the timer `sentinel` early. The dispatcher stops coroutines that wait in the background
--    at once. It ends when no coroutine waits for a request any more, and starts again if one waits later.
--
-- What can go wrong:
-- * A waiting light thread or a task (timers.lua) is killed: while there are any, the clock checks them every SWEEP seconds.
-- * nginx refuses a timer, or accepts it and never runs it: the dispatcher asks again after RETRY seconds.
-- * The socket fails: the dispatcher ends, and the next wait starts it again.
-- * `lua_code_cache off`: each request has a Lua state, which lives as long as a timer in it. So the dispatcher ends when it was not
--   needed for IDLE seconds, unless it was started in init_worker.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local semaphore = require "ngx.semaphore"
local timers = require "zkrecipes.openresty.timers"

local M = { client = nil, beside = nil } -- beside(): runs in a light thread of its own while the dispatcher does

local SWEEP, RETRY, IDLE, TICK, LOOK, DAY = 0.5, 1, 1, 0.1, 20, 86400
local LINGER = 2  -- seconds to wait for the requests' locks when the worker is about to end
local BATCH = 512 -- steps of the core in one dispatch

local alarm = semaphore.new(0)
local running, permanent, deaf = false, false, false
local asked, used, due = -DAY, 0, 0 -- times: when a timer was asked for, when a coroutine waited last, when the clock checks next
local ends_at                       -- the worker is about to end: until this time it waits for the requests' locks

function M.report(text) ngx.log(ngx.ERR, "zkrecipes: ", text) end

function M.ending() return ends_at ~= nil end

-- ---- Timers ------------------------------------------------------------------------------------

-- Runs fn in a new timer; returns its `life`. See timers.lua.
function M.start(fn, for_request, held)
  local life = timers.start(fn, for_request, M.client.now(), held)
  M.needed()
  return life
end

-- ---- The clock ---------------------------------------------------------------------------------

local function look_at(time)
  if time >= due then return end
  due = time
  alarm:post(1)
end

local function busy() return next(M.client.parked) ~= nil or timers.busy() end

-- Seconds until the clock must check again.
local function pause(now)
  local left = math.min(M.client.timeout() or LOOK, permanent and LOOK or IDLE)
  if busy() then left = math.min(left, SWEEP) end
  if ends_at then left = math.min(left, TICK) end
  due = now + left
  return math.max(left, 0.001)
end

local function dispatch()
  M.client.dispatch(BATCH)
  local left = M.client.timeout()
  if left then look_at(M.client.now() + left) end
end

-- If the worker is about to end: wakes the coroutines that wait in the background; each then finds out that it must end.
local function end_with_worker(now)
  if not ngx.worker.exiting() then return end
  ends_at = ends_at or now + LINGER
  for token in pairs(M.client.parked) do
    if token.background and not token.posted then
      token.posted = true
      token.sem:post(1)
    end
  end
end

local function over(now)
  if busy() then
    used = now
    return false
  end
  if ends_at then return now >= ends_at or M.client.holding() == 0 end
  return not permanent and now - used > IDLE and M.client.holding() == 0
end

local function keep_time()
  repeat
    alarm:wait(pause(M.client.now()))
    local now = M.client.now()
    end_with_worker(now)
    dispatch()
    M.client.sweep()
    timers.look_after(now)
  until deaf or over(now)
end

-- ---- The dispatcher ----------------------------------------------------------------------------

local function listen(socket)
  local got, problem
  repeat
    got, problem = socket:receiveany(64)
    if got then dispatch() end
  until not got and problem ~= "timeout"
  deaf = true
  alarm:post(1)
end

local function connect()
  local address, problem = M.client.listen()
  if not address then return nil, problem end
  local socket = ngx.socket.tcp()
  socket:settimeouts(1000, 1000, DAY * 1000)
  local connected, why = socket:connect(address)
  if not connected then return nil, why end
  local accepted, reason = M.client.accept()
  if not accepted then return nil, reason end
  return socket
end

-- Called when a coroutine waits or will wait: makes sure that the dispatcher runs. False: call again soon.
function M.needed()
  local now = M.client.now()
  used = now
  if running then
    look_at(now + math.min(SWEEP, M.client.timeout() or SWEEP))
    return true
  end
  if now - asked >= RETRY and ngx.timer.at(0, M.serve) then asked = now end
  return false
end

-- Listens until no coroutine needs it; or nil and the reason why it cannot.
local function serve_once()
  local socket, problem = connect()
  if not socket then return nil, problem end
  deaf, used = false, M.client.now()
  local listener, other = ngx.thread.spawn(listen, socket), ngx.thread.spawn(M.beside)
  local ok, failure = pcall(keep_time)
  ngx.thread.kill(listener)
  ngx.thread.kill(other)
  socket:close()
  if not ok then return nil, failure end
  return not deaf, "the connection on which the I/O thread wakes this worker has closed"
end

function M.serve()
  if running then return end
  running = true
  local ok, problem = serve_once()
  while not ok and busy() do
    if not ngx.worker.exiting() then M.report("the dispatcher stopped and starts again: " .. check.text(problem)) end
    ngx.sleep(RETRY)
    end_with_worker(M.client.now())
    M.client.sweep()
    ok, problem = serve_once()
  end
  M.client.hangup()
  running, asked = false, -DAY
  if busy() then M.needed() end -- a wait began after it was told to end
end

local function sentinel()
  if not ngx.worker.exiting() then ngx.timer.at(DAY, sentinel) end
  alarm:post(1)
  M.client.ring() -- nginx is outside of its loop now and would handle the alarm only at the next event
end

function M.attach(client)
  M.client = client
  if ngx.get_phase() == "init_worker" then
    permanent = true
    ngx.timer.at(DAY, sentinel)
  end
  M.needed()
end

function M.detach() M.client.hangup() end

core.own(debug.getinfo(1, "S").source)
return M
