---@meta zkrecipes.barrier

-- Barriers and latches. See docs/recipes/barrier.md.

-- ---- The single barrier ------------------------------------------------------------------------

---Closed while its znode is there ("Barriers" of ZooKeeper's page of recipes,
---https://zookeeper.apache.org/doc/current/recipes.html#sc_recipes_eventHandles).
---@class zkrecipes.Barrier
---@field path string
local Barrier = {}

---Idempotent.
---@async
---@return true? ok, string? message, zkrecipes.Code? code
function Barrier:close() end

---Lets all go on that wait. Idempotent.
---@async
---@return true? ok, string? message, zkrecipes.Code? code
function Barrier:open() end

---Waits until it is open.
---```lua
---assert(session:barrier("/jobs/paused"):wait())
---```
---@async
---@param timeout? number seconds; 0: only look
---@return true? open, string? message, zkrecipes.Code? code
function Barrier:wait(timeout) end

-- ---- The latch ---------------------------------------------------------------------------------

---Opens for ever when it was counted down n times.
---@class zkrecipes.Latch
---@field path string
local Latch = {}

---Counts once, also when the answer is lost on the way.
---@async
---@return integer? left, string? message, zkrecipes.Code? code
function Latch:count_down() end

---@async
---@return integer? left, string? message, zkrecipes.Code? code
function Latch:count() end

---Waits until it was counted down n times.
---@async
---@param timeout? number seconds; 0: only look
---@return true? open, string? message, zkrecipes.Code? code
function Latch:wait(timeout) end

-- ---- Members that go on together ---------------------------------------------------------------

---n members go on together, again and again. Any number of coroutines may wait with one object.
---@class zkrecipes.CyclicBarrier
---@field path string
local CyclicBarrier = {}

---Waits until n have come.
---@async
---@param timeout? number seconds
---@return true? together, string? message, zkrecipes.Code? code
function CyclicBarrier:wait(timeout) end

---n members begin together and end together ("Double Barriers" of ZooKeeper's page of recipes,
---https://zookeeper.apache.org/doc/current/recipes.html#sc_doubleBarriers). One object is one member.
---@class zkrecipes.DoubleBarrier
---@field path string
local DoubleBarrier = {}

---Waits until n have come.
---@async
---@param timeout? number seconds
---@return true? together, string? message, zkrecipes.Code? code
function DoubleBarrier:enter(timeout) end

---Waits until all others of the round have left or died.
---@async
---@param timeout? number seconds
---@return true? together, string? message, zkrecipes.Code? code
function DoubleBarrier:leave(timeout) end
