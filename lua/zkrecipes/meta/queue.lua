---@meta zkrecipes.queue

-- The queue and its items. See docs/recipes/queue.md.

---@class zkrecipes.QueueOptions
---@field capacity? integer most items in the queue, approximately; a put beyond it waits or fails with "full"
---@field attempts? integer claims after which an item becomes a dead letter, default 5
---@field prefetch? integer items that the process claims in advance, so that later claims are served at once: 0 to 100, default 0; such
---a handle has no take
---@field format? "simple" the layout of ZooKeeper's own recipe and of Curator's SimpleDistributedQueue

---@class zkrecipes.PutOptions
---@field priority? integer 0 to 65535, lower numbers first, default 0
---@field delay? number seconds until consumers can get the item
---@field id? string 1 to 200 bytes; put does nothing while the id is known. An id is known while an item with this id is in the queue,
---and for one minute after that item was acked or taken
---@field timeout? number seconds for the whole put, including the wait for room; 0: do not wait; nil: no limit for the wait for room,
---and request_timeout for the rest

---@class zkrecipes.PutEntry
---@field data string
---@field priority? integer
---@field delay? number
---@field id? string

---@class zkrecipes.Session
local Session = {}

---A queue of jobs at this path. Sends no request. The same path and options give the same handle, as long as the program refers to
---the handle or to an item from it.
---```lua
---local queue = session:queue("/jobs", { capacity = 100000 })
---```
---@param path string a directory for this queue alone; created if missing
---@param options? zkrecipes.QueueOptions
---@return zkrecipes.Queue? queue, string? message, zkrecipes.Code? code "no_memory"
function Session:queue(path, options) end

---FIFO within a priority. An item stays on the servers until it is acked. The algorithm is ours; src/recipes/queue/names.h and the
---files beside it describe it. `format = "simple"` is ZooKeeper's own queue recipe: it has only put, put_all, take, peek, size and
---items; the other methods raise.
---@class zkrecipes.Queue
---@field path string
local Queue = {}

---Puts one item into the queue.
---```lua
---assert(queue:put("resize 17.png", { id = "resize-17" }))
---```
---@async
---@param data string
---@param options? zkrecipes.PutOptions
---@return true? done, string? message "known" when the id was known, zkrecipes.Code? code "full", "too_large", "conflict" (the
---znode at the path is no queue), "connection_loss": the item may be in the queue or not; if it has an id, put it again ...
function Queue:put(data, options) end

---Puts several items into the queue. Up to 100 items go into one request, which puts all of them or none.
---```lua
---assert(queue:put_all { "a", "b", { data = "c", priority = 1 } })
---```
---@async
---@param list (string|zkrecipes.PutEntry)[]
---@param timeout? number seconds for all of it
---@return integer? count how many entries the list has, integer|string|nil known_or_message how many of them had a known id,
---zkrecipes.Code? code as from put: "full" ..., integer? put how many entries, from the first on, were put or known before it failed
function Queue:put_all(list, timeout) end

---Waits for the next item and claims it (at least once). Ack the item; if its consumer dies before that, the item returns to the
---queue.
---```lua
---local item = assert(queue:claim(30))
---if work(item.data) then item:ack() else item:nack(10) end
---```
---@async
---@param timeout? number seconds; 0: do not wait
---@return zkrecipes.Item? item, string? message, zkrecipes.Code? code "timeout", "connection_loss", "full" ...
function Queue:claim(timeout) end

---Acks several items. Up to 100 of them go into one request.
---```lua
---local count, lost = assert(queue:ack_all(items))
---for _, item in ipairs(lost) do print("another consumer does it again: " .. item.data) end
---```
---@async
---@param items zkrecipes.Item[] of this queue; those that were acked before count as acked
---@return integer? acked, zkrecipes.Item[]|string|nil lost_or_message, zkrecipes.Code? code "connection_loss": call it again ...,
---integer? done how many items, from the first on, were acked or lost before it failed
function Queue:ack_all(items) end

---Waits for the next item and removes it from the servers (at most once). In the simple format it returns the data only, no item.
---```lua
---local data = assert(queue:take(30))
---```
---@async
---@param timeout? number seconds; 0: do not wait
---@return string? data, zkrecipes.Item|string|nil item_or_message, zkrecipes.Code? code "timeout", "full",
---"connection_loss": with timeout 0, or an item may have been removed without reaching us ...
function Queue:take(timeout) end

---Returns how many items the queue has, including claimed and delayed items. It does not list them.
---```lua
---print(assert(queue:size()))
---```
---@async
---@param timeout? number seconds; 0: do not wait for a connection; nil: no limit
---@return integer? count, string? message, zkrecipes.Code? code "connection_loss" ...
function Queue:size(timeout) end

---Returns the item that claim would give, without claiming it, or false if there is none.
---```lua
---local entry = queue:peek()
---print(entry and entry.data or "nothing")
---```
---@async
---@return zkrecipes.QueueEntry|false|nil entry, string? message, zkrecipes.Code? code "connection_loss" ...
function Queue:peek() end

---In the simple format an entry has only data and path.
---@class zkrecipes.QueueEntry
---@field data string
---@field id? string
---@field attempts? integer not in the simple format
---@field priority? integer not in the simple format
---@field path string
---@field claimed? boolean not in the simple format
---@field due? integer milliseconds since 1970; delayed items only

---Iterates over all items in order, delayed items last. Raises if a request to the servers fails.
---```lua
---for entry in queue:items() do print(entry.data, entry.claimed) end
---```
---@async
---@return fun(): zkrecipes.QueueEntry?
function Queue:items() end

---Iterates over the dead letters.
---```lua
---for entry in queue:dead() do print(entry.data, entry.attempts) end
---```
---@async
---@return fun(): zkrecipes.QueueEntry?
function Queue:dead() end

---Returns how many dead letters there are.
---```lua
---print(assert(queue:dead_size()))
---```
---@async
---@return integer? count, string? message, zkrecipes.Code? code "connection_loss" ...
function Queue:dead_size() end

---Moves dead letters back into the queue and counts their attempts from 1 again.
---```lua
---print(assert(queue:redrive(100)), "tried again")
---```
---@async
---@param limit? integer move at most so many
---@return integer? count, string? message, zkrecipes.Code? code "connection_loss" ...
function Queue:redrive(limit) end

---Removes the item with this id. After that the id counts as new, but a late request of an earlier put cannot put the item again.
---```lua
---assert(queue:remove("resize-17") ~= nil)
---```
---@async
---@param id string
---@return boolean? removed, string? message, zkrecipes.Code? code "conflict": the item is claimed ...
function Queue:remove(id) end

---@class zkrecipes.Item
---@field data string
---@field id? string
---@field attempts integer 1 for the first claim
---@field priority integer
---@field path string
local Item = {}

---Says that the work is done, and removes the item.
---```lua
---local done, message, code = item:ack()
---if code == "lost" then print("another consumer does it again") end
---```
---@async
---@return true? done, string? message, zkrecipes.Code? code "lost": the item had already returned to the queue;
---"connection_loss": call it again ...
function Item:ack() end

---Gives the item back: without a delay to its old place, with a delay behind all others once the delay has passed. After the last
---attempt the item becomes a dead letter.
---```lua
---assert(item:nack(10))
---```
---@async
---@param delay? number seconds
---@return true? done, string? message, zkrecipes.Code? code "lost", "connection_loss" ...
function Item:nack(delay) end
