-- Runs functions in timers of nginx, and tells whether they still run.
--
-- nginx may end the code in a timer without notice: ngx.exit in any of its light threads does that. nginx then reuses the coroutine for
-- a request at once. So next to each function a light thread waits for a semaphore, which is posted when the function returns. nginx
-- ends all light threads of a timer together, and the semaphore's count shows whether the light thread still waits for it.
--
-- What can go wrong: nginx refuses a timer, or accepts it and never runs it: we ask again after RETRY seconds.

local core = require "zkrecipes.core"
local ffi = require "ffi"
local holdings = require "zkrecipes.openresty.held"
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

-- True if nginx has ended it.
local function killed(life) return life.done and not life.over and life.done:count() >= 0 end

local function forget(life)
  running[life] = nil
  if life.held then holdings.end_task(life.held, not life.over) end
end

local function run(_, life)
  if not starting[life] then return end
  starting[life], running[life] = nil, true
  at_address[tonumber(ffi.cast("uintptr_t", request()))], ngx.ctx.zkrecipes_life = life, life
  life.done = semaphore.new(0)
  ngx.thread.spawn(attend, life)
  life.fn()
  life.over = true
  life.done:post(1)
  forget(life)
end

-- Runs fn in a new timer. held: of its task (held.lua), or nil. Returns its life: { for_request, held, over }.
function M.start(fn, for_request, now, held)
  local life = { fn = fn, for_request = for_request, held = held, over = false }
  starting[life] = now
  ngx.timer.at(0, run, life)
  return life
end

-- The life of the running timer, if it is ours. Light threads may outlive the timer's function; then ngx.ctx has the life.
function M.life(address)
  local life = at_address[address]
  if life and not life.over and not killed(life) then return life end
  return ngx.ctx.zkrecipes_life
end

-- False if nginx has ended it.
function M.lives(life) return not killed(life) end

-- True if a function runs or has been asked to start.
function M.busy() return next(starting) ~= nil or next(running) ~= nil end

-- Forgets the functions that nginx has ended, and asks again for timers that have not started.
function M.look_after(now)
  for life in pairs(running) do
    if killed(life) then forget(life) end
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
