-- copas 1, as Debian packages it: it has only sockets, no pauses and no timers. zk.using "copas" chooses this adapter itself.
--
-- 1. A waiting coroutine yields to copas an object that copas passes back to us; then copas forgets the coroutine.
-- 2. Our loop resumes the coroutine through copas.addthread, so that copas handles its next requests to copas.
-- 3. We replace copas.step: at its end our loop has a turn, and its sleep ends when something is due. So no coroutine is resumed from
--    inside another coroutine.
-- 4. A watcher, a thread of copas that "receives" without end from our descriptor, ends the sleep when the descriptor is readable.
--
-- What can go wrong: when a server's handler ends, copas closes the socket that the handler waited for last. If the handler has waited
-- for us since, copas knows no socket: a handler that waits for us must close its socket itself.

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
local PARKED = { insert = nothing, push = nothing } -- the functions that copas calls with a waiting coroutine

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

-- Lua 5.1: inside coxpcall's pcall, copas knows another coroutine than the running one.
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
