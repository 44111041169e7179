-- luv's loop, for the contract of adapters (spec/adapters/contract.lua).

local coroutines = require "zkrecipes.host.coroutines"
local uv = require "luv"

local M = { ends = true }

local guard = uv.new_timer() -- never closed, see adapters/luv.lua

function M.start(fn) coroutine.wrap(fn)() end

function M.sleep(seconds)
  local co = coroutines.running() -- on Lua 5.1 a task runs in a coroutine within its coroutine
  local timer = uv.new_timer()
  uv.update_time()
  timer:start(math.ceil(seconds * 1000), 0, function()
    timer:close()
    assert(coroutine.resume(co))
  end)
  coroutine.yield()
end

function M.run(limit, over)
  local late, more = false, true
  uv.update_time()
  guard:start(math.ceil(limit * 1000), 0, function() late = true end)
  guard:unref()
  while more and not late and not over() do more = uv.run("once") end
  guard:stop()
  uv.run("nowait") -- or a timer that was just closed would crash this luv at the end
  return not more
end

return M
