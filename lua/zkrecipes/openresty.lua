-- Functions to call in the blocks of nginx's configuration.
--
--   log_by_lua_block     { require("zkrecipes.openresty").release() }
--   content_by_lua_block { require("zkrecipes.openresty").status() }
--   init_worker_by_lua_block { conf = require("zkrecipes.openresty").shared_tree("conf", "/conf") }

local contexts = require "zkrecipes.openresty.contexts"
local core = require "zkrecipes.core"
local page = require "zkrecipes.status.page"
local shared_trees = require "zkrecipes.openresty.shared.tree"
local status = require "zkrecipes.status.status"
local workers = require "zkrecipes.openresty.workers"

local M = {}

-- Releases what the request still holds. If a handler is killed while it works, its locks wait for the garbage collector, which may
-- run late; the log phase always runs.
function M.release() contexts.release() end

local function json(list, notes) return status.json { workers = list, notes = notes } end

local function html(list, notes)
  local where = ("nginx, %d of %d workers; worker %s has answered"):format(#list, ngx.worker.count(), ngx.worker.id() or "agent")
  return page.html(list, where, notes)
end

local FORMS = {
  html = { "text/html; charset=utf-8", html },
  json = { "application/json", json },
  prometheus = { "text/plain; version=0.0.4", status.prometheus },
}

local function wanted()
  local form = ngx.var.arg_format
  if form then return form end
  local accepted = ngx.req.get_headers().accept
  if type(accepted) == "string" and accepted:find("application/json", 1, true) then return "json" end
  return "html"
end

-- Answers with the status of all workers: an HTML page, or the form that ?format= or the Accept header asks for.
function M.status()
  local form = FORMS[wanted()]
  ngx.header["X-Content-Type-Options"], ngx.header["Cache-Control"] = "nosniff", "no-store"
  if not form then return ngx.exit(ngx.HTTP_BAD_REQUEST) end
  local asking = form ~= FORMS.prometheus
  if asking then workers.watch() end
  local own = workers.own(asking)
  workers.publish(own)
  ngx.header.content_type = form[1]
  ngx.print(form[2](workers.all(own, asking)))
end

-- shared_tree(dict_name, path [, options]): a watched copy that one worker of the host writes and all read.
function M.shared_tree(dict_name, path, options) return shared_trees.new(dict_name, path, options) end

core.own(debug.getinfo(1, "S").source)
return M
