-- Any loop of the user's own that can poll a descriptor: he asks session:loop() what to watch and for how long, and calls
-- its dispatch(), which resumes the coroutines.
--
-- Unlike with the built-in host, whoever waits here never drives the loop: a coroutine of the user's own yields to who
-- has resumed it, and is resumed by the next dispatch; on the main thread nobody can wait. The other adapters whose
-- hosts leave the coroutines to their users (luv) are made over this one.

local builtin = require "zkrecipes.adapters.builtin"
local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.host.coroutines"
local loops = require "zkrecipes.host.loop"

-- over(loop, name): an adapter whose coroutines are resumed by this loop, which somebody steps.
local function over(loop, name)
  local adapter, records = builtin.over(loop), loop.records
  adapter.name, adapter.runs = name, nil

  function adapter.token()
    local co = coroutines.running()
    if not co then return nil, "cannot wait outside of a coroutine: the loop, '" .. name .. "', would stand still" end
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
