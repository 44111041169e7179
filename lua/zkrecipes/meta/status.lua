---@meta zkrecipes
error("definitions for the language server; this file is not to be loaded")

---@class zkrecipes
local zk = {}

---Returns the session that all code of this process (in nginx: of this worker) shares. The first call opens it. A later call
---may omit the options; a call with different options is misuse. After the session was closed, only a call with options opens another one;
---so does a call in a child of the process, there also without them.
---```lua
---local session = zk.shared { hosts = "zk1:2181,zk2:2181" }
---```
---@param options? zkrecipes.SessionOptions
---@return zkrecipes.Session? session, string? message, zkrecipes.Code? code "closed", "forked", "no_memory"
function zk.shared(options) end

---Returns what this process holds and waits for, with counters.
---```lua
---print(#zk.status().holds, zk.status().lost)
---```
---@param options? { queues: boolean?, max_age: number? } queues: true asks the servers for the lengths of the queues where this
---process waits, and waits for that at most one second. max_age: seconds; reuse an answer whose request began at most so long ago
---@return zkrecipes.Status
function zk.status(options) end

---@class zkrecipes.Status
---@field host string name of the adapter; "custom" if it has none
---@field sessions { number: integer, state: zkrecipes.State, id: string?, server: string?, timeout: number }[]
---@field holds { kind: string, path: string, token: string, age: number, waiters: integer }[] oldest first; waiters: of this process
---@field waiting { kind: string, path: string, age: number }[] waits for a hold, an item or a message, at a barrier or latch; oldest first
---@field trees { number: integer, path: string, znodes: integer, age: number?, problem: string? }[] watched copies in the order
---of making; age: seconds, nil if it was never loaded; problem: why something is missing
---@field objects { number: integer, kind: string, path: string, state: string }[] presences, partitioners, participants of two-phase
---commit and subscriptions of topics, in the order of making; state: a few words
---@field queues? { path: string, length: integer?, places: integer[], unknown: true? }[] where this process waits, at most 20;
---`unknown`: no server answered in time, and there is no `length`
---@field granted integer how many holds were granted so far
---@field released integer
---@field lost integer
---@field failed table<zkrecipes.Code, integer> attempts that ended without a hold
---@field waits { below: number?, count: integer }[] how many holds were granted within `below` seconds; the last entry counts all
---@field waited number seconds that all granted attempts have waited, added up
---@field tasks integer how many tasks run

return zk
