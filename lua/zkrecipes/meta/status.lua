---@meta zkrecipes
error("definitions for the language server; this file is not to be loaded")

---@class zkrecipes
local zk = {}

---The session that all code of this process (in nginx: of this worker) shares, opened at the first call. A later call
---may leave the options out; one with other options is misuse.
---```lua
---local session = zk.shared { hosts = "zk1:2181,zk2:2181" }
---```
---@param options? zkrecipes.SessionOptions
---@return zkrecipes.Session? session, string? message, zkrecipes.Code? code "forked", "no_memory"
function zk.shared(options) end

---What goes on in this process.
---```lua
---print(#zk.status().holds, zk.status().lost)
---```
---@param options? { queues: boolean?, max_age: number? } queues: asks the servers for the queues that are waited for here; that waits for
---a second at most. max_age: seconds; a look at the queues that began so long ago is good enough, and is shared
---@return zkrecipes.Status
function zk.status(options) end

---@class zkrecipes.Status
---@field host string name of the adapter
---@field sessions { number: integer, state: zkrecipes.State, id: string?, server: string?, timeout: number }[]
---@field holds { kind: string, path: string, token: string, age: number, waiters: integer }[] oldest first; waiters: of this process
---@field waiting { kind: string, path: string, age: number }[] for something to hold, for an item, at a barrier or latch; oldest first
---@field queues? { path: string, length: integer?, places: integer[], unknown: true? }[] where this process waits, at most 20;
---`unknown`: no server has said it in time, and there is no `length`
---@field granted integer so far
---@field released integer
---@field lost integer
---@field failed table<zkrecipes.Code, integer> attempts that ended without a hold
---@field waits { below: number?, count: integer }[] how many were granted within `below` seconds; the last: all
---@field waited number seconds that all of these have waited together
---@field tasks integer that run

return zk
