---@meta zkrecipes.openresty

-- For the configuration of nginx. See docs/openresty.md.

---@class zkrecipes.openresty
local openresty = {}

---Releases at once all that this request has acquired and still holds. Call it in the log phase, which nginx runs even if a handler
---ended early. It includes what was acquired before an internal redirect, in subrequests, and in tasks of the request that have ended; a
---task that still runs keeps what it holds until it ends. In a subrequest's own log phase it releases only what that subrequest
---has acquired.
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

---@class zkrecipes.SharedTreeOptions
---@field session? zkrecipes.SessionOptions the session that only the watching worker opens; nil: that of `zk.shared()`
---@field depth? integer as for session:tree
---@field filter? string[] as for session:tree
---@field file? string as for session:tree

---Returns a watched copy that all workers of the host share: one of them watches and writes it into a shared dictionary, all read it.
---The same worker gets the same object for the same tree. Call it in init_worker_by_lua.
---```lua
---conf = require("zkrecipes.openresty").shared_tree("conf", "/conf", { session = { hosts = "zk1:2181" } })
---```
---@param dict_name string of a lua_shared_dict, which has no other use
---@param path string the root; it need not exist
---@param options? zkrecipes.SharedTreeOptions
---@return zkrecipes.SharedTree? tree, string? message, zkrecipes.Code? code "no_memory"
function openresty.shared_tree(dict_name, path, options) end

---What one worker watches and all workers of the host read. See docs/openresty.md.
---@class zkrecipes.SharedTree
---@field path string
local SharedTree = {}

---Returns what the copy has of a znode. Asks no server and never waits.
---```lua
---local port = conf:get("/conf/port")
---```
---@param path? string default: the root
---@return string? data nil: null data, or there is no such znode in the copy, or it may not be read
---@return zkrecipes.Stat? stat nil: there is no such znode in the copy
---@return string? problem "no_auth": it may not be read; "no_memory": the dictionary has no room for it
function SharedTree:get(path) end

---Returns the names of the znode's children in the copy. Asks no server and never waits.
---```lua
---for _, name in ipairs(conf:children() or {}) do ngx.say(name) end
---```
---@param path? string default: the root
---@return string[]? names sorted; nil: there is no such znode in the copy
---@return string? problem "no_memory": the dictionary has no room for it
function SharedTree:children(path) end

---Iterates over the copy: parents before children, these by name. Asks no server and never waits.
---```lua
---for path, data in conf:pairs() do ngx.say(path, " ", data) end
---```
---@return fun(walk: table): string?, string?, zkrecipes.Stat?, string? next
---@return table walk
function SharedTree:pairs() end

---Returns how old the copy may be. Asks no server and never waits.
---@return number seconds math.huge: it was never loaded
function SharedTree:age() end

---Returns why the copy is not whole: "no_memory" (the dictionary is full), "full", "auth_failed", "connection_loss" (told until the
---first load) ...; nil: it is. Asks no server and never waits.
---@return string? problem
function SharedTree:problem() end

---Waits until a worker has loaded the copy once.
---```lua
---if not conf:ready(5) then return ngx.exit(503) end
---```
---@async
---@param timeout? number seconds; 0: only check; nil: no limit
---@return true? ready, string? message, zkrecipes.Code? code "timeout", "no_memory"
function SharedTree:ready(timeout) end

return openresty
