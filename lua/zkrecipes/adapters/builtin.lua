-- The built-in host: a loop of our own (loop.lua), for plain scripts and the REPL.
--
-- A wait on the main thread, or in a coroutine of the user that the main thread resumes, drives the loop until the wait ends. The
-- contract of an adapter is in host.lua.

local coroutines = require "zkrecipes.host.coroutines"
local core = require "zkrecipes.core"
local loops = require "zkrecipes.host.loop"

-- The value that a coroutine of the user yields while it waits, if the user's code resumes it inside one of ours; the loop wakes it. A
-- generator must not wait, because its consumer would get this value: so any use of the value raises an error that says so.
local WAITING = setmetatable({}, {
  __tostring = function() return "zkrecipes: this coroutine waits; do not wait in a generator" end,
  __index = function(waiting) error(tostring(waiting), 2) end,
})

local STUCK = "cannot wait inside of a C function: table.sort, require, a finalizer"

-- Adds the functions that spawn and park on this loop.
local function add_coroutines(adapter, loop)
  local records = loop.records

  function adapter.spawn(fn)
    local record = { co = coroutine.create(fn), queued = false, parked = true }
    records[record.co] = record
    loop:wake(record)
    return record
  end

  -- Returns the coroutine's record, or a new one for the main thread, which will drive the loop.
  function adapter.token()
    local co = coroutines.running()
    local record = records[co]
    if (record or loop.current) and not core.yieldable() then return nil, STUCK end
    if record then return record end
    if not loop.current and core.finalizes() then return nil, STUCK end -- it may have interrupted a call of ours
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
