---@meta zkrecipes.openresty

-- For the configuration of nginx. See docs/openresty.md.

---@class zkrecipes.openresty
local openresty = {}

---Releases what this request has acquired and still holds, at once: for the log phase, which comes also when a handler was
---ended early. It finds what was acquired before an internal redirect, and in subrequests. In a subrequest's own log phase it
---releases what that subrequest has acquired.
---```lua
---require("zkrecipes.openresty").release() -- in log_by_lua_block
---```
function openresty.release() end

---Answers the request with the status of all workers, if there is `lua_shared_dict zkrecipes 1m;` and lua-cjson; otherwise of this worker:
---as a page; with `?format=json`, `?format=prometheus` (or a client that accepts application/json) for programs; status 400 for any other
---format. Each series for Prometheus has the label `worker`. Page and JSON ask the servers for the queues, wait for that for a second at
---most, and share what was seen in the last two seconds.
---```lua
---require("zkrecipes.openresty").status() -- in content_by_lua_block
---```
---@async
function openresty.status() end

return openresty
