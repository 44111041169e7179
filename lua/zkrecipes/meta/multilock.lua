---@meta zkrecipes.multilock

-- Several locks as one. See docs/recipes/multilock.md.

---All of its locks or none, taken one after the other in an order that is the same for everybody: by path.
---The algorithm is the usual one against deadlocks, ordered acquisition.
---@class zkrecipes.Multilock
---@field session zkrecipes.Session
local Multilock = {}

---Waits until all are held. One time limit for all; 0 tries each.
---```lua
---local hold, message, code = session:multilock{ session:lock("/a"), rw:writer() }:acquire(30)
---```
---@async
---@param timeout? number seconds
---@return zkrecipes.Multihold? hold, string? message, zkrecipes.Code? code those of its locks: "timeout", "lost" ...
function Multilock:acquire(timeout) end

---As Lock:with.
---```lua
---assert(both:with(30, function(hold) return hold:set("/balance", "0") end))
---```
---@async
---@param timeout number? seconds
---@param fn fun(hold: zkrecipes.Multihold): ...
---@return any ... what fn returned, true if that is nothing; or nil, message, code as of acquire
---@overload fun(self: zkrecipes.Multilock, fn: fun(hold: zkrecipes.Multihold): ...): ...
function Multilock:with(timeout, fn) end

---Ends all acquires of this object that wait, with "canceled"; and whatever waits by the handle of the lock that such a one
---waits for.
---```lua
---print(all:cancel(), "were waiting")
---```
---@return integer count
function Multilock:cancel() end

---It has no token and no path of its own; its holds have.
---@class zkrecipes.Multihold
---@field holds zkrecipes.Hold[] as their locks were given
---@field since number zk.now() when the last one was granted
local Multihold = {}

---Lets go of all; returns at once. May be called again.
---```lua
---hold:release()
---```
---@return true
function Multihold:release() end

---All are surely still ours.
---@return boolean
function Multihold:valid() end

---For how many seconds all surely stay ours if no server answers any more; 0 when they are not.
---@return number
function Multihold:left() end

---Waits until the first is over.
---```lua
---print("over:", hold:lost())
---```
---@async
---@param timeout? number seconds
---@return "lost"|"closed"|"released"|nil why, string? message, zkrecipes.Code? code "timeout" ... as of Hold:lost
function Multihold:lost(timeout) end

---Runs fn(hold, why) once, when the first is lost or the session closed.
---```lua
---assert(hold:on_lost(function(_, why) print("stop:", why) end))
---```
---@param fn fun(hold: zkrecipes.Multihold, why: "lost"|"closed")
---@return true? ok, string? message, zkrecipes.Code? code "forked", "no_memory"
function Multihold:on_lost(fn) end

---The writes carry a check of every hold: when one is lost they fail with "lost" and change nothing.
---```lua
---assert(hold:create("/results/r-", "42", { sequential = true }))
---```
---@async
---@param path string
---@param data? string
---@param options? zkrecipes.GuardedCreateOptions
---@return string? path, string? message, zkrecipes.Code? code "lost", or as of Session:create
function Multihold:create(path, data, options) end

---Writes the data, if all are still held.
---```lua
---assert(hold:set("/balance/7", "90"))
---```
---@async
---@param path string
---@param data? string
---@param version? integer
---@param options? zkrecipes.RequestOptions
---@return zkrecipes.Stat? stat, string? message, zkrecipes.Code? code "lost", or as of Session:set
function Multihold:set(path, data, version, options) end

---Deletes, if all are still held.
---```lua
---assert(hold:delete("/orders/17"))
---```
---@async
---@param path string
---@param version? integer
---@param options? zkrecipes.RequestOptions
---@return true? ok, string? message, zkrecipes.Code? code "lost", or as of Session:delete
function Multihold:delete(path, version, options) end

---All of it if all are still held, or nothing.
---```lua
---assert(hold:multi { { "set", "/balance/7", "90" }, { "set", "/balance/3", "110" } })
---```
---@async
---@param parts zkrecipes.Part[]
---@param options? zkrecipes.RequestOptions
---@return (string|zkrecipes.Stat|true)[]? results, string? message, zkrecipes.Code? code "lost", or as of Session:multi
function Multihold:multi(parts, options) end
