-- The data that we keep with a request of nginx, or with a timer.
--
-- * We identify a request by its connection and its number on that connection. `ngx.ctx` alone is not enough: nginx clears it at an
--   internal redirect (error_page, ngx.exec), a subrequest has its own, and programs replace it. We look for the data in ngx.ctx first,
--   which is fast, and then by connection and number. The tables of ngx.ctx keep the data alive: nginx frees them when the request has
--   ended, also those that it has cleared.
-- * We identify a timer of ours (timers.lua) by its address while it lives, and a timer of the user by its ngx.ctx.

local core = require "zkrecipes.core"
local ffi = require "ffi"
local timers = require "zkrecipes.openresty.timers"

local M = {}

local request = require "resty.core.base".get_request

-- Phases in which ngx.var can be read.
local OF_REQUEST = { set = true, server_rewrite = true, rewrite = true, access = true, precontent = true, content = true,
  header_filter = true, body_filter = true, log = true, balancer = true }

-- Each of these phases begins when the code of the phase before has ended, with all its light threads.
local IN_TURN = { server_rewrite = true, rewrite = true, access = true, precontent = true, content = true }

local kept_of = setmetatable({}, { __mode = "v" }) -- connection and number > what is kept with a request
local home = setmetatable({}, { __mode = "kv" })   -- hold > the holds of its request

-- The request's address; the main request and its subrequests have different addresses.
local function address() return tonumber(ffi.cast("uintptr_t", request())) end

-- { holds, where, selves, for_request, addresses }. holds: hold > true, or how to give it back; where: hold > the subrequest that got it.
local function new() return { holds = {}, where = {}, selves = {}, addresses = {} } end

local function key_of_request() return ngx.var.connection .. ":" .. ngx.var.connection_requests end

-- The data kept with this request; nil: none. `make`: create them if there are none.
local function of_request(make)
  local at, since = address(), ngx.req.start_time()
  local kept = ngx.ctx.zkrecipes
  if kept and kept.addresses[at] == since then return kept end
  local key = key_of_request()
  kept = kept_of[key] or make and new()
  if not kept then return nil end
  kept.addresses[at], kept_of[key], ngx.ctx.zkrecipes = since, kept, kept
  return kept
end

local function of_timer()
  local life = timers.life(address())
  if life then
    life.kept = life.kept or new()
    return life.kept
  end
  ngx.ctx.zkrecipes = ngx.ctx.zkrecipes or new()
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

-- Stores that the request holds this. The reference is strong: if the collector ran between the end of a killed handler and the log
-- phase, it would remove the hold from a weak table at once, but release it only some time later. Holds of timers are not stored.
-- give_back(hold): releases it; nil: call its release or resign.
function M.granted(hold, give_back)
  if not OF_REQUEST[ngx.get_phase()] then return end
  local kept = of_request(true)
  kept.holds[hold], home[hold] = give_back or true, kept
  if ngx.is_subrequest then kept.where[hold] = address() end
end

-- The request does not hold it any more.
function M.ended(hold)
  local kept = home[hold]
  if kept then kept.holds[hold], kept.where[hold] = nil, nil end
end

-- The request's holds: hold > true or give_back; and a list of the holds to release now. A subrequest releases only its own holds,
-- because its main request continues.
function M.held()
  local kept = of_request(false)
  if not kept then return {}, {} end
  local list, sub = {}, ngx.is_subrequest and address()
  for hold in pairs(kept.holds) do
    if not sub or kept.where[hold] == sub then list[#list + 1] = hold end
  end
  return kept.holds, list
end

-- ---- Who holds it ------------------------------------------------------------------------------

-- Identifies the running code: nginx reuses the coroutine for another request.
function M.self()
  local kept, co = current(), coroutine.running() or "main"
  local self = kept.selves[co] or { kept = kept, co = co }
  kept.selves[co] = self
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
