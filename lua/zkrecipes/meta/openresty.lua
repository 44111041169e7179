---@meta zkrecipes.openresty

-- For the configuration of nginx. See docs/openresty.md.

---@class zkrecipes.openresty
local openresty = {}

---Releases at once all that this request has acquired and still holds. Call it in the log phase, which nginx runs even if a handler
---ended early. It includes what was acquired before an internal redirect and in subrequests. In a subrequest's own log phase it
---releases only what that subrequest has acquired.
---```lua
---require("zkrecipes.openresty").release() -- in log_by_lua_block
---```
function openresty.release() end

---Answers the request with the status of all workers, if nginx has `lua_shared_dict zkrecipes 1m;` and lua-cjson; otherwise with the
---status of this worker. The answer is an HTML page; with `?format=json`, `?format=prometheus` (or if the client accepts
---application/json) it is for programs; any other format gets status 400. Each series for Prometheus has the label `worker`. The page
---and JSON ask the servers for the lengths of the queues: they wait for that at most one second, and reuse an answer for two seconds.
---```lua
---require("zkrecipes.openresty").status() -- in content_by_lua_block
---```
---@async
function openresty.status() end

return openresty
