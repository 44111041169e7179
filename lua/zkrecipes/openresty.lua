-- For the configuration of nginx: what belongs into its blocks.
--
--   log_by_lua_block     { require("zkrecipes.openresty").release() }
--   content_by_lua_block { require("zkrecipes.openresty").status() }

local core = require "zkrecipes.core"

local M = {}

-- Lets go of what the request still holds. A handler that is killed while it works leaves its locks to the garbage
-- collector, which may come late; the log phase comes in any case.
function M.release()
  local found = ngx.ctx.zkrecipes
  if not found then return end
  for _, hold in pairs(found.holds) do
    local release = hold.release or hold.resign
    release(hold)
  end
end

core.own(debug.getinfo(1, "S").source)
return M
