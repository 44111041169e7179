---@meta zkrecipes.lock

-- The lock and its holds. See docs/recipes/lock.md.

-- ---- Lock --------------------------------------------------------------------------------------

---@class zkrecipes.LockOptions
---@field data? string shown to others by contenders()
---@field fair? boolean default true; false: no order, the path itself is the one ephemeral znode
---@field reentrant? boolean the coroutine that holds it may acquire it again
---@field on_request? fun(hold: zkrecipes.Hold) somebody asks the holder to let go
---@field cohort? boolean the coroutines that use this object stand behind one znode and hand it on locally

---The lock. Fair (the default): first come, first served, across all processes and coroutines. The algorithm is "Locks"
---of ZooKeeper's page of recipes (https://zookeeper.apache.org/doc/current/recipes.html#sc_recipes_Locks), each waiter
---watching only the one ahead of it. Every acquire is an attempt of its own.
---The other ways: unfair is ours (unfair.c), a cohort too (cohort.lua); revocable is Curator's Revoker.
---@class zkrecipes.Lock
---@field path string
---@field session zkrecipes.Session
local Lock = {}

---Waits until it is held. "lost": the session was lost meanwhile, and the place in the queue with it; call again.
---```lua
---local hold, message, code = lock:acquire(30)
---if not hold then return nil, message end
---```
---@async
---@param timeout? number seconds; 0: only try; reads, and writes nothing while somebody holds it
---@return zkrecipes.Hold? hold, string? message, zkrecipes.Code? code "timeout": somebody holds it; "connection_loss": no
---server answers; "canceled", "lost", "closed", "auth_failed", "no_auth", "conflict", "no_children_for_ephemerals", "too_large" (the
---data), "full", "no_memory", "forked"
function Lock:acquire(timeout) end

---Acquires, runs fn(hold), and releases in any case. An error of fn is raised, with its traceback, after that.
---```lua
---local total = lock:with(30, function(hold) return count(hold) end)
---```
---@async
---@param timeout number? seconds
---@param fn fun(hold: zkrecipes.Hold): ...
---@return any ... what fn returned, true if that is nothing; or nil, message, code as of acquire
---@overload fun(self: zkrecipes.Lock, fn: fun(hold: zkrecipes.Hold): ...): ...
function Lock:with(timeout, fn) end

---Ends all attempts of this object that wait, with "canceled".
---```lua
---zk.spawn(function() print(lock:acquire()) end) -- nil, a message, "canceled"
---zk.sleep(1)
---lock:cancel()
---```
---@return integer count
function Lock:cancel() end

---Asks those who hold it to let go; their `on_request` decides. The word is that of Curator's Revoker.
---```lua
---if not lock:acquire(1) then lock:request() end
---```
---@async
---@param timeout? number seconds to wait for the answer; 0: do not wait for a connection; default: the session's request_timeout
---@return integer? asked how many were asked, string? message, zkrecipes.Code? code "conflict" (the holder's znode changes again and
---again: ask later), "no_auth", "timeout", "connection_loss" ...
function Lock:request(timeout) end

---Releases what this coroutine has acquired last. Only for reentrant locks; misuse when it does not hold it.
---```lua
---local lock = session:lock("/locks/report", { reentrant = true })
---assert(lock:acquire())
---assert(lock:acquire(5)) -- the same hold, without a request
---lock:release()
---lock:release()
---```
---@return true
function Lock:release() end

---@class zkrecipes.Contender
---@field data? string
---@field path string its znode
---@field token string
---@field holding boolean
---@field shared boolean it is a reader of a read/write lock
---@field permits? integer of a semaphore
---@field version integer of its znode's data
---@field session string id of its session
---@field since number seconds since 1970, the server's clock

---@class zkrecipes.Attempt
---@field ahead? integer how many were ahead when it looked last; nil: it has not looked yet, or there is no order yet
---@field since number zk.now() when it began

---The attempts of this object that wait now; asks no server. A waiter looks again only when the one just ahead of it leaves.
---```lua
---for _, attempt in ipairs(lock:attempts()) do print(attempt.ahead, zk.now() - attempt.since) end
---```
---@return zkrecipes.Attempt[]
function Lock:attempts() end

---Who holds it and who waits, in order; of an unfair lock the holder alone.
---```lua
---for _, one in ipairs(assert(lock:contenders())) do print(one.data, one.holding) end
---```
---@async
---@param timeout? number seconds to wait for the answer; 0: do not wait for a connection; default: the session's request_timeout
---@return zkrecipes.Contender[]? contenders, string? message, zkrecipes.Code? code "connection_loss", "no_auth" ...
function Lock:contenders(timeout) end

---What one has who holds it. Ends with the session, with release, at the end of a `local hold <close>`, and when it is collected.
---@class zkrecipes.Hold
---@field token string fencing token: larger for every later holder
---@field path string of its node
---@field since number zk.now() when it was granted
---@field shared boolean a reader's of a read/write lock
---@field permits? integer of a semaphore: how many it has
local Hold = {}

---Lets go; returns at once, the server is told behind it, until that is certain. May be called again.
---```lua
---hold:release()
---```
---@return true
function Hold:release() end

---Of a writer of a read/write lock, which becomes a reader: readers behind come in, and no writer comes between. Repeated
---until it is certain. Raises for other locks and after release.
---```lua
---local hold = assert(rw:write())
---assert(hold:downgrade()) -- readers behind come in
---```
---@async
---@return true? ok, string? message, zkrecipes.Code? code "lost", "closed", "canceled", "no_auth", "too_large" (the data, with
---26 bytes more), "no_memory", "forked"
function Hold:downgrade() end

---Surely still ours? No round trip; says no before the server can have given it to somebody else.
---```lua
---if hold:valid() then send(job, hold.token) end
---```
---@return boolean
function Hold:valid() end

---For how many seconds it surely stays ours if no server answers any more; 0 when it is not valid. No round trip.
---```lua
---if hold:left() > 0.5 then send(job, hold.token) end -- which takes half a second at most
---```
---@return number
function Hold:left() end

---Waits until it is over.
---```lua
---zk.spawn(function()
---  print("over:", hold:lost())
---end)
---```
---@async
---@param timeout? number seconds
---@return "lost"|"closed"|"released"|nil why, string? message, zkrecipes.Code? code "timeout"; "forked"; when its znode cannot be watched
---"full", "no_auth", "no_memory"
function Hold:lost(timeout) end

---Runs fn(hold, why) in a coroutine when it is lost or its session closed; not when it is released. Does not keep the
---hold from being collected.
---```lua
---assert(hold:on_lost(function(_, why) print("stop:", why) end))
---```
---@param fn fun(hold: zkrecipes.Hold, why: "lost"|"closed")
---@return true? ok, string? message, zkrecipes.Code? code "forked", "no_memory"
function Hold:on_lost(fn) end

---@class zkrecipes.GuardedCreateOptions
---@field ephemeral? boolean
---@field sequential? boolean
---@field acl? zkrecipes.Acl
---@field timeout? number seconds, as in RequestOptions

---The writes of a hold carry a check of its own node: after it was lost they fail with "lost" and change nothing.
---```lua
---assert(hold:create("/results/r-", "42", { sequential = true }))
---```
---@async
---@param path string
---@param data? string
---@param options? zkrecipes.GuardedCreateOptions
---@return string? path, string? message, zkrecipes.Code? code "lost", or as of Session:create
function Hold:create(path, data, options) end

---Writes the data, if it is still held.
---```lua
---assert(hold:set("/reports/today", "done"))
---```
---@async
---@param path string
---@param data? string
---@param version? integer
---@param options? zkrecipes.RequestOptions
---@return zkrecipes.Stat? stat, string? message, zkrecipes.Code? code "lost", or as of Session:set
function Hold:set(path, data, version, options) end

---Deletes, if it is still held.
---```lua
---assert(hold:delete("/jobs/job-0000000003"))
---```
---@async
---@param path string
---@param version? integer
---@param options? zkrecipes.RequestOptions
---@return true? ok, string? message, zkrecipes.Code? code "lost", or as of Session:delete
function Hold:delete(path, version, options) end

---All of it if it is still held, or nothing.
---```lua
---assert(hold:multi { { "set", "/head", "b" }, { "create", "/log/b", "" } })
---```
---@async
---@param parts zkrecipes.Part[]
---@param options? zkrecipes.RequestOptions
---@return (string|zkrecipes.Stat|true)[]? results, string? message, zkrecipes.Code? code "lost", or as of Session:multi
function Hold:multi(parts, options) end
