-- What we keep with a request of nginx, or with a timer.
--
-- * A request is known by its connection and its number on it. `ngx.ctx` would not do: nginx clears it at an internal redirect
--   (error_page, ngx.exec), a subrequest has its own, and programs replace it. What we keep is found there fast; if it is missing, it
--   is looked up. nginx frees the tables of ngx.ctx when the request has ended, also those that it has cleared: until then they keep it.
-- * A timer of ours (timers.lua) is known by its address while it lives; one of the user's by its ngx.ctx.

local core = require "zkrecipes.core"
local ffi = require "ffi"
local timers = require "zkrecipes.openresty.timers"

local M = {}

local request = require "resty.core.base".get_request

-- Phases in which ngx.var can be read.
local OF_REQUEST = { set = true, server_rewrite = true, rewrite = true, access = true, precontent = true, content = true,
  header_filter = true, body_filter = true, log = true, balancer = true }

-- Each of these begins when what ran in the one before has ended, with all its light threads.
local IN_TURN = { server_rewrite = true, rewrite = true, access = true, precontent = true, content = true }

local kept_of = setmetatable({}, { __mode = "v" }) -- connection and number > what is kept with a request
local home = setmetatable({}, { __mode = "kv" })   -- hold > the holds of its request

-- The main request and its subrequests have different ones.
local function address() return tonumber(ffi.cast("uintptr_t", request())) end

-- { holds, where, selves, for_request, addresses }. holds: hold > true, or how to give it back; where: hold > the subrequest that got it.
local function new() return { holds = {}, where = {}, selves = {}, addresses = {} } end

local function key_of_request() return ngx.var.connection .. ":" .. ngx.var.connection_requests end

-- What is kept with this request; nil: nothing, unless `make`.
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

-- The request holds this. It is kept, not only known: a collector that comes between the end of a killed handler and the
-- log phase would take it out of a weak table at once, and release it some time. Nobody asks for what a timer holds.
-- give_back(hold): lets it go; nil: its release or resign does.
function M.granted(hold, give_back)
  if not OF_REQUEST[ngx.get_phase()] then return end
  local kept = of_request(true)
  kept.holds[hold], home[hold] = give_back or true, kept
  if ngx.is_subrequest then kept.where[hold] = address() end
end

-- It does not any more.
function M.ended(hold)
  local kept = home[hold]
  if kept then kept.holds[hold], kept.where[hold] = nil, nil end
end

-- What the request holds: hold > true or give_back, and a list of those that are to be let go now. A subrequest lets go of its own alone:
-- its request goes on.
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

-- What stands for the running coroutine, which nginx uses again for another request.
function M.self()
  local kept, co = current(), coroutine.running() or "main"
  local self = kept.selves[co] or { kept = kept, co = co }
  kept.selves[co] = self
  self.phase, self.address = ngx.get_phase(), address()
  self.internal = IN_TURN[self.phase] and ngx.req.is_internal()
  return self
end

-- Did the other one belong to the same request, and is over? It ran in an earlier phase, or before an internal redirect, or has ended.
function M.follows(self, other)
  if other == self or other.kept ~= self.kept or other.address ~= self.address then return false end
  if not (IN_TURN[self.phase] and IN_TURN[other.phase]) then return false end
  return other.phase ~= self.phase or other.internal ~= self.internal or coroutine.status(other.co) == "dead"
end

core.own(debug.getinfo(1, "S").source)
return M
