---@meta zkrecipes.queue

-- The queue and its items. See docs/recipes/queue.md.

---@class zkrecipes.QueueOptions
---@field capacity? integer more items are refused, or wait; approximate
---@field attempts? integer claims after which an item becomes a dead letter, default 5
---@field format? "simple" the layout of ZooKeeper's own recipe and of Curator's SimpleDistributedQueue

---@class zkrecipes.PutOptions
---@field priority? integer 0 to 65535, lower numbers first, default 0
---@field delay? number seconds until it can be seen
---@field id? string while the id is known, putting it again does nothing
---@field timeout? number seconds to wait for room; 0: do not wait; nil: no limit

---@class zkrecipes.PutEntry
---@field data string
---@field priority? integer
---@field delay? number
---@field id? string

---A queue of jobs at this path. Asks no server.
---@class zkrecipes.Session
local Session = {}

---@param path string a directory of its own, made when missing
---@param options? zkrecipes.QueueOptions
---@return zkrecipes.Queue? queue, string? message, zkrecipes.Code? code
function Session:queue(path, options) end

---FIFO within a priority. An item stays on the servers until it is acked. In the simple format there are put, put_all, take, peek, size
---and items only; the other methods raise.
---@class zkrecipes.Queue
---@field path string
local Queue = {}

---```lua
---assert(queue:put("resize 17.png", { id = "resize-17" }))
---```
---@async
---@param data string
---@param options? zkrecipes.PutOptions
---@return true? done, string? message "known" when the id was known, zkrecipes.Code? code
function Queue:put(data, options) end

---@async
---@param list (string|zkrecipes.PutEntry)[]
---@param timeout? number seconds to wait for room, in all
---@return integer? count, string? message, zkrecipes.Code? code, integer? put how many were put before it failed
function Queue:put_all(list, timeout) end

---The next item, at least once: ack it, or it comes back when its consumer has died.
---```lua
---local item = assert(queue:claim(30))
---if work(item.data) then item:ack() else item:nack(10) end
---```
---@async
---@param timeout? number seconds; 0: do not wait
---@return zkrecipes.Item? item, string? message, zkrecipes.Code? code
function Queue:claim(timeout) end

---The next item, at most once: it is on no server any more. In the simple format there is no item, only its data.
---@async
---@param timeout? number seconds; 0: do not wait
---@return string? data, zkrecipes.Item|string|nil item_or_message, zkrecipes.Code? code
function Queue:take(timeout) end

---How many items there are, claimed and delayed ones included. No listing.
---@async
---@return integer? count, string? message, zkrecipes.Code? code
function Queue:size() end

---What claim would give, or false.
---@async
---@return zkrecipes.QueueEntry|false|nil entry, string? message, zkrecipes.Code? code
function Queue:peek() end

---In the simple format an entry has data and path only.
---@class zkrecipes.QueueEntry
---@field data string
---@field id? string
---@field attempts? integer not in the simple format
---@field priority? integer not in the simple format
---@field path string
---@field claimed? boolean not in the simple format
---@field due? integer milliseconds since 1970, of a delayed one

---All items in order, delayed ones last. Raises when the servers cannot be asked.
---@async
---@return fun(): zkrecipes.QueueEntry?
function Queue:items() end

---The dead letters.
---@async
---@return fun(): zkrecipes.QueueEntry?
function Queue:dead() end

---@async
---@return integer? count, string? message, zkrecipes.Code? code
function Queue:dead_size() end

---Puts dead letters back, with attempts counted anew.
---@async
---@param limit? integer
---@return integer? count, string? message, zkrecipes.Code? code
function Queue:redrive(limit) end

---Removes the item with this id.
---@async
---@param id string
---@return boolean? removed, string? message, zkrecipes.Code? code "conflict": it is claimed
function Queue:remove(id) end

---@class zkrecipes.Item
---@field data string
---@field id? string
---@field attempts integer 1 the first time
---@field priority integer
---@field path string
local Item = {}

---It is done.
---@async
---@return true? done, string? message, zkrecipes.Code? code "lost": it went back to the queue before
function Item:ack() end

---Gives it back: to its place, or behind all others after a delay; to the dead letters after the last attempt.
---@async
---@param delay? number seconds
---@return true? done, string? message, zkrecipes.Code? code
function Item:nack(delay) end
