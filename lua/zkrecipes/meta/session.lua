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
---@field watched_bytes integer of these paths, 4 more for each, twice where children are watched too
---@field watched_bytes_limit integer from here on watches, observers and claims fail with "full"; waiting locks may use half as much again
---@field ephemeral_bytes integer of the paths of its ephemeral znodes, 14 more for each
---@field ephemeral_bytes_limit integer from here on creating another one fails with "full"
---@field in_flight integer requests that were sent and not answered yet
---@field in_flight_limit integer more wait in the session's queue

---@class zkrecipes.Session
---@field state zkrecipes.State
---@field id? string of the ZooKeeper session
---@field timeout number seconds, as agreed with the server
---@field request_timeout? number seconds, as asked for
---@field trouble? string why it is not connected, as far as is known
---@field server? string "address:port" while connected
local Session = {}

---Waits until the session is connected: its first request was answered.
---```lua
---assert(session:connected(5)) -- else "connection_loss", with the reason in the message
---```
---@async
---@param timeout? number seconds
---@return true? ok, string? message, zkrecipes.Code? code "connection_loss", "closed", "auth_failed", "forked"
function Session:connected(timeout) end

---Closes it: every wait ends with "closed", ephemeral nodes vanish, holds are over. May be called again.
---```lua
---session:close()
---```
---@async
---@param timeout? number seconds for which it tries to tell the server; default 2
---@return true? ok, string? message, zkrecipes.Code? code "forked", "no_memory"
function Session:close(timeout) end

---Its states since the beginning (at most the last 16), then every new one; ends when the session is closed.
---Waits, so on Lua 5.1 use next_state in a loop.
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
---@param seen integer how many were seen: 0, then what the last call returned
---@return zkrecipes.State? state, integer|string seen_or_message, zkrecipes.Code? code "closed", "auth_failed", "forked"
function Session:next_state(seen) end

---@class zkrecipes.RequestOptions
---@field timeout? number seconds to wait for the answer, then "connection_loss"; 0: do not wait for a connection; default: the
---session's request_timeout

---@class zkrecipes.CreateOptions
---@field ephemeral? boolean vanishes with the session
---@field sequential? boolean ten digits are appended to the name
---@field container? boolean is deleted by the server some time after its last child
---@field ttl? number seconds without a change or children after which the server deletes it
---@field acl? zkrecipes.Acl default: the session's
---@field parents? boolean make missing parents
---@field timeout? number seconds, as in RequestOptions

---Creates a znode. A lost answer is "connection_loss": it may be there.
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

---Its data and its stat. The data may be nil: only a failure has a third result.
---```lua
---local data, stat, code = session:get("/conf")
---if code == "no_node" then data = "level=1" end
---```
---@async
---@param path string
---@param options? zkrecipes.RequestOptions
---@return string? data, zkrecipes.Stat|string stat_or_message, zkrecipes.Code? code "no_node" ...
function Session:get(path, options) end

---Writes the data. A lost answer is "connection_loss": they may be there.
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

---Its stat, or false.
---```lua
---if session:exists("/maintenance") then print("closed") end
---```
---@async
---@param path string
---@param options? zkrecipes.RequestOptions
---@return zkrecipes.Stat|false|nil stat false: there is none
---@return string? message, zkrecipes.Code? code "connection_loss" ...
function Session:exists(path, options) end

---Deletes a znode that has no children. A lost answer is "connection_loss": it may be gone.
---```lua
---assert(session:delete("/jobs/job-0000000003"))
---```
---@async
---@param path string
---@param version? integer default: any; never -1
---@param options? zkrecipes.RequestOptions
---@return true? ok, string? message, zkrecipes.Code? code "no_node", "bad_version", "not_empty" ...
function Session:delete(path, version, options) end

---Deletes a znode and all below it, leaves first and many in one request; goes on when others create or delete there.
---```lua
---assert(session:delete_tree("/old"))
---```
---@async
---@param path string not "/"
---@param options? zkrecipes.RequestOptions
---@return true? ok, string? message, zkrecipes.Code? code "no_node", "not_empty" (others create faster) ...
function Session:delete_tree(path, options) end

---The names of its children, and its stat.
---```lua
---for _, name in ipairs(assert(session:children("/jobs"))) do print(name) end
---```
---@async
---@param path string
---@param options? zkrecipes.RequestOptions
---@return string[]? names in no order, zkrecipes.Stat|string stat_or_message, zkrecipes.Code? code "no_node" ...
function Session:children(path, options) end

---Who may do what with it, and its stat.
---```lua
---local acl, stat = assert(session:get_acl("/conf"))
---print(acl[1].perms, acl[1].scheme, stat.aversion)
---```
---@async
---@param path string
---@param options? zkrecipes.RequestOptions
---@return zkrecipes.AclEntry[]? acl, zkrecipes.Stat|string stat_or_message, zkrecipes.Code? code "no_node" ...
function Session:get_acl(path, options) end

---Says who may do what with it. Repeated when the answer is lost.
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

---What is read afterwards is at least as new as the leader was at this call.
---```lua
---assert(session:sync("/conf"))
---local newest = session:get("/conf")
---```
---@async
---@param path string
---@param options? zkrecipes.RequestOptions
---@return true? ok, string? message, zkrecipes.Code? code "connection_loss" ...
function Session:sync(path, options) end

---Tells the server who we are, now and on every later connection. When it refuses, the session is closed.
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
---{ "delete", path, version } | { "check", path, version }; options: ephemeral, sequential, acl

---All of it or nothing.
---```lua
---assert(session:multi{ { "check", "/head", 7 }, { "set", "/head", "b" }, { "create", "/log/e-", "x", { sequential = true } } })
---```
---@async
---@param parts zkrecipes.Part[]
---@param options? zkrecipes.RequestOptions
---@return (string|zkrecipes.Stat|true)[]? results path of a create, stat of a set, true
---@return string? message, zkrecipes.Code? code that of the part which failed: "no_node", "bad_version" ...; "too_large"
function Session:multi(parts, options) end

---What of its budgets the session uses, and the limits. Asks no server. The log is warned at 80 %.
---```lua
---local usage = session:usage()
---print(usage.watched_bytes / usage.watched_bytes_limit)
---```
---@return zkrecipes.Usage usage
function Session:usage() end

---Tells of changes at one path, over reconnects and new sessions. Asks the server behind the call.
---```lua
---local watch = assert(session:watch("/conf"))
---repeat print(session:get("/conf")) until not watch:wait()
---```
---@param path string
---@return zkrecipes.Watch? watch, string? message, zkrecipes.Code? code "full" ...
function Session:watch(path) end

---Waits until an ephemeral znode is gone. All who wait for it in this session share one watch, which is used up when it
---goes; `watch` is for znodes that come and go.
---```lua
---assert(session:await_gone("/workers/7", 30))
---```
---@async
---@param path string
---@param timeout? number seconds
---@return true? gone, string? message, zkrecipes.Code? code "timeout", "connection_loss", "lost", "full",
---"conflict": the znode is not ephemeral ...
function Session:await_gone(path, timeout) end

---A lock at this path. Asks no server.
---```lua
---local lock = session:lock("/locks/report", { data = "host-7" })
---```
---@param path string a directory of its own, made when missing
---@param options? zkrecipes.LockOptions
---@return zkrecipes.Lock? lock, string? message, zkrecipes.Code? code "no_memory"
function Session:lock(path, options) end

---A read/write lock at this path. Asks no server.
---```lua
---local rw = session:rwlock("/locks/table")
---```
---@param path string a directory of its own, made when missing
---@param options? { data?: string } data: shown to others by contenders()
---@return zkrecipes.Rwlock? rwlock, string? message, zkrecipes.Code? code "no_memory"
function Session:rwlock(path, options) end

---Several locks of this session as one: all or none, in an order in which two callers cannot deadlock. Raises when two
---have the same path.
---```lua
---local both = session:multilock { session:lock("/accounts/3"), session:lock("/accounts/7") }
---```
---@param locks (zkrecipes.Lock|zkrecipes.Side|zkrecipes.Semaphore)[] of a semaphore it takes one permit
---@return zkrecipes.Multilock
function Session:multilock(locks) end
---An election at this path. Asks no server.
---```lua
---local election = session:election("/leader", { value = "10.0.0.7:8080" })
---```
---@param path string a directory of its own, made when missing
---@param options? zkrecipes.ElectionOptions
---@return zkrecipes.Election? election, string? message, zkrecipes.Code? code "no_memory"
function Session:election(path, options) end

---A semaphore at this path. Asks no server.
---```lua
---local slots = session:semaphore("/pool", 5)
---```
---@param path string
---@param limit? integer at least 1; stored by the first who uses it; nil: whatever is stored
---@param options? { data?: string } data: what others see in `contenders`
---@return zkrecipes.Semaphore? semaphore, string? message, zkrecipes.Code? code "no_memory"
function Session:semaphore(path, limit, options) end

---@class zkrecipes.Loop for event loops that have no adapter; also what cqueues polls
---@field fd fun(): integer watch it for reading ...
---@field timeout fun(): number? ... for at most so many seconds ...
---@field dispatch fun(): true ... then call this
---@field pollfd fun(): integer
---@field events fun(): string "r"

---What an event loop needs that has no adapter. See docs/adapters.md.
---```lua
---local loop = session:loop()
---print(loop.fd(), loop.timeout()) -- wait until it is readable, or the time is over ...
---loop.dispatch()                  -- ... and call this
---```
---@return zkrecipes.Loop
function Session:loop() end
---As loop().fd().
---@return integer
function Session:fd() end
---As loop().pollfd().
---@return integer
function Session:pollfd() end
---As loop().events().
---@return string
function Session:events() end
---As loop().dispatch().
---@return true
function Session:dispatch() end

---Tells of changes at one path. An event means "look again": read after it.
---@class zkrecipes.Watch
local Watch = {}

---The next change. Several changes of one kind between two calls are told once.
---```lua
---local watch = assert(session:watch("/conf"))
---print(watch:wait(60))
---```
---@async
---@param timeout? number seconds
---@return "created"|"changed"|"deleted"|"children"|nil what, string? message, zkrecipes.Code? code "timeout",
---"connection_loss", "closed", "no_auth": it may not be read, the watch has ended ...
function Watch:wait(timeout) end

---Who waits gets "closed". To wait on a closed watch is misuse.
---@return true
function Watch:close() end

---A barrier at this path. Asks no server.
---```lua
---session:barrier("/jobs/paused"):close()
---```
---@param path string its znode; closed while it is there
---@return zkrecipes.Barrier barrier
function Session:barrier(path) end

---A latch at this path. Asks no server.
---```lua
---session:latch("/deploy/ready", 3):count_down()
---```
---@param path string its znode, made when missing
---@param count integer 1 to 1,000,000; all must give the same
---@return zkrecipes.Latch latch
function Session:latch(path, count) end

---A cyclic barrier at this path. Asks no server.
---```lua
---local step = session:cyclic_barrier("/simulation/step", 4)
---```
---@param path string a directory of its own
---@param size integer 1 to 5,000
---@return zkrecipes.CyclicBarrier barrier
function Session:cyclic_barrier(path, size) end

---A double barrier at this path; one object is one member. Asks no server.
---```lua
---local phase = session:double_barrier("/import", 4)
---```
---@param path string a directory of its own
---@param size integer 1 to 5,000
---@return zkrecipes.DoubleBarrier barrier
function Session:double_barrier(path, size) end
