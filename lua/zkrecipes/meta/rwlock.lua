---@meta zkrecipes.rwlock

-- The read/write lock. See docs/recipes/rwlock.md.

---Held by any number of readers at once, or by one writer alone, in the order in which they came. The algorithm is "Shared Locks"
---of ZooKeeper's page of recipes (https://zookeeper.apache.org/doc/current/recipes.html#Shared+Locks); the names of the znodes
---are those of Curator's InterProcessReadWriteLock.
---@class zkrecipes.Rwlock
---@field path string
---@field session zkrecipes.Session
local Rwlock = {}

---Waits until it holds the lock as a reader. Raises if this coroutine holds the lock as a writer through this handle: it would wait
---for itself.
---```lua
---local hold, message, code = rw:read(30)
---```
---@async
---@param timeout? number seconds; 0: only try
---@return zkrecipes.Hold? hold, string? message, zkrecipes.Code? code as of Lock:acquire: "timeout", "lost" ...
function Rwlock:read(timeout) end

---Waits until it holds the lock alone, as a writer. Raises if this coroutine holds the lock through this handle: it would wait for
---itself. A reader cannot be upgraded to a writer.
---```lua
---local hold = assert(rw:write(30))
---assert(hold:set("/table", rows))
---assert(hold:downgrade()) -- others may read, too
---```
---@async
---@param timeout? number seconds; 0: only try
---@return zkrecipes.Hold? hold, string? message, zkrecipes.Code? code as of Lock:acquire: "timeout", "lost" ...
function Rwlock:write(timeout) end

---One side of a read/write lock, reading or writing, with the methods of a lock; it has no `request`.
---@class zkrecipes.Side
---@field path string
---@field session zkrecipes.Session
local Side = {}

---Acquires like Rwlock:read or Rwlock:write, depending on the side.
---```lua
---local hold = assert(rw:reader():acquire(30))
---```
---@async
---@param timeout? number seconds
---@return zkrecipes.Hold? hold, string? message, zkrecipes.Code? code as of Lock:acquire: "timeout", "lost" ...
function Side:acquire(timeout) end

---Acquires, runs fn(hold), and always releases, like Lock:with.
---```lua
---assert(rw:writer():with(30, function(hold) return hold:set("/table", "new") end))
---```
---@async
---@param timeout number? seconds
---@param fn fun(hold: zkrecipes.Hold): ...
---@return any ...
---@overload fun(self: zkrecipes.Side, fn: fun(hold: zkrecipes.Hold): ...): ...
function Side:with(timeout, fn) end

---Ends all attempts of the rwlock object that wait for this side, with "canceled".
---```lua
---print(reader:cancel(), "were waiting to read")
---```
---@return integer count
function Side:cancel() end

---Returns the attempts of the rwlock object that wait for this side; sends no request.
---```lua
---for _, attempt in ipairs(reader:attempts()) do print(attempt.ahead, attempt.since) end
---```
---@return zkrecipes.Attempt[]
function Side:attempts() end

---Returns the contenders of both sides, like Rwlock:contenders.
---```lua
---print(#assert(reader:contenders()))
---```
---@async
---@param timeout? number seconds to wait for the answer; 0: do not wait for a connection; default: the session's request_timeout
---@return zkrecipes.Contender[]? contenders, string? message, zkrecipes.Code? code "connection_loss", "no_auth" ...
function Side:contenders(timeout) end

---Returns the reading side as a lock, for functions that take a lock.
---```lua
---local reader = rw:reader()
---```
---@return zkrecipes.Side
function Rwlock:reader() end

---Returns the writing side as a lock, for functions that take a lock.
---```lua
---local both = session:multilock { rw:writer(), session:lock("/accounts/7") }
---```
---@return zkrecipes.Side
function Rwlock:writer() end

---Ends all waiting attempts of this object, with "canceled".
---@return integer count
function Rwlock:cancel() end

---Returns the waiting attempts of this object; sends no request.
---@return zkrecipes.Attempt[]
function Rwlock:attempts() end

---Returns the holders and the waiters, in order.
---```lua
---for _, one in ipairs(assert(rw:contenders())) do print(one.shared, one.holding) end
---```
---@async
---@param timeout? number seconds to wait for the answer; 0: do not wait for a connection; default: the session's request_timeout
---@return zkrecipes.Contender[]? contenders, string? message, zkrecipes.Code? code "connection_loss", "no_auth" ...
function Rwlock:contenders(timeout) end
