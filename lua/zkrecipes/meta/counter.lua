---@meta zkrecipes.counter

-- Counters and ids. See docs/recipes/counter.md, which also argues why they are right.

---@class zkrecipes.CounterOptions
---@field timeout? number seconds; 0: do not wait for a connection; nil: no limit

---A whole number from -2^53 to 2^53 in a znode, as decimal text. The algorithm is ours: each write is one multi, on the condition
---that a znode of this object and the counter's znode have the versions that the object knows.
---@class zkrecipes.Counter
---@field path string
---@field session zkrecipes.Session
local Counter = {}

---Adds a number, exactly once, even if the answer is lost. A missing counter counts as 0 and is made.
---After "connection_loss", "canceled" and "closed" the number may have been added; after any other failure it was not.
---```lua
---local total, message = session:counter("/visits"):add(1)
---if not total then return nil, message end
---```
---@async
---@param number integer may be negative
---@param options? zkrecipes.CounterOptions
---@return integer? value, string? message, zkrecipes.Code? code "full": the sum would be too large, or the session has no
---room for another object's mark; "conflict": the znode holds another text; "connection_loss", "timeout", "no_auth", "closed" ...
function Counter:add(number, options) end

---Returns the value, as the connected server has it; this server may lag.
---```lua
---print(assert(session:counter("/visits"):get()))
---```
---@async
---@param options? zkrecipes.CounterOptions
---@return integer? value, string? message, zkrecipes.Code? code "conflict", "connection_loss", "timeout", "no_auth", "closed" ...
function Counter:get(options) end

---Sets the value exactly once, whatever data the znode has.
---```lua
---assert(session:counter("/visits"):set(0))
---```
---@async
---@param number integer
---@param options? zkrecipes.CounterOptions
---@return true? ok, string? message, zkrecipes.Code? code "full": the session has no room for another object's mark;
---"connection_loss", "timeout", "no_auth", "closed" ...
function Counter:set(number, options) end

---Sets the value if the counter has the expected one.
---```lua
---local set, current = session:counter("/visits"):compare_and_set(10, 0)
---if set == false then print("it has " .. current) end
---```
---@async
---@param expected integer
---@param number integer the new value
---@param options? zkrecipes.CounterOptions
---@return boolean? set, integer|string|nil current_or_message, zkrecipes.Code? code "conflict", "full", "connection_loss",
---"timeout", "no_auth", "closed" ...
function Counter:compare_and_set(expected, number, options) end

---Unique numbers and names. The algorithm is ours: a counter gives blocks of numbers.
---@class zkrecipes.Ids
---@field path string
---@field session zkrecipes.Session
local Ids = {}

---Returns the next number. Sends a request only when the block is used up, one for all coroutines that wait.
---```lua
---local number, message = ids:next()
---if not number then return nil, message end
---```
---@async
---@param options? zkrecipes.CounterOptions
---@return integer? number, string? message, zkrecipes.Code? code "full": no whole block is left below 2^53; "conflict": the
---counter went back, so numbers may repeat; "error": the task that gets the block was killed; "connection_loss", "no_auth", "closed" ...
function Ids:next(options) end

---Returns a name: the prefix and ten digits of a sequential znode, which is deleted at once.
---```lua
---local name, message = ids:next_name("order-")
---if not name then return nil, message end
---```
---@async
---@param prefix string not empty, without a slash
---@param options? zkrecipes.CounterOptions
---@return string? name, string? message, zkrecipes.Code? code "full": the directory has used up its numbers; "conflict": it was
---created again, so names may repeat; "error": the task that creates was killed; "connection_loss", "timeout", "no_auth", "closed" ...
function Ids:next_name(prefix, options) end

-- ---- How a session makes them ------------------------------------------------------------------

---@class zkrecipes.Session
local Session = {}

---A counter at this path. Sends no request. Keep the object: its first write costs more than the later ones.
---```lua
---local visits = session:counter("/visits")
---```
---@param path string the counter's znode; made by the first write
---@return zkrecipes.Counter counter
function Session:counter(path) end

---@class zkrecipes.IdsOptions
---@field block? integer numbers that one request gets; default 1000

---Unique numbers and names. Sends no request.
---```lua
---local ids = session:ids("/orders", { block = 100 })
---```
---@param path string the znode of a counter; never delete it
---@param options? zkrecipes.IdsOptions
---@return zkrecipes.Ids ids
function Session:ids(path, options) end
