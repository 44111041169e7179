---@meta zkrecipes.lock

-- The lock and its holds. See docs/recipes/lock.md.

-- ---- Lock --------------------------------------------------------------------------------------

---@class zkrecipes.LockOptions
---@field data? string shown to others by contenders()
---@field fair? boolean default true; false: no order among waiters, and the lock is one ephemeral znode at the path itself
---@field max_queue? integer an attempt that would wait behind more contenders than this ends with "full"; default: any number
---@field reentrant? boolean the coroutine that holds the lock may acquire it again
---@field on_request? fun(hold: zkrecipes.Hold) called when another client asks the holder to release
---@field cohort? boolean the coroutines that use this object share one znode and pass the lock on among themselves

---The lock. Fair (the default): first come, first served, across all processes and coroutines. The algorithm is "Locks"
---of ZooKeeper's page of recipes (https://zookeeper.apache.org/doc/current/recipes.html#sc_recipes_Locks): each waiter
---watches only the contender ahead of it. Every acquire is a separate attempt.
---Variants: the unfair lock (unfair.c) and the cohort (cohort.lua) are our algorithms; revocation is that of Curator's Revoker.
---@class zkrecipes.Lock
---@field path string
---@field session zkrecipes.Session
local Lock = {}

---Waits until it holds the lock. "lost": the session was lost meanwhile, and with it the place in the queue; call it again.
---```lua
---local hold, message, code = lock:acquire(30)
---if not hold then return nil, message end
---```
---@async
---@param timeout? number seconds; 0: only try; while another contender holds the lock it only reads and writes nothing
---@return zkrecipes.Hold? hold, string? message, zkrecipes.Code? code "timeout": another contender holds it; "connection_loss": no
---server answers; "canceled", "lost", "closed", "auth_failed", "no_auth", "conflict", "no_children_for_ephemerals", "too_large" (the
---data), "full", "no_memory", "forked"
function Lock:acquire(timeout) end

---Acquires the lock, runs fn(hold), and always releases. After the release it raises fn's error, if any, with its traceback.
---```lua
---local total = lock:with(30, function(hold) return count(hold) end)
---```
---@async
---@param timeout number? seconds
---@param fn fun(hold: zkrecipes.Hold): ...
---@return any ... what fn returned, or true if fn returned nothing; on failure nil, message, code as from acquire
---@overload fun(self: zkrecipes.Lock, fn: fun(hold: zkrecipes.Hold): ...): ...
function Lock:with(timeout, fn) end

---Ends all waiting attempts of this object, with "canceled".
---```lua
---zk.spawn(function() print(lock:acquire()) end) -- nil, a message, "canceled"
---zk.sleep(1)
---lock:cancel()
---```
---@return integer count
function Lock:cancel() end

---Asks the holders to release; their `on_request` decides. The message is the one that Curator's Revoker writes.
---```lua
---if not lock:acquire(1) then lock:request() end
---```
---@async
---@param timeout? number seconds to wait for the answer; 0: do not wait for a connection; default: the session's request_timeout
---@return integer? asked how many holders it asked, string? message, zkrecipes.Code? code "conflict" (the holder's znode keeps
---changing: ask later), "no_auth", "timeout", "connection_loss" ...
function Lock:request(timeout) end

---Releases the last acquire of this coroutine. Only for reentrant locks; misuse if the coroutine does not hold the lock.
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
---@field holding boolean no contender behind it can get what it wants; if it has waited, its acquire may not have returned yet
---@field shared boolean it is a reader of a read/write lock
---@field permits? integer how many permits it has or wants; semaphores only
---@field version integer of its znode's data
---@field session string id of its session
---@field since number seconds since 1970, the server's clock

---@class zkrecipes.Attempt
---@field ahead? integer how many contenders were ahead at the last listing; nil: not listed yet, or there is no order yet
---@field since number zk.now() when it began

---Returns the waiting attempts of this object; sends no request. A waiter lists the directory again only when the contender just
---ahead of it leaves.
---```lua
---for _, attempt in ipairs(lock:attempts()) do print(attempt.ahead, zk.now() - attempt.since) end
---```
---@return zkrecipes.Attempt[]
function Lock:attempts() end

---Returns the holder and the waiters, in order. For an unfair lock it returns the holder only.
---```lua
---for _, one in ipairs(assert(lock:contenders())) do print(one.data, one.holding) end
---```
---@async
---@param timeout? number seconds to wait for the answer; 0: do not wait for a connection; default: the session's request_timeout
---@return zkrecipes.Contender[]? contenders, string? message, zkrecipes.Code? code "connection_loss", "no_auth" ...
function Lock:contenders(timeout) end

---What acquire gives: proof that the lock is held. It ends when the session ends, with release, at the end of the scope of a
---`local hold <close>`, and when it is collected as garbage.
---@class zkrecipes.Hold
---@field token string fencing token: larger for every later holder
---@field path string of its znode
---@field since number zk.now() when it was granted
---@field shared boolean it belongs to a reader of a read/write lock
---@field permits? integer how many permits it has; semaphores only
---@field number? integer worker_id only
local Hold = {}

---Releases the lock. It returns at once; the library deletes the znode afterwards, and repeats that until it is certain. You may
---call it again.
---```lua
---hold:release()
---```
---@return true
function Hold:release() end

---Turns the writer of a read/write lock into a reader: the readers behind it get the lock too, and no writer gets it in between.
---The request is repeated until its result is certain. Raises for other locks and after release.
---```lua
---local hold = assert(rw:write())
---assert(hold:downgrade()) -- readers behind come in
---```
---@async
---@return true? ok, string? message, zkrecipes.Code? code "lost", "closed", "canceled", "no_auth", "too_large" (the data, with
---26 bytes more), "no_memory", "forked"
function Hold:downgrade() end

---Returns true if we certainly still hold the lock. No round trip. It returns false before the servers can give the lock to
---another contender.
---```lua
---if hold:valid() then send(job, hold.token) end
---```
---@return boolean
function Hold:valid() end

---Returns for how many seconds the hold certainly stays valid if no server answers any more; 0 if it is not valid. No round trip.
---```lua
---if hold:left() > 0.5 then send(job, hold.token) end -- which takes half a second at most
---```
---@return number
function Hold:left() end

---Waits until the hold ends.
---```lua
---zk.spawn(function()
---  print("over:", hold:lost())
---end)
---```
---@async
---@param timeout? number seconds
---@return "lost"|"closed"|"released"|nil why, string? message, zkrecipes.Code? code "timeout"; "forked"; if its znode cannot be
---watched: "full", "no_auth", "no_memory"
function Hold:lost(timeout) end

---Runs fn(hold, why) in a coroutine when the hold is lost or its session is closed, but not when it is released. The registration
---does not keep the hold from being collected.
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

---Creates a znode, only if the hold still exists. Every write through a hold also checks the hold's znode on the server: after the
---hold was lost the write fails with "lost" and changes nothing.
---```lua
---assert(hold:create("/results/r-", "42", { sequential = true }))
---```
---@async
---@param path string
---@param data? string
---@param options? zkrecipes.GuardedCreateOptions
---@return string? path, string? message, zkrecipes.Code? code "lost", or as of Session:create
function Hold:create(path, data, options) end

---Writes a znode's data, only if the hold still exists.
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

---Deletes a znode, only if the hold still exists.
---```lua
---assert(hold:delete("/jobs/job-0000000003"))
---```
---@async
---@param path string
---@param version? integer
---@param options? zkrecipes.RequestOptions
---@return true? ok, string? message, zkrecipes.Code? code "lost", or as of Session:delete
function Hold:delete(path, version, options) end

---Does all parts if the hold still exists, or none.
---```lua
---assert(hold:multi { { "set", "/head", "b" }, { "create", "/log/b", "" } })
---```
---@async
---@param parts zkrecipes.Part[]
---@param options? zkrecipes.RequestOptions
---@return (string|zkrecipes.Stat|true)[]? results, string? message, zkrecipes.Code? code "lost", or as of Session:multi
function Hold:multi(parts, options) end
