---@meta zkrecipes.rwlock

-- The read/write lock. See docs/recipes/rwlock.md.

---Any number of readers at once, or one writer alone, in the order in which they came. The algorithm is "Shared Locks" of
---ZooKeeper's page of recipes (https://zookeeper.apache.org/doc/current/recipes.html#Shared+Locks); the names of the nodes
---are those of Curator's InterProcessReadWriteLock.
---@class zkrecipes.Rwlock
---@field path string
---@field session zkrecipes.Session
local Rwlock = {}

---Waits until it may read. Raises when this coroutine holds it for writing by this handle: it would wait for itself.
---```lua
---local hold, message, code = rw:read(30)
---```
---@async
---@param timeout? number seconds; 0: only try
---@return zkrecipes.Hold? hold, string? message, zkrecipes.Code? code as of Lock:acquire: "timeout", "lost" ...
function Rwlock:read(timeout) end

---Waits until it has it alone. Raises when this coroutine holds it by this handle: it would wait for itself. There is no
---upgrade.
---```lua
---local hold = assert(rw:write(30))
---assert(hold:set("/table", rows))
---assert(hold:downgrade()) -- others may read, too
---```
---@async
---@param timeout? number seconds; 0: only try
---@return zkrecipes.Hold? hold, string? message, zkrecipes.Code? code as of Lock:acquire: "timeout", "lost" ...
function Rwlock:write(timeout) end

---One side of it, as a lock; it has no `request`.
---@class zkrecipes.Side
---@field path string
---@field session zkrecipes.Session
local Side = {}

---As read or write of the lock.
---```lua
---local hold = assert(rw:reader():acquire(30))
---```
---@async
---@param timeout? number seconds
---@return zkrecipes.Hold? hold, string? message, zkrecipes.Code? code as of Lock:acquire: "timeout", "lost" ...
function Side:acquire(timeout) end

---As Lock:with.
---```lua
---assert(rw:writer():with(30, function(hold) return hold:set("/table", "new") end))
---```
---@async
---@param timeout number? seconds
---@param fn fun(hold: zkrecipes.Hold): ...
---@return any ...
---@overload fun(self: zkrecipes.Side, fn: fun(hold: zkrecipes.Hold): ...): ...
function Side:with(timeout, fn) end

---Ends all attempts of its rwlock object that wait for this side, with "canceled".
---```lua
---print(reader:cancel(), "were waiting to read")
---```
---@return integer count
function Side:cancel() end

---Those attempts; asks no server.
---```lua
---for _, attempt in ipairs(reader:attempts()) do print(attempt.ahead, attempt.since) end
---```
---@return zkrecipes.Attempt[]
function Side:attempts() end

---As Rwlock:contenders: of both sides.
---```lua
---print(#assert(reader:contenders()))
---```
---@async
---@param timeout? number seconds to wait for the answer; 0: do not wait for a connection; default: the session's request_timeout
---@return zkrecipes.Contender[]? contenders, string? message, zkrecipes.Code? code "connection_loss", "no_auth" ...
function Side:contenders(timeout) end

---Reading as a lock, for whatever wants one.
---```lua
---local reader = rw:reader()
---```
---@return zkrecipes.Side
function Rwlock:reader() end

---Writing as a lock, for whatever wants one.
---```lua
---local both = session:multilock { rw:writer(), session:lock("/accounts/7") }
---```
---@return zkrecipes.Side
function Rwlock:writer() end

---Ends all attempts of this object that wait, with "canceled".
---@return integer count
function Rwlock:cancel() end

---The attempts of this object that wait now; asks no server.
---@return zkrecipes.Attempt[]
function Rwlock:attempts() end

---Who holds it and who waits, in order.
---```lua
---for _, one in ipairs(assert(rw:contenders())) do print(one.shared, one.holding) end
---```
---@async
---@param timeout? number seconds to wait for the answer; 0: do not wait for a connection; default: the session's request_timeout
---@return zkrecipes.Contender[]? contenders, string? message, zkrecipes.Code? code "connection_loss", "no_auth" ...
function Rwlock:contenders(timeout) end
