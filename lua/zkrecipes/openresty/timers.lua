-- Functions that run in timers of nginx, and whether they still do.
--
-- nginx may end what runs in a timer without a word: ngx.exit does, in any of its light threads. It uses the coroutine again for a request
-- at once. So beside each function a light thread waits for a semaphore that is posted when the function returns: nginx ends all light
-- threads of a timer together, and a semaphore for which nobody waits any more tells by its count.
--
-- What can go wrong: nginx refuses a timer, or accepts it and never runs it: it is asked again after RETRY seconds.

local core = require "zkrecipes.core"
local ffi = require "ffi"
local semaphore = require "ngx.semaphore"

local M = {}

local RETRY = 1      -- seconds
local LONGEST = 3600 -- seconds; a semaphore takes no more than 24 days

local request = require "resty.core.base".get_request

local starting, running = {}, {}                        -- life > when its timer was asked for; life > true
local at_address = setmetatable({}, { __mode = "v" })   -- of the timer > life

local function attend(life)
  repeat until life.done:wait(LONGEST)
end

-- Has nginx ended it?
local function killed(life) return life.done and not life.over and life.done:count() >= 0 end

local function run(_, life)
  if not starting[life] then return end
  starting[life], running[life] = nil, true
  at_address[tonumber(ffi.cast("uintptr_t", request()))], ngx.ctx.zkrecipes_life = life, life
  life.done = semaphore.new(0)
  ngx.thread.spawn(attend, life)
  life.fn()
  life.over, running[life] = true, nil
  life.done:post(1)
end

-- Runs it in a timer of its own. What is known of it: { for_request, over }.
function M.start(fn, for_request, now)
  local life = { fn = fn, for_request = for_request, over = false }
  starting[life] = now
  ngx.timer.at(0, run, life)
  return life
end

-- Of the running timer, if it is one of ours. Light threads may outlive its function; then its ngx.ctx tells.
function M.life(address)
  local life = at_address[address]
  if life and not life.over and not killed(life) then return life end
  return ngx.ctx.zkrecipes_life
end

-- False when nginx has ended it.
function M.lives(life) return not killed(life) end

-- Does one run, or is it to?
function M.busy() return next(starting) ~= nil or next(running) ~= nil end

-- Forgets those that nginx has ended, and starts again those that have not begun.
function M.look_after(now)
  for life in pairs(running) do
    if killed(life) then running[life] = nil end
  end
  for life, at in pairs(starting) do
    if now - at > RETRY then
      starting[life] = now
      ngx.timer.at(0, run, life)
    end
  end
end

core.own(debug.getinfo(1, "S").source)
return M
