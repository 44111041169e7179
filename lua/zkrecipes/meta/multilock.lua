---@meta zkrecipes.multilock

-- Several locks as one. See docs/recipes/multilock.md.

---Acquires all of its locks or none, one after the other, ordered by path. The order is the same for every client, which prevents
---deadlocks: the usual algorithm, ordered acquisition.
---@class zkrecipes.Multilock
---@field session zkrecipes.Session
local Multilock = {}

---Waits until it holds all locks. The time limit is for all together; 0 only tries each.
---```lua
---local hold, message, code = session:multilock{ session:lock("/a"), rw:writer() }:acquire(30)
---```
---@async
---@param timeout? number seconds
---@return zkrecipes.Multihold? hold, string? message, zkrecipes.Code? code the codes of its locks: "timeout", "lost" ...
function Multilock:acquire(timeout) end

---Acquires, runs fn(hold), and always releases, like Lock:with.
---```lua
---assert(both:with(30, function(hold) return hold:set("/balance", "0") end))
---```
---@async
---@param timeout number? seconds
---@param fn fun(hold: zkrecipes.Multihold): ...
---@return any ... what fn returned, or true if fn returned nothing; on failure nil, message, code as from acquire
---@overload fun(self: zkrecipes.Multilock, fn: fun(hold: zkrecipes.Multihold): ...): ...
function Multilock:with(timeout, fn) end

---Ends all waiting acquires of this object, with "canceled". Each waits for one of the locks just then; other attempts that wait
---through the same handle of that lock end too.
---```lua
---print(all:cancel(), "were waiting")
---```
---@return integer count
function Multilock:cancel() end

---The hold of a multilock. It has no token and no path; each of its `holds` has.
---@class zkrecipes.Multihold
---@field holds zkrecipes.Hold[] in the order in which the locks were given
---@field since number zk.now() when the last one was granted
local Multihold = {}

---Releases all holds. It returns at once. You may call it again.
---```lua
---hold:release()
---```
---@return true
function Multihold:release() end

---Returns true if all holds are certainly still valid.
---@return boolean
function Multihold:valid() end

---Returns for how many seconds all holds certainly stay valid if no server answers any more; 0 if one is not valid.
---@return number
function Multihold:left() end

---Waits until the first of its holds ends.
---```lua
---print("over:", hold:lost())
---```
---@async
---@param timeout? number seconds
---@return "lost"|"closed"|"released"|nil why, string? message, zkrecipes.Code? code "timeout" ... as of Hold:lost
function Multihold:lost(timeout) end

---Runs fn(hold, why) once, when the first of its holds is lost or the session is closed.
---```lua
---assert(hold:on_lost(function(_, why) print("stop:", why) end))
---```
---@param fn fun(hold: zkrecipes.Multihold, why: "lost"|"closed")
---@return true? ok, string? message, zkrecipes.Code? code "forked", "no_memory"
function Multihold:on_lost(fn) end

---Creates a znode, only if all holds still exist. Every write checks the znode of every hold on the server: if one hold was lost,
---the write fails with "lost" and changes nothing.
---```lua
---assert(hold:create("/results/r-", "42", { sequential = true }))
---```
---@async
---@param path string
---@param data? string
---@param options? zkrecipes.GuardedCreateOptions
---@return string? path, string? message, zkrecipes.Code? code "lost", or as of Session:create
function Multihold:create(path, data, options) end

---Writes a znode's data, only if all holds still exist.
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

---Deletes a znode, only if all holds still exist.
---```lua
---assert(hold:delete("/orders/17"))
---```
---@async
---@param path string
---@param version? integer
---@param options? zkrecipes.RequestOptions
---@return true? ok, string? message, zkrecipes.Code? code "lost", or as of Session:delete
function Multihold:delete(path, version, options) end

---Does all parts if all holds still exist, or none.
---```lua
---assert(hold:multi { { "set", "/balance/7", "90" }, { "set", "/balance/3", "110" } })
---```
---@async
---@param parts zkrecipes.Part[]
---@param options? zkrecipes.RequestOptions
---@return (string|zkrecipes.Stat|true)[]? results, string? message, zkrecipes.Code? code "lost", or as of Session:multi
function Multihold:multi(parts, options) end
