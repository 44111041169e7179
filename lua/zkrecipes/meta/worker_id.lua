---@meta zkrecipes.worker_id

-- Numbers for workers, and ids. See docs/recipes/worker_id.md, which also argues why they are right.

---@class zkrecipes.Session
local Session = {}

---Numbers for workers at this path, 0 to max - 1. Sends no request.
---```lua
---local workers = session:worker_id("/workers", 16)
---```
---@param path string a directory for this object alone; created if missing
---@param max integer at least 1
---@param options? { data?: string } data: of the znodes of the numbers
---@return zkrecipes.WorkerId? worker_id, string? message, zkrecipes.Code? code "no_memory"
function Session:worker_id(path, max, options) end

---Ids of 64 bits that are unique in all processes of this path. Sends no request.
---```lua
---local ids = assert(session:snowflake("/order-ids"):acquire(30))
---print(assert(ids:next()))
---```
---@param path string a directory for this object alone; created if missing
---@param options? { epoch?: number } epoch: seconds since 1970; default 1577836800 (2020-01-01); the same in all programs
---@return zkrecipes.Snowflake? snowflake, string? message, zkrecipes.Code? code "no_memory"
function Session:snowflake(path, options) end

---Gives each worker a number below `max` that no other worker has at the same time. The number of a hold is `hold.number`. The algorithm is
---ours; docs/recipes/worker_id.md argues why it is right.
---@class zkrecipes.WorkerId
---@field path string
---@field session zkrecipes.Session
local WorkerId = {}

---Acquires the smallest free number; waits while all are taken.
---```lua
---local hold, message, code = workers:acquire(30)
---if not hold then return nil, message end
---print("worker " .. hold.number)
---```
---@async
---@param timeout? number seconds; 0: only try; while all numbers are taken it writes nothing
---@return zkrecipes.Hold? hold, string? message, zkrecipes.Code? code as of Lock:acquire; "timeout": all numbers are taken
function WorkerId:acquire(timeout) end

---Acquires, runs fn(hold), and always releases. After the release it raises fn's error, if any, with its traceback.
---```lua
---workers:with(30, function(hold) serve(hold.number) end)
---```
---@async
---@param timeout number? seconds
---@param fn fun(hold: zkrecipes.Hold): ...
---@return any ... what fn returned, or true if fn returned nothing; on failure nil, message, code as from acquire
---@overload fun(self: zkrecipes.WorkerId, fn: fun(hold: zkrecipes.Hold): ...): ...
function WorkerId:with(timeout, fn) end

---Ends all waiting attempts of this object, with "canceled".
---@return integer count
function WorkerId:cancel() end

---Returns the waiting attempts of this object; sends no request.
---@return zkrecipes.Attempt[]
function WorkerId:attempts() end

---Ids of 64 bits, ordered by time, unique in all processes of a path. After Twitter's Snowflake (2010).
---@class zkrecipes.Snowflake
---@field path string
---@field session zkrecipes.Session
local Snowflake = {}

---Acquires a number below 1024, and gives its ids.
---```lua
---local ids = assert(session:snowflake("/order-ids"):acquire(30))
---```
---@async
---@param timeout? number seconds; 0: only try
---@return zkrecipes.SnowflakeIds? ids, string? message, zkrecipes.Code? code as of WorkerId:acquire; "conflict": the znode that keeps
---the times of the number holds something else, or those of another epoch; or the clock is more than a minute behind those of eight numbers
function Snowflake:acquire(timeout) end

---The ids of one number, while this process holds it. It is released when it is collected, or by `<close>`.
---@class zkrecipes.SnowflakeIds
---@field number integer
---@field path string
---@field hold zkrecipes.Hold the number's hold
---@field session zkrecipes.Session
local SnowflakeIds = {}

---Gives the next id, a string of decimal digits. Most calls send nothing; one in a few seconds waits for a write.
---```lua
---local id, message, code = ids:next()
---if code == "lost" then ids = assert(session:snowflake("/order-ids"):acquire(30)) end
---```
---@async
---@param timeout? number seconds to wait for the write; 0: do not wait for a connection; default: the session's request_timeout
---@return string? id, string? message, zkrecipes.Code? code "lost", "closed": acquire again; "conflict": the clock is more than a minute
---behind the ids; "connection_loss" ...
function SnowflakeIds:next(timeout) end

---True if the number is certainly still ours. Sends no request.
---@return boolean
function SnowflakeIds:valid() end

---As Hold:lost, of the number's hold.
---@async
---@param timeout? number seconds; 0: do not wait
---@return "lost"|"closed"|"released"|nil why, string? message, zkrecipes.Code? code "timeout"
function SnowflakeIds:lost(timeout) end

---Gives the number back. Returns at once; idempotent.
---@return true
function SnowflakeIds:release() end
