---@meta zkrecipes.queue

-- The queue and its items. See docs/recipes/queue.md.

---@class zkrecipes.QueueOptions
---@field capacity? integer more items are refused, or wait; approximate
---@field attempts? integer claims after which an item becomes a dead letter, default 5
---@field format? "simple" the layout of ZooKeeper's own recipe and of Curator's SimpleDistributedQueue

---@class zkrecipes.PutOptions
---@field priority? integer 0 to 65535, lower numbers first, default 0
---@field delay? number seconds until it can be seen
---@field id? string 1 to 200 bytes; put does nothing while the id is known: as long as an item with it is in the queue, and for a
---minute after that was acked or taken
---@field timeout? number seconds for all of it, also for room; 0: do not wait; nil: no limit for room, and
---request_timeout for the rest

---@class zkrecipes.PutEntry
---@field data string
---@field priority? integer
---@field delay? number
---@field id? string

---@class zkrecipes.Session
local Session = {}

---A queue of jobs at this path. Asks no server. While anything refers to a handle, or to an item that it gave, the same path and
---options give the same one.
---```lua
---local queue = session:queue("/jobs", { capacity = 100000 })
---```
---@param path string a directory of its own, made when missing
---@param options? zkrecipes.QueueOptions
---@return zkrecipes.Queue? queue, string? message, zkrecipes.Code? code "no_memory"
function Session:queue(path, options) end

---FIFO within a priority. An item stays on the servers until it is acked. The algorithm is ours, told in recipes/queue/layout.lua and
---its neighbours; that of `format = "simple"` is ZooKeeper's own queue recipe: there are put, put_all, take, peek, size and
---items only, the other methods raise.
---@class zkrecipes.Queue
---@field path string
local Queue = {}

---Queues one item.
---```lua
---assert(queue:put("resize 17.png", { id = "resize-17" }))
---```
---@async
---@param data string
---@param options? zkrecipes.PutOptions
---@return true? done, string? message "known" when the id was known, zkrecipes.Code? code "full", "too_large", "conflict" (what is
---at the path is no queue), "connection_loss": it may or may not be queued; with an id put it again ...
function Queue:put(data, options) end

---Queues several, up to a hundred of them in one request, all or none.
---```lua
---assert(queue:put_all { "a", "b", { data = "c", priority = 1 } })
---```
---@async
---@param list (string|zkrecipes.PutEntry)[]
---@param timeout? number seconds for all of it
---@return integer? count how many entries there were, integer|string|nil known_or_message how many of them had a known id,
---zkrecipes.Code? code as of put: "full" ..., integer? put how many, from the first on, were put or known before it failed
function Queue:put_all(list, timeout) end

---The next item, at least once: ack it, or it comes back when its consumer has died.
---```lua
---local item = assert(queue:claim(30))
---if work(item.data) then item:ack() else item:nack(10) end
---```
---@async
---@param timeout? number seconds; 0: do not wait
---@return zkrecipes.Item? item, string? message, zkrecipes.Code? code "timeout", "connection_loss", "full" ...
function Queue:claim(timeout) end

---The next item, at most once: it is on no server any more. In the simple format there is no item, only its data.
---```lua
---local data = assert(queue:take(30))
---```
---@async
---@param timeout? number seconds; 0: do not wait
---@return string? data, zkrecipes.Item|string|nil item_or_message, zkrecipes.Code? code "timeout", "full",
---"connection_loss": with 0, or an item may have been taken for nobody ...
function Queue:take(timeout) end

---How many items there are, claimed and delayed ones included. No listing.
---```lua
---print(assert(queue:size()))
---```
---@async
---@param timeout? number seconds; 0: do not wait for a connection; nil: no limit
---@return integer? count, string? message, zkrecipes.Code? code "connection_loss" ...
function Queue:size(timeout) end

---What claim would give, or false.
---```lua
---local entry = queue:peek()
---print(entry and entry.data or "nothing")
---```
---@async
---@return zkrecipes.QueueEntry|false|nil entry, string? message, zkrecipes.Code? code "connection_loss" ...
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
---```lua
---for entry in queue:items() do print(entry.data, entry.claimed) end
---```
---@async
---@return fun(): zkrecipes.QueueEntry?
function Queue:items() end

---The dead letters.
---```lua
---for entry in queue:dead() do print(entry.data, entry.attempts) end
---```
---@async
---@return fun(): zkrecipes.QueueEntry?
function Queue:dead() end

---How many dead letters there are.
---```lua
---print(assert(queue:dead_size()))
---```
---@async
---@return integer? count, string? message, zkrecipes.Code? code "connection_loss" ...
function Queue:dead_size() end

---Puts dead letters back, with attempts counted anew.
---```lua
---print(assert(queue:redrive(100)), "tried anew")
---```
---@async
---@param limit? integer
---@return integer? count, string? message, zkrecipes.Code? code "connection_loss" ...
function Queue:redrive(limit) end

---Removes the item with this id, which is not known any more then.
---```lua
---assert(queue:remove("resize-17") ~= nil)
---```
---@async
---@param id string
---@return boolean? removed, string? message, zkrecipes.Code? code "conflict": it is claimed ...
function Queue:remove(id) end

---@class zkrecipes.Item
---@field data string
---@field id? string
---@field attempts integer 1 the first time
---@field priority integer
---@field path string
local Item = {}

---It is done.
---```lua
---local done, message, code = item:ack()
---if code == "lost" then print("somebody does it again") end
---```
---@async
---@return true? done, string? message, zkrecipes.Code? code "lost": it went back to the queue before; "connection_loss": ask
---again ...
function Item:ack() end

---Gives it back: to its place, or behind all others after a delay; to the dead letters after the last attempt.
---```lua
---assert(item:nack(10))
---```
---@async
---@param delay? number seconds
---@return true? done, string? message, zkrecipes.Code? code "lost", "connection_loss" ...
function Item:nack(delay) end
