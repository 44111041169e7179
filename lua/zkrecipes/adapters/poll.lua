-- For any loop of the user that can poll a descriptor. session:loop() tells what to watch and for how long; the user calls its
-- dispatch(), which resumes the coroutines.
--
-- Unlike on the built-in host, a wait here never drives the loop: a coroutine of the user yields to the code that has resumed it, and
-- the next dispatch resumes it. Code on the main thread cannot wait. Other adapters for hosts that leave the coroutines to their users
-- (luv) are built on this one.

local builtin = require "zkrecipes.adapters.builtin"
local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.host.coroutines"
local loops = require "zkrecipes.host.loop"

-- over(loop, name): an adapter whose coroutines this loop resumes; the caller steps the loop.
local function over(loop, name)
  local adapter, records = builtin.over(loop), loop.records
  adapter.name, adapter.runs = name, nil

  function adapter.token()
    local co = coroutines.running()
    if not co then return nil, "cannot wait outside of a coroutine: it would block the loop '" .. name .. "'" end
    if not core.yieldable() then return nil, builtin.stuck end
    local record = records[co]
    if not record then
      record = { co = co, queued = false, foreign = true }
      records[co] = record
    end
    return record
  end

  return adapter
end

local M = over(loops.new(), "poll")
M.over = over

core.own(debug.getinfo(1, "S").source)
return M
