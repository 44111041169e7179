-- The built-in host: a loop of our own (loop.lua), for plain scripts and the REPL.
--
-- Whoever waits on the main thread, or in a coroutine of his own that he resumes there, drives the loop until he is
-- answered. The contract of an adapter is in host.lua.

local coroutines = require "zkrecipes.host.coroutines"
local core = require "zkrecipes.core"
local loops = require "zkrecipes.host.loop"

-- What a coroutine of the user's own, resumed by himself inside of one of ours, yields while it waits: it is woken
-- by the loop. A generator must not wait, its consumer would get this as a value; so it speaks up.
local WAITING = setmetatable({}, {
  __tostring = function() return "zkrecipes: this coroutine waits; do not wait in a generator" end,
  __index = function(waiting) error(tostring(waiting), 2) end,
})

local STUCK = "cannot wait inside of a C function: table.sort, require, a finalizer"

-- What spawns and parks on this loop.
local function add_coroutines(adapter, loop)
  local records = loop.records

  function adapter.spawn(fn)
    local record = { co = coroutine.create(fn), queued = false, parked = true }
    records[record.co] = record
    loop:wake(record)
    return record
  end

  -- A record: of the coroutine, or a new one for whoever will drive the loop.
  function adapter.token()
    local co = coroutines.running()
    local record = records[co]
    if (record or loop.current) and not core.yieldable() then return nil, STUCK end
    if record then return record end
    if not loop.current then return { queued = false } end
    record = { co = co, queued = false, foreign = true, within = loop.current }
    records[co] = record
    return record
  end

  function adapter.park(record, timeout)
    if timeout then loop:wake_at(record, loop:now() + timeout) end
    if record.co then
      record.parked = true
      coroutine.yield(record.foreign and WAITING or nil)
      record.parked = false
    else
      loop:drive(record)
    end
    loop:stop(record)
  end
end

-- over(loop): an adapter whose coroutines this loop runs; simulated worlds have loops of their own.
local function over(loop)
  local adapter = { name = "builtin", runs = true, loop = loop }
  function adapter.attach(client) loop.client = client end
  function adapter.detach() end
  function adapter.now() return loop:now() end
  function adapter.step() loop:step() end
  function adapter.timeout() return loop:timeout() end
  function adapter.unpark(record) loop:wake(record) end
  add_coroutines(adapter, loop)
  return adapter
end

local M = over(loops.new())
M.over, M.stuck = over, STUCK

core.own(debug.getinfo(1, "S").source)
return M
