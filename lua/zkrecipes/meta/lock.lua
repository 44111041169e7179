---@meta zkrecipes.lock

-- The lock and its holds. See docs/recipes/lock.md.

-- ---- Lock --------------------------------------------------------------------------------------

---The lock. Fair (the default): first come, first served, across all processes and coroutines. The algorithm is "Locks"
---of ZooKeeper's page of recipes (https://zookeeper.apache.org/doc/current/recipes.html#sc_recipes_Locks), each waiter
---watching only the one ahead of it. Every acquire is an attempt of its own.
---@class zkrecipes.Lock
---@field path string
---@field session zkrecipes.Session
local Lock = {}

---```lua
---local hold, message, code = lock:acquire(30)
---if not hold then return nil, message end
---```
---@async
---@param timeout? number 0: only try; reads, and writes nothing while somebody holds it
---@return zkrecipes.Hold? hold, string? message, zkrecipes.Code? code
function Lock:acquire(timeout) end

---Acquires, runs fn(hold), and releases in any case. An error of fn is raised, with its traceback, after that.
---```lua
---local total = lock:with(30, function(hold) return count(hold) end)
---```
---@async
---@param timeout number?
---@param fn fun(hold: zkrecipes.Hold): ...
---@return any ... what fn returned; or nil, message, code when it was not acquired
---@overload fun(self: zkrecipes.Lock, fn: fun(hold: zkrecipes.Hold): ...): ...
function Lock:with(timeout, fn) end

---Ends all attempts of this object that wait, with "canceled".
---@return integer count
function Lock:cancel() end

---Asks those who hold it to let go; their `on_request` decides. The word is that of Curator's Revoker.
---```lua
---if not lock:acquire(1) then lock:request() end
---```
---@async
---@return integer? asked how many were asked, string? message, zkrecipes.Code? code
function Lock:request() end

---Releases what this coroutine has acquired last. Only for reentrant locks; misuse when it does not hold it.
---@return true
function Lock:release() end

---@class zkrecipes.Contender
---@field data? string
---@field path string its znode
---@field token string
---@field holding boolean
---@field shared boolean it is a reader of a read/write lock
---@field permits? integer of a semaphore
---@field session string id of its session
---@field since number seconds since 1970, the server's clock

---@class zkrecipes.Attempt
---@field ahead? integer how many were ahead when it looked last; nil: it has not looked yet, or there is no order yet
---@field since number zk.now() when it began

---The attempts of this object that wait now; asks no server. A waiter looks again only when the one just ahead of it leaves.
---@return zkrecipes.Attempt[]
function Lock:attempts() end

---Who holds it and who waits, in order; of an unfair lock the holder alone.
---@async
---@return zkrecipes.Contender[]? contenders, string? message, zkrecipes.Code? code
function Lock:contenders() end

---Ends with the session, with release, at the end of a `local hold <close>`, and when it is collected.
---@class zkrecipes.Hold
---@field token string fencing token: larger for every later holder
---@field path string of its node
---@field since number zk.now() when it was granted
---@field shared boolean a reader's of a read/write lock
---@field permits? integer of a semaphore: how many it has
local Hold = {}

---Lets go; returns at once, the server is told behind it, until that is certain. May be called again.
---@return true
function Hold:release() end

---Of a writer of a read/write lock, which becomes a reader: readers behind come in, and no writer comes between. Repeated
---until it is certain. Raises for other locks and after release.
---@async
---@return true? ok, string? message, zkrecipes.Code? code
function Hold:downgrade() end

---Surely still ours? No round trip; says no before the server can have given it to somebody else.
---@return boolean
function Hold:valid() end

---Waits until it is over.
---@async
---@param timeout? number
---@return "lost"|"closed"|"released"|nil why, string? message, zkrecipes.Code? code
function Hold:lost(timeout) end

---Runs fn(hold, why) in a coroutine when it is lost or its session closed; not when it is released. Does not keep the
---hold from being collected.
---@param fn fun(hold: zkrecipes.Hold, why: "lost"|"closed")
---@return true? ok, string? message, zkrecipes.Code? code
function Hold:on_lost(fn) end

---The writes of a hold carry a check of its own node: after it was lost they fail with "lost" and change nothing.
---@async
---@param path string
---@param data? string
---@param options? { ephemeral?: boolean, sequential?: boolean, acl?: zkrecipes.Acl }
---@return string? path, string? message, zkrecipes.Code? code
function Hold:create(path, data, options) end

---@async
---@param path string
---@param data? string
---@param version? integer
---@return zkrecipes.Stat? stat, string? message, zkrecipes.Code? code
function Hold:set(path, data, version) end

---@async
---@param path string
---@param version? integer
---@return true? ok, string? message, zkrecipes.Code? code
function Hold:delete(path, version) end

---@async
---@param parts zkrecipes.Part[]
---@return (string|zkrecipes.Stat|true)[]? results, string? message, zkrecipes.Code? code
function Hold:multi(parts) end
