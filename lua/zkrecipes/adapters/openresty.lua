-- OpenResty: nginx with its Lua module. A wait suspends the light thread; the worker continues to serve.
--
-- Each waiting light thread has a semaphore, and the dispatcher (openresty/dispatcher.lua) lets the core work.
--
-- What can go wrong:
-- * A waiting light thread is killed (client abort, ngx.exit, ngx.thread.kill) without notice. The count of its semaphore shows it:
--   -1 while a light thread waits for it, one more for each post.
-- * nginx reuses the coroutine of one request for a later request: a token that stayed parked is not used again.
-- * nginx refuses a timer, or accepts it and never runs it: the dispatcher starts the spawned function again.
-- * The worker is about to end: coroutines that wait in the background, not for a request, are stopped.

local contexts = require "zkrecipes.openresty.contexts"
local core = require "zkrecipes.core"
local dispatcher = require "zkrecipes.openresty.dispatcher"
local semaphore = require "ngx.semaphore"
local timers = require "zkrecipes.openresty.timers"
local workers = require "zkrecipes.openresty.workers"

dispatcher.beside = workers.keep_publishing

local M = { name = "openresty", attach = dispatcher.attach, detach = dispatcher.detach, report = dispatcher.report,
  in_background = contexts.in_background, granted = contexts.granted, ended = contexts.ended, self = contexts.self,
  follows = contexts.follows, lives = timers.lives, preloads = true }

local WAITS = { rewrite = true, server_rewrite = true, access = true, precontent = true, content = true, timer = true,
  preread = true }
local LONGEST = 3600 -- seconds; a semaphore takes no more than 24 days

local tokens = setmetatable({}, { __mode = "k" }) -- coroutine > token

local phase = ngx.get_phase

function M.unfit()
  if phase() ~= "init" then return nil end
  return "zkrecipes cannot be used in init_by_lua, before nginx has forked; use it in init_worker_by_lua or later"
end

function M.token()
  local now = phase()
  if not WAITS[now] then
    return nil, "cannot wait in " .. now .. "_by_lua; ngx.timer.at or zk.spawn runs a function where it can"
  end
  if not core.yieldable() then return nil, "cannot wait inside of a C function: table.sort, require, a finalizer" end
  local co = coroutine.running()
  local token = tokens[co]
  if not token or token.parked then
    token = { sem = semaphore.new(0), parked = false, posted = false }
    tokens[co] = token
  end
  token.background = now == "timer" and contexts.in_background()
  return token
end

function M.park(token, seconds)
  local limit = dispatcher.needed() and LONGEST or 1
  token.parked = true
  if token.sem:wait(math.max(math.min(seconds or limit, limit), 0.001)) then token.posted = false end
  token.parked = false
end

function M.unpark(token)
  if token.posted then return end
  token.posted = true
  token.sem:post(1)
end

function M.gone(token) return token.parked and token.sem:count() ~= (token.posted and 0 or -1) end

function M.stopped(token) return token.background and dispatcher.ending() end

-- Does not use ngx.sleep: if nginx killed the light thread meanwhile, we would not notice.
function M.yield(token) M.park(token, 0.001) end

function M.spawn(fn, for_caller) return dispatcher.start(fn, not contexts.in_background(), for_caller and contexts.held_by_task()) end

function M.now() return dispatcher.client.now() end

core.own(debug.getinfo(1, "S").source)
return M
