-- The built-in host: a loop of our own (loop.lua), for plain scripts and the REPL.
--
-- Whoever waits on the main thread, or in a coroutine of his own that he resumes there, drives the loop until he is
-- answered. The contract of an adapter is in host.lua.

local coroutines = require "zkrecipes.coroutines"
local core = require "zkrecipes.core"
local loop = require "zkrecipes.loop"

local M = { name = "builtin", now = loop.now, step = loop.step, timeout = loop.timeout, unpark = loop.wake }

-- Coroutine > its record, see loop.lua. Weak on both sides: a record knows its coroutine, and Lua 5.1 would else keep
-- both for ever. Who may wake it holds the record.
local records = setmetatable({}, { __mode = "kv" })

-- What a coroutine of the user's own, resumed by himself inside of one of ours, yields while it waits: it is woken
-- by the loop. A generator must not wait, its consumer would get this as a value; so it speaks up.
local WAITING = setmetatable({}, {
  __tostring = function() return "zkrecipes: this coroutine waits; do not wait in a generator" end,
  __index = function(waiting) error(tostring(waiting), 2) end,
})

function M.attach(client) loop.attach(client) end

function M.detach() end

function M.spawn(fn)
  local record = { co = coroutine.create(fn), queued = false, parked = true }
  records[record.co] = record
  loop.wake(record)
end

-- A record: of the coroutine, or a new one for whoever will drive the loop.
function M.token()
  local co = coroutines.running()
  local record = records[co]
  if record then return record end
  if not loop.current then return { queued = false } end
  record = { co = co, queued = false, foreign = true }
  records[co] = record
  return record
end

function M.park(record, timeout)
  if timeout then loop.wake_at(record, loop.now() + timeout) end
  if record.co then
    record.parked = true
    coroutine.yield(record.foreign and WAITING or nil)
    record.parked = false
  else
    loop.drive(record)
  end
  loop.stop(record)
end

core.own(debug.getinfo(1, "S").source)
return M
