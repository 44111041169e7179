-- copas 1, as Debian packages it: it knows sockets only, no pauses and no timers; `copas` in zk.using takes it by itself.
--
-- 1. A waiting coroutine yields to copas something that copas hands back to us, and copas forgets the coroutine.
-- 2. Our loop resumes it through copas.addthread, so that what it asks of copas next is again copas' business.
-- 3. Our loop has its turn at the end of each copas.step, which sleeps no longer than until something is due: copas.step
--    is replaced. So nothing is resumed from inside another coroutine.
-- 4. A watcher, a thread of copas that "receives" for ever from our descriptor, ends the sleep when something comes.
--
-- What can go wrong: copas closes, when a server's handler ends, the socket for which it waited last. It knows none when
-- the handler waited for us since: a handler that waits for us closes its socket by itself.

local copas = require "copas"
local core = require "zkrecipes.core"
local coxpcall = require "coxpcall"
local loops = require "zkrecipes.host.loop"
local poll = require "zkrecipes.adapters.poll"

local function nothing() end

local loop = loops.new(copas.addthread)
local M = poll.over(loop, "copas")
M.step, M.timeout = nil, nil

local client
local watching = false
local PARKED = { insert = nothing, push = nothing } -- what copas does with who waits

local descriptor = { settimeout = function() return 1 end, close = nothing, dirty = function() return false end }
function descriptor.getfd() return client.fd() end
function descriptor.receive() return nil, "timeout" end

function M.attach(its_client)
  client, loop.client = its_client, its_client
end

function M.keep()
  if watching then return end
  watching = true
  copas.addthread(function() copas.receive(descriptor, 1) end)
end

local token = M.token

-- Lua 5.1: inside of coxpcall's pcall the coroutine that copas knows is another one.
function M.token()
  local co = coroutine.running()
  local outer = co and coxpcall.running(co)
  if outer == co then return token() end
  loop.records[outer] = loop.records[outer] or { co = outer, queued = false }
  return loop.records[outer]
end

function M.park(record, timeout)
  if timeout then loop:wake_at(record, loop:now() + timeout) end
  record.parked = true
  coroutine.yield(record, PARKED)
  record.parked = false
  loop:stop(record)
end

local function least(a, b)
  if a and b then return math.min(a, b) end
  return a or b
end

local step = copas.step

function copas.step(timeout)
  if not client then return step(timeout) end
  local handled = step(least(timeout, least(loop:timeout(), client.timeout())))
  loop:step()
  return handled
end

core.own(debug.getinfo(1, "S").source)
return M
