-- luv (libuv). Waits work in every coroutine, also in the user's own. Callbacks run on the main thread, where no wait is possible:
-- start a coroutine there.
--
-- 1. A poll handle fires when our descriptor is readable; a timer fires when something is due or was woken outside of a turn.
-- 2. Both callbacks run a turn of our loop, which resumes coroutines from the callback, never from inside another coroutine.
-- 3. The poll handle keeps uv.run from returning while a session is open; the timer does so while a time limit runs.
--
-- What can go wrong: an error in a callback would end the process, so coroutines are resumed protected. libuv starts a timer from its
-- cached time, which does not advance during a callback, so we tell libuv to update it. Closing a handle while the loop does not run
-- crashes some versions of luv at the end of the process, so we close no handle.

local core = require "zkrecipes.core"
local loops = require "zkrecipes.host.loop"
local poll = require "zkrecipes.adapters.poll"
local uv = require "luv"

local loop = loops.new()
local M = poll.over(loop, "luv")
M.step, M.timeout = nil, nil

local client, watcher, timer
local turning = false

local turn

-- The next turn: when something is due in our loop or in the core.
local function arm()
  if turning then return end
  local left, due = loop:timeout(), client.timeout()
  if due and (not left or due < left) then left = due end
  if client.idle() then watcher:unref() end
  if not left then return timer:stop() end
  uv.update_time()
  timer:start(math.ceil(left * 1000), 0, turn)
end

function turn()
  turning = true
  loop:step()
  turning = false
  arm()
end

loop.kick = arm

function M.attach(its_client)
  client, loop.client = its_client, its_client
  timer = timer or assert(uv.new_timer())
  watcher = assert(uv.new_poll(client.fd()))
  watcher:unref()
  assert(watcher:start("r", turn))
end

function M.detach()
  watcher:stop()
end

function M.keep()
  watcher:ref()
end

core.own(debug.getinfo(1, "S").source)
return M
