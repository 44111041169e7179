---@meta zkrecipes.partitioner

-- Partitions. See docs/recipes/partitioner.md.

---@class zkrecipes.Session
local Session = {}

---@class zkrecipes.PartitionerOptions
---@field weight? number above 0; default 1
---@field id? string any bytes; default 16 random hexadecimal digits
---@field settle? number seconds without a change before it divides; default 1

---Returns a partitioner, which joins in the background.
---```lua
---local partitioner = assert(session:partitioner("/shards", { "a", "b", "c" }, { weight = 2 }))
---partitioner:run(function(part, hold) while hold:valid() do work(part, hold) end end)
---```
---@param path string not the root; it need not exist
---@param parts string[] different names, of any bytes; the same set in all members
---@param options? zkrecipes.PartitionerOptions
---@return zkrecipes.Partitioner? partitioner, string? message, zkrecipes.Code? code "too_large", "closed", "auth_failed", "forked",
---"no_memory"
function Session:partitioner(path, parts, options) end

---Divides a set of parts among the members that are there (the algorithm is rendezvous hashing, and a lock for each part; kazoo has
---SetPartitioner).
---@class zkrecipes.Partitioner
---@field path string
---@field id string
---@field weight number
local Partitioner = {}

---@class zkrecipes.PartitionerRunOptions
---@field backoff? number seconds before a function that failed is called again, doubled with each error in a row; default 1
---@field backoff_max? number seconds; default 30
---@field on_error? fun(problem: any, part: string)

---Calls fn in a coroutine of its own for each part that is mine, until the partitioner is closed.
---```lua
---partitioner:run(function(part, hold) while hold:valid() do work(part, hold) end end)
---```
---@async
---@param fn fun(part: string, hold: zkrecipes.Hold)
---@param options? zkrecipes.PartitionerRunOptions
---@return true? closed, string? message, zkrecipes.Code? code "canceled" (by stop), "closed", "auth_failed", "forked"
function Partitioner:run(fn, options) end

---Cancels the functions of run; the parts stay mine.
---@return boolean stopped false: it does not run
function Partitioner:stop() end

---Returns the parts whose holds are valid, in the order of their names. Never waits.
---@return string[] parts
function Partitioner:mine() end

---Returns the hold of a part, or false if it is not mine. Never waits.
---@param part string
---@return zkrecipes.Hold|false hold do not release it
function Partitioner:hold(part) end

---Returns the ids of the members whose set of parts is not the same. Never waits.
---@return string[] ids
function Partitioner:differing() end

---Returns a reader, which first reports all parts that are mine.
---@return zkrecipes.PartitionerChanges? changes, string? message, zkrecipes.Code? code "canceled", "closed", "auth_failed", "forked"
function Partitioner:changes() end

---Waits until the parts were divided once.
---@param timeout? number seconds; nil: no limit
---@return true? ready, string? message, zkrecipes.Code? code "timeout" (also while another member has the id), "connection_loss",
---"canceled", "closed", "auth_failed", "no_auth", "no_children_for_ephemerals", "too_large", "full", "quota_exceeded", "server_error",
---"unsupported", "no_memory", "forked"
function Partitioner:ready(timeout) end

---Gives it another set of parts; waits until the other members can see that.
---@param parts string[]
---@param timeout? number seconds; nil: no limit
---@return true? done, string? message, zkrecipes.Code? code "too_large", "timeout", "connection_loss", "canceled", "closed", "auth_failed",
---"no_auth", "no_children_for_ephemerals", "full", "quota_exceeded", "server_error", "unsupported", "no_memory", "forked"
function Partitioner:set_parts(parts, timeout) end

---Leaves: stops the functions and releases all parts. Idempotent.
---@param timeout? number seconds; nil: no limit
---@return true? closed, string? message, zkrecipes.Code? code "timeout", "connection_loss", "canceled", "no_memory", "forked"
function Partitioner:close(timeout) end

---@class zkrecipes.PartitionerChange
---@field kind "gained"|"ended"|"differs"
---@field part? string
---@field hold? zkrecipes.Hold of "gained"
---@field token? string
---@field why? "moved"|"lost"|"removed"|"closed" of "ended"
---@field members? string[] of "differs": whose set differs now

---Tells which parts become mine, and which end.
---@class zkrecipes.PartitionerChanges
---@overload fun(): zkrecipes.PartitionerChange?, string?, zkrecipes.Code?
local PartitionerChanges = {}

---Waits for the next change.
---@param timeout? number seconds; nil: no limit
---@return zkrecipes.PartitionerChange? change, string? message, zkrecipes.Code? code "timeout", "connection_loss", "canceled", "closed",
---"auth_failed", "forked", "no_memory"
function PartitionerChanges:next(timeout) end

---Ends the reader. Idempotent.
---@return true
function PartitionerChanges:close() end
