-- The data that we keep with a request of nginx, or with a timer.
--
-- * We identify a request by its connection and its number on that connection. `ngx.ctx` alone is not enough: nginx clears it at an
--   internal redirect (error_page, ngx.exec), a subrequest has its own, and programs replace it. We look for the data in ngx.ctx first,
--   which is fast, and then by connection and number. The tables of ngx.ctx keep the data alive: nginx frees them when the request has
--   ended, also those that it has cleared. If a program replaces ngx.ctx, only the holds keep the list of the request's holds alive.
-- * We identify a timer of ours (timers.lua) by its address while it lives, and a timer of the user by its ngx.ctx.

local core = require "zkrecipes.core"
local ffi = require "ffi"
local holdings = require "zkrecipes.openresty.held"
local timers = require "zkrecipes.openresty.timers"

local M = {}

local request = require "resty.core.base".get_request

-- Phases in which ngx.var can be read.
local OF_REQUEST = { set = true, server_rewrite = true, rewrite = true, access = true, precontent = true, content = true,
  header_filter = true, body_filter = true, log = true, balancer = true }

-- Each of these phases begins when the code of the phase before has ended, with all its light threads.
local IN_TURN = { server_rewrite = true, rewrite = true, access = true, precontent = true, content = true }

-- Connection and number > what is kept with a request; connection and number > its holds.
local kept_of, held_of = setmetatable({}, { __mode = "v" }), setmetatable({}, { __mode = "v" })

local MOST_SELVES = 16 -- from here on it looks for those that are over

-- The request's address; the main request and its subrequests have different addresses.
local function address() return tonumber(ffi.cast("uintptr_t", request())) end

-- held: see held.lua; selves: coroutine > what identifies it, `count` of them; addresses: address > start time.
local function new(held) return { held = held, selves = {}, count = 0, most = MOST_SELVES, addresses = {} } end

local function key_of_request() return ngx.var.connection .. ":" .. ngx.var.connection_requests end

-- The data kept with this request; nil: none. `make`: create them if there are none.
local function of_request(make)
  local at, since = address(), ngx.req.start_time()
  local kept = ngx.ctx.zkrecipes
  if kept and kept.addresses[at] == since then return kept end
  local key = key_of_request()
  local held = held_of[key] or make and holdings.of_request()
  kept = kept_of[key] or held and new(held)
  if not kept then return nil end
  kept.addresses[at], kept_of[key], held_of[key], ngx.ctx.zkrecipes = since, kept, kept.held, kept
  return kept
end

local function of_timer()
  local life = timers.life(address())
  if life then
    life.kept = life.kept or new(holdings.of_request())
    return life.kept
  end
  ngx.ctx.zkrecipes = ngx.ctx.zkrecipes or new(holdings.of_request())
  return ngx.ctx.zkrecipes
end

local function current()
  if OF_REQUEST[ngx.get_phase()] then return of_request(true) end
  return of_timer()
end

-- True unless the running code works for a request: it is in a timer that no request has spawned, or in init_worker.
function M.in_background()
  local phase = ngx.get_phase()
  if phase == "init_worker" then return true end
  if phase ~= "timer" then return false end
  local life = timers.life(address())
  return not (life and life.for_request)
end

-- ---- What it holds -----------------------------------------------------------------------------

-- What the request holds for which the code runs, or the task of a request; nil: it runs for no request. And the subrequest, if it is one.
local function current_held()
  local phase = ngx.get_phase()
  if OF_REQUEST[phase] then return of_request(true).held, ngx.is_subrequest and address() or nil end
  local life = phase == "timer" and timers.life(address())
  return life and life.held
end

-- Stores that the running code holds this. give_back(hold): releases it; nil: call its release or resign. What is granted to the
-- timers of the program, and in the background, is not stored.
function M.granted(hold, give_back)
  local held, sub = current_held()
  if held then holdings.add(held, hold, give_back, sub) end
end

M.ended = holdings.remove

-- For a task that the running code starts; nil: the code runs for no request.
function M.held_by_task()
  local held, sub = current_held()
  return held and holdings.of_task(held, sub)
end

-- Releases what the request, or the subrequest, holds.
function M.release()
  local kept = of_request(false)
  if not kept then return end
  local sub = ngx.is_subrequest and address()
  if ngx.get_phase() == "log" and not sub then kept.held.over = true end
  holdings.release(kept.held, sub)
end

-- ---- Who holds it ------------------------------------------------------------------------------

-- Forgets the light threads that are over. While the request holds something, it may inherit that from one of them.
local function forget_dead(kept)
  if kept.count < kept.most or next(kept.held.holds) then return end
  for co in pairs(kept.selves) do
    if co ~= "main" and coroutine.status(co) == "dead" then kept.selves[co], kept.count = nil, kept.count - 1 end
  end
  kept.most = math.max(2 * kept.count, MOST_SELVES)
end

local function new_self(kept, co)
  forget_dead(kept)
  local self = { kept = kept, co = co }
  kept.selves[co], kept.count = self, kept.count + 1
  return self
end

-- Identifies the running code: nginx reuses the coroutine for another request.
function M.self()
  local kept, co = current(), coroutine.running() or "main"
  local self = kept.selves[co] or new_self(kept, co)
  self.phase, self.address = ngx.get_phase(), address()
  self.internal = IN_TURN[self.phase] and ngx.req.is_internal()
  return self
end

-- True if `other` belonged to the same request and is over: it ran in an earlier phase, or before an internal redirect, or has ended.
function M.follows(self, other)
  if other == self or other.kept ~= self.kept or other.address ~= self.address then return false end
  if not (IN_TURN[self.phase] and IN_TURN[other.phase]) then return false end
  return other.phase ~= self.phase or other.internal ~= self.internal or coroutine.status(other.co) == "dead"
end

core.own(debug.getinfo(1, "S").source)
return M
