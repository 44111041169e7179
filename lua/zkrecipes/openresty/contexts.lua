-- What we keep with a request of nginx, or with a timer, which for nginx is a request too.

local core = require "zkrecipes.core"

local M = {}

local home = setmetatable({}, { __mode = "kv" }) -- hold > the holds of its request

-- { for_request, holds, selves }
function M.current()
  local found = ngx.ctx.zkrecipes
  if not found then
    found = { holds = {}, selves = {} }
    ngx.ctx.zkrecipes = found
  end
  return found
end

-- True unless the running code works for a request: it is in a timer that no request has spawned, or in init_worker.
function M.in_background()
  local phase = ngx.get_phase()
  return phase == "init_worker" or phase == "timer" and not M.current().for_request
end

-- The request holds this. It is kept, not only known: a collector that comes between the end of a killed handler and the
-- log phase would take it out of a weak table at once, and release it some time. Nobody asks for what a timer holds.
-- give_back(hold): lets it go; nil: its release or resign does.
function M.granted(hold, give_back)
  if ngx.get_phase() == "timer" then return end
  local holds = M.current().holds
  holds[hold], home[hold] = give_back or true, holds
end

-- It does not any more.
function M.ended(hold)
  local holds = home[hold]
  if holds then holds[hold] = nil end
end

-- What stands for the running coroutine, which nginx uses again for another request.
function M.self()
  local selves, co = M.current().selves, coroutine.running()
  selves[co] = selves[co] or {}
  return selves[co]
end

core.own(debug.getinfo(1, "S").source)
return M
