---@meta zkrecipes.multilock

-- Several locks as one. See docs/recipes/multilock.md.

---All of its locks or none, taken in an order that is the same for everybody.
---@class zkrecipes.Multilock
---@field session zkrecipes.Session
local Multilock = {}

---One time limit for all; 0 tries each.
---```lua
---local hold, message, code = session:multilock{ session:lock("/a"), rw:writer() }:acquire(30)
---```
---@async
---@param timeout? number
---@return zkrecipes.Multihold? hold, string? message, zkrecipes.Code? code
function Multilock:acquire(timeout) end

---As Lock:with.
---@async
---@param timeout number?
---@param fn fun(hold: zkrecipes.Multihold): ...
---@return any ...
---@overload fun(self: zkrecipes.Multilock, fn: fun(hold: zkrecipes.Multihold): ...): ...
function Multilock:with(timeout, fn) end

---Ends all acquires of this object that wait, with "canceled"; and whatever waits by the handle of the lock that such a one
---waits for.
---@return integer count
function Multilock:cancel() end

---It has no token and no path of its own; its holds have.
---@class zkrecipes.Multihold
---@field holds zkrecipes.Hold[] as their locks were given
---@field since number zk.now() when the last one was granted
local Multihold = {}

---@return true
function Multihold:release() end

---All are surely still ours.
---@return boolean
function Multihold:valid() end

---Waits until the first is over.
---@async
---@param timeout? number
---@return "lost"|"closed"|"released"|nil why, string? message, zkrecipes.Code? code
function Multihold:lost(timeout) end

---Runs fn(hold, why) once, when the first is lost or the session closed.
---@param fn fun(hold: zkrecipes.Multihold, why: "lost"|"closed")
---@return true? ok, string? message, zkrecipes.Code? code
function Multihold:on_lost(fn) end

---The writes carry a check of every hold: when one is lost they fail with "lost" and change nothing.
---@async
---@param path string
---@param data? string
---@param options? { ephemeral?: boolean, sequential?: boolean, acl?: zkrecipes.Acl }
---@return string? path, string? message, zkrecipes.Code? code
function Multihold:create(path, data, options) end

---@async
---@param path string
---@param data? string
---@param version? integer
---@return zkrecipes.Stat? stat, string? message, zkrecipes.Code? code
function Multihold:set(path, data, version) end

---@async
---@param path string
---@param version? integer
---@return true? ok, string? message, zkrecipes.Code? code
function Multihold:delete(path, version) end

---@async
---@param parts zkrecipes.Part[]
---@return (string|zkrecipes.Stat|true)[]? results, string? message, zkrecipes.Code? code
function Multihold:multi(parts) end
