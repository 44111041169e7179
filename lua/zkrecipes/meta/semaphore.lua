---@meta zkrecipes.semaphore

-- The semaphore. See docs/recipes/semaphore.md, which also argues why it is right.

---At most so many permits are out, over all processes and coroutines; who asks for several gets all or waits. First come,
---first served. The limit is stored in the znode of its directory; every permit holder has one znode below it.
---The algorithm is ours; docs/recipes/semaphore.md argues why it is right.
---@class zkrecipes.Semaphore
---@field path string
---@field session zkrecipes.Session
local Semaphore = {}

---Waits until the permits are its own.
---Fails with "conflict" when the stored limit is not the one that the semaphore was opened with, or less than `permits`.
---```lua
---local hold, message, code = slots:acquire(30, 2)
---if not hold then return nil, message end
---```
---@async
---@param timeout? number seconds; 0: only try; reads, and writes nothing when there is no room
---@param permits? integer at least 1; default 1
---@return zkrecipes.Hold? hold, string? message, zkrecipes.Code? code as of Lock:acquire; "conflict"; "no_node": there
---is no limit, neither stored nor given
function Semaphore:acquire(timeout, permits) end

---Acquires, runs fn(hold), and releases in any case. An error of fn is raised, with its traceback, after that.
---```lua
---local total = slots:with(30, 2, function(hold) return count(hold) end)
---```
---@async
---@param timeout number? seconds
---@param permits integer?
---@param fn fun(hold: zkrecipes.Hold): ...
---@return any ... what fn returned, true if that is nothing; or nil, message, code as of acquire
---@overload fun(self: zkrecipes.Semaphore, timeout: number?, fn: fun(hold: zkrecipes.Hold): ...): ...
---@overload fun(self: zkrecipes.Semaphore, fn: fun(hold: zkrecipes.Hold): ...): ...
function Semaphore:with(timeout, permits, fn) end

---How many permits nobody holds. Those who wait come first.
---```lua
---print(assert(slots:available()))
---```
---@async
---@param timeout? number seconds to wait for the answer; 0: do not wait for a connection; default: the session's request_timeout
---@return integer? available, string? message, zkrecipes.Code? code "conflict", "no_node", "connection_loss" ...
function Semaphore:available(timeout) end

---Changes the limit for everybody. Those who hold are left alone; those who wait come in when it grows.
---```lua
---assert(slots:resize(8))
---```
---@async
---@param limit integer at least 1
---@param timeout? number seconds to wait for the answer; 0: do not wait for a connection; default: the session's request_timeout
---@return true? ok, string? message, zkrecipes.Code? code "connection_loss", "no_auth" ...
function Semaphore:resize(limit, timeout) end

---Ends all attempts of this object that wait, with "canceled".
---@return integer count
function Semaphore:cancel() end

---The attempts of this object that wait now; asks no server.
---@return zkrecipes.Attempt[]
function Semaphore:attempts() end

---Who holds and who waits, in order; each with its `permits`.
---```lua
---for _, one in ipairs(assert(slots:contenders())) do print(one.permits, one.holding) end
---```
---@async
---@param timeout? number seconds to wait for the answer; 0: do not wait for a connection; default: the session's request_timeout
---@return zkrecipes.Contender[]? contenders, string? message, zkrecipes.Code? code "connection_loss", "no_auth" ...
function Semaphore:contenders(timeout) end
