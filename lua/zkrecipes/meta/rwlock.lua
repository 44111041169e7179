---@meta zkrecipes.rwlock

-- The read/write lock. See docs/recipes/rwlock.md.

---Any number of readers at once, or one writer alone, in the order in which they came. The algorithm is "Shared Locks" of
---ZooKeeper's page of recipes (https://zookeeper.apache.org/doc/current/recipes.html#Shared+Locks); the names of the nodes
---are those of Curator's InterProcessReadWriteLock.
---@class zkrecipes.Rwlock
---@field path string
---@field session zkrecipes.Session
local Rwlock = {}

---Raises when this coroutine holds it for writing by this handle: it would wait for itself.
---```lua
---local hold, message, code = rw:read(30)
---```
---@async
---@param timeout? number 0: only try
---@return zkrecipes.Hold? hold, string? message, zkrecipes.Code? code
function Rwlock:read(timeout) end

---Raises when this coroutine holds it by this handle: it would wait for itself. There is no upgrade.
---```lua
---local hold = assert(rw:write(30))
---assert(hold:set("/table", rows))
---assert(hold:downgrade()) -- others may read, too
---```
---@async
---@param timeout? number 0: only try
---@return zkrecipes.Hold? hold, string? message, zkrecipes.Code? code
function Rwlock:write(timeout) end

---One side of it, as a lock; it has no `request`.
---@class zkrecipes.Side
---@field path string
---@field session zkrecipes.Session
local Side = {}

---@async
---@param timeout? number
---@return zkrecipes.Hold? hold, string? message, zkrecipes.Code? code
function Side:acquire(timeout) end

---As Lock:with.
---@async
---@param timeout number?
---@param fn fun(hold: zkrecipes.Hold): ...
---@return any ...
---@overload fun(self: zkrecipes.Side, fn: fun(hold: zkrecipes.Hold): ...): ...
function Side:with(timeout, fn) end

---Ends all attempts of its rwlock object that wait for this side, with "canceled".
---@return integer count
function Side:cancel() end

---Those attempts; asks no server.
---@return zkrecipes.Attempt[]
function Side:attempts() end

---As Rwlock:contenders: of both sides.
---@async
---@return zkrecipes.Contender[]? contenders, string? message, zkrecipes.Code? code
function Side:contenders() end

---@return zkrecipes.Side
function Rwlock:reader() end

---@return zkrecipes.Side
function Rwlock:writer() end

---Ends all attempts of this object that wait, with "canceled".
---@return integer count
function Rwlock:cancel() end

---The attempts of this object that wait now; asks no server.
---@return zkrecipes.Attempt[]
function Rwlock:attempts() end

---Who holds it and who waits, in order.
---@async
---@return zkrecipes.Contender[]? contenders, string? message, zkrecipes.Code? code
function Rwlock:contenders() end
