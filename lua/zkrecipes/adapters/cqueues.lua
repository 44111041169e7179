-- cqueues. Waits work in the coroutines of a controller: those it has wrapped, and zk.spawn's.
--
-- 1. Each controller in which a coroutine waits runs one watcher, a coroutine that polls our descriptor and dispatches.
--    It ends when no session is open any more, so that the controller's loop can end.
-- 2. A waiting coroutine waits for its own condition variable; cqueues resumes it.
--
-- What can go wrong: a condition variable loses a signal if no coroutine waits for it, so the token stores the signal. The program
-- drops a controller while a coroutine waits in it: the next wait, in another controller, starts a watcher there. Our descriptor must
-- not be closed while a controller knows it: detach tells all controllers.

local condition = require "cqueues.condition"
local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.host.coroutines"
local cqueues = require "cqueues"

local M = { name = "cqueues" }

local client, stop
local watching = setmetatable({}, { __mode = "k" }) -- controller > the stop of its watcher
local tokens = setmetatable({}, { __mode = "kv" })  -- coroutine > its token

-- When a watcher is told to stop, its successor may already run.
local function watch(controller)
  local its_stop = stop
  local descriptor = { pollfd = client.fd(), events = "r", timeout = function() return client.timeout() end }
  while stop == its_stop and not client.idle() do
    cqueues.poll(descriptor, its_stop)
    if stop == its_stop then client.dispatch() end
  end
  if watching[controller] == its_stop then watching[controller] = nil end
  its_stop:signal() -- for the other waiters, which may get no event any more
end

local function keep_in(controller)
  if not controller or watching[controller] == stop or client.idle() then return end
  watching[controller] = stop
  controller:wrap(watch, controller)
end

function M.keep()
  keep_in((cqueues.running()))
end

function M.attach(its_client)
  client, stop = its_client, condition.new()
end

function M.detach()
  local last = stop
  stop = nil
  last:signal()
  cqueues.cancel(client.fd())
end

function M.token()
  local controller, co = cqueues.running(), coroutines.running()
  if not controller then return nil, "cannot wait outside of a cqueues controller: wrap a coroutine" end
  keep_in(controller)
  local token = tokens[co]
  if not token then
    token = { co = co, condition = condition.new(), woken = false }
    tokens[co] = token
  end
  return token
end

function M.park(token, timeout)
  if token.woken then cqueues.sleep(0) else token.condition:wait(timeout) end
  token.woken = false
end

function M.unpark(token)
  token.woken = true
  token.condition:signal()
end

function M.spawn(fn)
  local controller = cqueues.running()
  if not controller then core.misuse("cannot spawn outside of a cqueues controller: wrap a coroutine") end
  controller:wrap(fn)
end

function M.now() return client.now() end

core.own(debug.getinfo(1, "S").source)
return M
