---@meta zkrecipes.session

-- Sessions, plain requests, watches. See docs/session.md.

---@class zkrecipes.Stat
---@field czxid string creation; zxids are 16 hexadecimal digits
---@field mzxid string last change of the data
---@field pzxid string last change of the list of children
---@field ctime integer milliseconds since 1970, the server's clock
---@field mtime integer
---@field version integer of the data
---@field cversion integer of the list of children
---@field aversion integer of the ACL
---@field ephemeral_owner? string id of the session it belongs to
---@field data_length integer
---@field num_children integer

---@class zkrecipes.Usage
---@field watches integer paths that the session watches
---@field watched_bytes integer bytes of these paths plus 4 for each; a path counts twice if its children are watched too
---@field watched_bytes_limit integer at this limit watches, observers and claims fail with "full"; waiting locks may use 50 % more
---@field ephemeral_bytes integer bytes of the paths of the session's ephemeral znodes plus 14 for each
---@field ephemeral_bytes_limit integer at this limit creating another ephemeral znode fails with "full"
---@field in_flight integer requests that were sent and not answered yet
---@field in_flight_limit integer further requests wait in the session's queue

---@class zkrecipes.Session
---@field state zkrecipes.State
---@field id? string of the ZooKeeper session
---@field timeout number seconds, as agreed with the server
---@field request_timeout? number seconds, as asked for
---@field trouble? string why it is not connected, if the reason is known
---@field server? string "address:port" while connected
local Session = {}

---Waits until the session is connected, that is, until a server has answered its first request.
---```lua
---assert(session:connected(5)) -- else "connection_loss", with the reason in the message
---```
---@async
---@param timeout? number seconds
---@return true? ok, string? message, zkrecipes.Code? code "connection_loss", "closed", "auth_failed", "forked"
function Session:connected(timeout) end

---Closes the session. Every wait ends with "closed", its ephemeral znodes are deleted, its holds end. You may call it again.
---```lua
---session:close()
---```
---@async
---@param timeout? number seconds: how long to try to tell the server; default 2
---@return true? ok, string? message, zkrecipes.Code? code "forked", "no_memory"
function Session:close(timeout) end

---Iterates over the session's states: first the past ones (at most the last 16), then each new one. Ends when the session is closed.
---The iterator waits, so on Lua 5.1 use next_state in a loop.
---```lua
---for state in session:states() do print(state) end
---```
---@async
---@return fun(): zkrecipes.State?
function Session:states() end

---One step of states().
---```lua
---local state, seen = session:next_state(0)
---while state do
---  print(state)
---  state, seen = session:next_state(seen)
---end
---```
---@async
---@param seen integer how many states you have seen: 0 at first, then the number that the last call returned
---@return zkrecipes.State? state, integer|string seen_or_message, zkrecipes.Code? code "closed", "auth_failed", "forked"
function Session:next_state(seen) end

---@class zkrecipes.RequestOptions
---@field timeout? number seconds to wait for the answer, then "connection_loss"; 0: do not wait for a connection; default: the
---session's request_timeout

---@class zkrecipes.CreateOptions
---@field ephemeral? boolean the server deletes the znode when the session ends
---@field sequential? boolean the server appends ten digits to the name
---@field container? boolean the server deletes the znode some time after its last child is deleted
---@field ttl? number seconds: the server deletes the znode after so long without a change and without children
---@field acl? zkrecipes.Acl default: the session's
---@field parents? boolean create missing parents
---@field timeout? number seconds, as in RequestOptions

---Creates a znode. If the answer is lost, it fails with "connection_loss": the znode may exist or not.
---```lua
---local path = assert(session:create("/jobs/job-", "data", { sequential = true, parents = true }))
---```
---@async
---@param path string
---@param data? string
---@param options? zkrecipes.CreateOptions
---@return string? path, zkrecipes.Stat|string stat_or_message, zkrecipes.Code? code "node_exists", "no_node" (no parent),
---"no_children_for_ephemerals", "invalid_acl", "too_large", "full" (ephemeral ones), "unsupported", "quota_exceeded" ...
function Session:create(path, data, options) end

---Returns the znode's data and stat. The data may be nil; only a failure returns a third value.
---```lua
---local data, stat, code = session:get("/conf")
---if code == "no_node" then data = "level=1" end
---```
---@async
---@param path string
---@param options? zkrecipes.RequestOptions
---@return string? data, zkrecipes.Stat|string stat_or_message, zkrecipes.Code? code "no_node" ...
function Session:get(path, options) end

---Writes the znode's data. If the answer is lost, it fails with "connection_loss": the data may be written or not.
---```lua
---local data, stat = assert(session:get("/count"))
---local written, message, code = session:set("/count", tostring(data + 1), stat.version)
---```
---@async
---@param path string
---@param data? string
---@param version? integer default: any; never -1
---@param options? zkrecipes.RequestOptions
---@return zkrecipes.Stat? stat, string? message, zkrecipes.Code? code "no_node", "bad_version", "too_large", "quota_exceeded" ...
function Session:set(path, data, version, options) end

---Returns the znode's stat, or false if there is no such znode.
---```lua
---if session:exists("/maintenance") then print("closed") end
---```
---@async
---@param path string
---@param options? zkrecipes.RequestOptions
---@return zkrecipes.Stat|false|nil stat false: there is no such znode
---@return string? message, zkrecipes.Code? code "connection_loss" ...
function Session:exists(path, options) end

---Deletes a znode that has no children. If the answer is lost, it fails with "connection_loss": the znode may be deleted or not.
---```lua
---assert(session:delete("/jobs/job-0000000003"))
---```
---@async
---@param path string
---@param version? integer default: any; never -1
---@param options? zkrecipes.RequestOptions
---@return true? ok, string? message, zkrecipes.Code? code "no_node", "bad_version", "not_empty" ...
function Session:delete(path, version, options) end

---Deletes a znode and all znodes below it: leaves first, many in one request. It continues if other clients create or delete
---znodes there meanwhile.
---```lua
---assert(session:delete_tree("/old"))
---```
---@async
---@param path string not "/"
---@param options? zkrecipes.RequestOptions
---@return true? ok, string? message, zkrecipes.Code? code "no_node", "not_empty" (other clients create znodes faster) ...
function Session:delete_tree(path, options) end

---Returns the names of the znode's children, and its stat.
---```lua
---for _, name in ipairs(assert(session:children("/jobs"))) do print(name) end
---```
---@async
---@param path string
---@param options? zkrecipes.RequestOptions
---@return string[]? names in no order, zkrecipes.Stat|string stat_or_message, zkrecipes.Code? code "no_node" ...
function Session:children(path, options) end

---Returns the znode's ACL and its stat.
---```lua
---local acl, stat = assert(session:get_acl("/conf"))
---print(acl[1].perms, acl[1].scheme, stat.aversion)
---```
---@async
---@param path string
---@param options? zkrecipes.RequestOptions
---@return zkrecipes.AclEntry[]? acl, zkrecipes.Stat|string stat_or_message, zkrecipes.Code? code "no_node" ...
function Session:get_acl(path, options) end

---Sets the znode's ACL. Repeats the request if the answer is lost.
---```lua
---assert(session:set_acl("/conf", { { perms = "r", scheme = "world", id = "anyone" } }))
---```
---@async
---@param path string
---@param acl zkrecipes.Acl
---@param version? integer of the ACL (stat.aversion); default: any; never -1
---@param options? zkrecipes.RequestOptions
---@return true? ok, string? message, zkrecipes.Code? code "no_node", "bad_version", "invalid_acl" ...
function Session:set_acl(path, acl, version, options) end

---Reads after this call return data at least as new as the leader had at the time of the call.
---```lua
---assert(session:sync("/conf"))
---local newest = session:get("/conf")
---```
---@async
---@param path string
---@param options? zkrecipes.RequestOptions
---@return true? ok, string? message, zkrecipes.Code? code "connection_loss" ...
function Session:sync(path, options) end

---Authenticates to the server, now and on every later connection. If the server refuses, the session is closed.
---```lua
---assert(session:add_auth("digest", "ann:secret"))
---```
---@async
---@param scheme string
---@param credential string
---@param options? zkrecipes.RequestOptions
---@return true? ok, string? message, zkrecipes.Code? code "auth_failed" ...
function Session:add_auth(scheme, credential, options) end

---@class zkrecipes.ReconfigOptions
---@field joining? string
---@field leaving? string
---@field members? string
---@field timeout? number seconds, as in RequestOptions

---Changes the members of the ensemble (servers from 3.5 on).
---```lua
---assert(session:reconfig { joining = "server.4=zk4:2888:3888;2181" })
---```
---@async
---@param options zkrecipes.ReconfigOptions
---@return string? configuration, zkrecipes.Stat|string stat_or_message, zkrecipes.Code? code "unsupported", "reconfig", "bad_arguments" ...
function Session:reconfig(options) end

---@alias zkrecipes.Part table { "create", path, data, options } | { "set", path, data, version } |
---{ "delete", path, version } | { "check", path, version }; options: ephemeral, sequential, acl. It has no fields with names.

---Does all parts or none.
---```lua
---assert(session:multi{ { "check", "/head", 7 }, { "set", "/head", "b" }, { "create", "/log/e-", "x", { sequential = true } } })
---```
---@async
---@param parts zkrecipes.Part[]
---@param options? zkrecipes.RequestOptions
---@return (string|zkrecipes.Stat|true)[]? results path of a create, stat of a set, true
---@return string? message, zkrecipes.Code? code that of the part which failed: "no_node", "bad_version" ...; "too_large"
function Session:multi(parts, options) end

---Returns how much the session uses of each limit, and the limits. Sends no request. At 80 % the session's log gets a warning.
---```lua
---local usage = session:usage()
---print(usage.watched_bytes / usage.watched_bytes_limit)
---```
---@return zkrecipes.Usage usage
function Session:usage() end

---Watches one path for changes, across reconnects and new sessions. Returns at once; the request to the server follows.
---```lua
---local watch = assert(session:watch("/conf"))
---repeat print(session:get("/conf")) until not watch:wait()
---```
---@param path string
---@return zkrecipes.Watch? watch, string? message, zkrecipes.Code? code "full" ...
function Session:watch(path) end

---Waits until an ephemeral znode is deleted. All waits for it in this session share one watch, which ends when the znode is
---deleted. For znodes that are created and deleted again and again, use `watch`.
---```lua
---assert(session:await_gone("/workers/7", 30))
---```
---@async
---@param path string
---@param timeout? number seconds
---@return true? gone, string? message, zkrecipes.Code? code "timeout", "connection_loss", "lost", "full",
---"conflict": the znode is not ephemeral ...
function Session:await_gone(path, timeout) end

---A lock at this path. Sends no request.
---```lua
---local lock = session:lock("/locks/report", { data = "host-7" })
---```
---@param path string a directory for this object alone; created if missing
---@param options? zkrecipes.LockOptions
---@return zkrecipes.Lock? lock, string? message, zkrecipes.Code? code "no_memory"
function Session:lock(path, options) end

---A read/write lock at this path. Sends no request.
---```lua
---local rw = session:rwlock("/locks/table")
---```
---@param path string a directory for this object alone; created if missing
---@param options? { data?: string, max_queue?: integer } data: shown to others by contenders(); max_queue: as of a lock
---@return zkrecipes.Rwlock? rwlock, string? message, zkrecipes.Code? code "no_memory"
function Session:rwlock(path, options) end

---Several locks of this session as one: it gets all or none. It acquires them in an order that prevents deadlocks. Raises if two
---locks have the same path.
---```lua
---local both = session:multilock { session:lock("/accounts/3"), session:lock("/accounts/7") }
---```
---@param locks (zkrecipes.Lock|zkrecipes.Side|zkrecipes.Semaphore)[] of a semaphore it acquires one permit
---@return zkrecipes.Multilock
function Session:multilock(locks) end
---An election at this path. Sends no request.
---```lua
---local election = session:election("/leader", { value = "10.0.0.7:8080" })
---```
---@param path string a directory for this object alone; created if missing
---@param options? zkrecipes.ElectionOptions
---@return zkrecipes.Election? election, string? message, zkrecipes.Code? code "no_memory"
function Session:election(path, options) end

---A semaphore at this path. Sends no request.
---```lua
---local slots = session:semaphore("/pool", 5)
---```
---@param path string
---@param limit? integer at least 1; the first client that uses it stores it on the servers; nil: use the stored limit
---@param options? { data?: string, max_queue?: integer } data: shown to others by contenders(); max_queue: as of a lock
---@return zkrecipes.Semaphore? semaphore, string? message, zkrecipes.Code? code "no_memory"
function Session:semaphore(path, limit, options) end

---@class zkrecipes.Loop for event loops that have no adapter; cqueues can poll it too
---@field fd fun(): integer the descriptor to watch for reading
---@field timeout fun(): number? the most seconds to wait for it; nil: no limit
---@field dispatch fun(): true call it when the descriptor is readable or the timeout has passed
---@field pollfd fun(): integer
---@field events fun(): string "r"

---Connects an event loop that has no adapter. See docs/adapters.md.
---```lua
---local loop = session:loop()
---print(loop.fd(), loop.timeout()) -- wait until it is readable, or the time is over ...
---loop.dispatch()                  -- ... and call this
---```
---@return zkrecipes.Loop
function Session:loop() end
---Same as loop().fd().
---@return integer
function Session:fd() end
---Same as loop().pollfd().
---@return integer
function Session:pollfd() end
---Same as loop().events().
---@return string
function Session:events() end
---Same as loop().dispatch().
---@return true
function Session:dispatch() end

---Reports changes at one path. An event only means that something changed: read the znode after it.
---@class zkrecipes.Watch
local Watch = {}

---Waits for the next change. Several changes of one kind between two calls are reported once.
---```lua
---local watch = assert(session:watch("/conf"))
---print(watch:wait(60))
---```
---@async
---@param timeout? number seconds
---@return "created"|"changed"|"deleted"|"children"|nil what, string? message, zkrecipes.Code? code "timeout",
---"connection_loss", "closed", "no_auth": the session may not read the znode, and the watch has ended ...
function Watch:wait(timeout) end

---Ends the watch. A coroutine that waits for it gets "closed". Waiting on a closed watch is misuse.
---@return true
function Watch:close() end

---A barrier at this path. Sends no request.
---```lua
---session:barrier("/jobs/paused"):close()
---```
---@param path string the barrier's znode; the barrier is closed while the znode exists
---@return zkrecipes.Barrier barrier
function Session:barrier(path) end

---A latch at this path. Sends no request.
---```lua
---session:latch("/deploy/ready", 3):count_down()
---```
---@param path string the latch's znode; created if missing
---@param count integer 1 to 1,000,000; every client must give the same number
---@return zkrecipes.Latch latch
function Session:latch(path, count) end

---A cyclic barrier at this path. Sends no request.
---```lua
---local step = session:cyclic_barrier("/simulation/step", 4)
---```
---@param path string a directory for this barrier alone
---@param size integer 1 to 5,000
---@return zkrecipes.CyclicBarrier barrier
function Session:cyclic_barrier(path, size) end

---A double barrier at this path; one object is one member. Sends no request.
---```lua
---local phase = session:double_barrier("/import", 4)
---```
---@param path string a directory for this barrier alone
---@param size integer 1 to 5,000
---@return zkrecipes.DoubleBarrier barrier
function Session:double_barrier(path, size) end
