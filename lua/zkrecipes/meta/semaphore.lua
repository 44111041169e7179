---@meta zkrecipes.semaphore

-- The semaphore. See docs/recipes/semaphore.md, which also argues why it is right.

---Gives out at most `limit` permits over all processes and coroutines. An acquire of several permits gets all of them or waits.
---First come, first served. The limit is stored in the znode of the semaphore's directory; every permit holder has one znode
---below it. The algorithm is ours; docs/recipes/semaphore.md argues why it is right.
---@class zkrecipes.Semaphore
---@field path string
---@field session zkrecipes.Session
local Semaphore = {}

---Waits until it holds the permits.
---Fails with "conflict" if the stored limit differs from the one that the semaphore was opened with, or is less than `permits`.
---```lua
---local hold, message, code = slots:acquire(30, 2)
---if not hold then return nil, message end
---```
---@async
---@param timeout? number seconds; 0: only try; while too few permits are free it only reads and writes nothing
---@param permits? integer at least 1; default 1
---@return zkrecipes.Hold? hold, string? message, zkrecipes.Code? code as of Lock:acquire; "conflict"; "no_node": no
---limit is stored and none was given
function Semaphore:acquire(timeout, permits) end

---Acquires, runs fn(hold), and always releases. After the release it raises fn's error, if any, with its traceback.
---```lua
---local total = slots:with(30, 2, function(hold) return count(hold) end)
---```
---@async
---@param timeout number? seconds
---@param permits integer?
---@param fn fun(hold: zkrecipes.Hold): ...
---@return any ... what fn returned, or true if fn returned nothing; on failure nil, message, code as from acquire
---@overload fun(self: zkrecipes.Semaphore, timeout: number?, fn: fun(hold: zkrecipes.Hold): ...): ...
---@overload fun(self: zkrecipes.Semaphore, fn: fun(hold: zkrecipes.Hold): ...): ...
function Semaphore:with(timeout, permits, fn) end

---Returns how many permits are not held. Contenders that already wait get them first.
---```lua
---print(assert(slots:available()))
---```
---@async
---@param timeout? number seconds to wait for the answer; 0: do not wait for a connection; default: the session's request_timeout
---@return integer? available, string? message, zkrecipes.Code? code "conflict", "no_node", "connection_loss" ...
function Semaphore:available(timeout) end

---Changes the limit for all clients. Holders keep their permits. If the limit grows, waiters get the new permits. After true, the limit
---stays until another call changes it. If the call fails after it has sent a write, the message says that the change may have been made.
---```lua
---assert(slots:resize(8))
---```
---@async
---@param limit integer at least 1
---@param timeout? number seconds to wait for the answer; 0: do not wait for a connection; default: the session's request_timeout
---@return true? ok, string? message, zkrecipes.Code? code "connection_loss", "no_auth" ...
function Semaphore:resize(limit, timeout) end

---Ends all waiting attempts of this object, with "canceled".
---@return integer count
function Semaphore:cancel() end

---Returns the waiting attempts of this object; sends no request.
---@return zkrecipes.Attempt[]
function Semaphore:attempts() end

---Returns the holders and the waiters, in order, each with its `permits`.
---```lua
---for _, one in ipairs(assert(slots:contenders())) do print(one.permits, one.holding) end
---```
---@async
---@param timeout? number seconds to wait for the answer; 0: do not wait for a connection; default: the session's request_timeout
---@return zkrecipes.Contender[]? contenders, string? message, zkrecipes.Code? code "connection_loss", "no_auth" ...
function Semaphore:contenders(timeout) end
