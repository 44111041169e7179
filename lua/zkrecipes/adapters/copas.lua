-- copas 4; what Debian packages is copas 1, see copas1.lua.
--
-- 1. A watcher, a thread of copas, "receives" from an object that stands for our descriptor: it dispatches and waits again.
-- 2. A second thread, the clock, sleeps until something is due in the core.
-- 3. Both end when no session is open any more, so that copas.loop can end.
-- 4. A waiting coroutine pauses; copas resumes it.
--
-- What can go wrong: copas.wakeup has no effect on a coroutine that does not pause, so the token stores the wake-up. It would also wake
-- a coroutine that pauses for other reasons, so the token stores whether the coroutine waits for us. copas keeps a coroutine that
-- pauses without a limit only by a weak reference: the wait's record, or the object that it waits for, refers to the token. If all
-- threads are canceled, copas closes the object, and the next wait starts a new watcher.

local copas = require "copas"
if not copas.pauseforever then return require "zkrecipes.adapters.copas1" end

local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.host.coroutines"

local M = { name = "copas" }

local client, clock
local watching = false
local due = 0 -- when the clock looks again
local tokens = setmetatable({}, { __mode = "kv" }) -- coroutine > its token

-- An object that copas treats as a socket.
local descriptor = { settimeout = function() return 1 end }
function descriptor.getfd() return client.fd() end
-- Readable at once: if the clock has done the last work, nothing comes to the descriptor any more, and the watcher must end.
function descriptor.dirty() return client.idle() end

local function next_due()
  local left = client.timeout()
  return left and client.now() + left or math.huge
end

function descriptor.receive()
  client.dispatch()
  if client.idle() then return nil, "closed" end
  if clock and next_due() < due then copas.wakeup(clock) end
  return nil, "timeout"
end

function descriptor.close()
  watching = false
  if clock then copas.wakeup(clock) end
  return 1
end

local function tick()
  while watching do
    due = next_due()
    if due == math.huge then copas.pauseforever() else copas.pause(due - client.now()) end
    client.dispatch()
  end
  clock = nil
end

function M.keep()
  if watching or client.idle() then return end
  watching = true
  copas.addthread(function()
    repeat copas.receive(descriptor, 1) until not watching or client.idle() -- copas may pause before it returns
    descriptor.close()
  end)
  due = 0
  clock = clock or copas.addthread(tick)
end

function M.attach(its_client) client = its_client end
function M.detach() end
function M.now() return client.now() end

function M.token()
  local co = coroutines.running()
  if not co then return nil, "cannot wait outside of a thread of copas" end
  local coxpcall = package.loaded.coxpcall -- the pcall of Lua 5.1 there
  if coxpcall then co = coxpcall.running(co) end
  M.keep()
  tokens[co] = tokens[co] or { co = co, parked = false, woken = false }
  return tokens[co]
end

function M.park(token, timeout)
  token.parked = true
  if token.woken then copas.pause(0) elseif timeout then copas.pause(timeout) else copas.pauseforever() end
  token.parked, token.woken = false, false
end

function M.unpark(token)
  token.woken = true
  if token.parked then copas.wakeup(token.co) end
end

function M.spawn(fn)
  copas.addthread(fn)
end

core.own(debug.getinfo(1, "S").source)
return M
