---@meta zkrecipes.barrier

-- Barriers and latches. See docs/recipes/barrier.md.

-- ---- The single barrier ------------------------------------------------------------------------

---The barrier is closed while its znode exists ("Barriers" of ZooKeeper's page of recipes,
---https://zookeeper.apache.org/doc/current/recipes.html#sc_recipes_eventHandles).
---@class zkrecipes.Barrier
---@field path string
local Barrier = {}

---Closes the barrier by creating its znode. Idempotent.
---```lua
---assert(session:barrier("/jobs/paused"):close())
---```
---@async
---@param timeout? number seconds; 0: do not wait for a connection; nil: no limit
---@return true? ok, string? message, zkrecipes.Code? code "no_auth", "closed" ...
function Barrier:close(timeout) end

---Opens the barrier by deleting its znode: all waiting coroutines continue. Idempotent.
---```lua
---assert(session:barrier("/jobs/paused"):open())
---```
---@async
---@param timeout? number seconds; 0: do not wait for a connection; nil: no limit
---@return true? ok, string? message, zkrecipes.Code? code "no_auth", "closed" ...
function Barrier:open(timeout) end

---Waits until the barrier is open.
---```lua
---assert(session:barrier("/jobs/paused"):wait())
---```
---@async
---@param timeout? number seconds; 0: only check
---@return true? open, string? message, zkrecipes.Code? code "timeout", "connection_loss", "closed", "full", "no_auth" ...
function Barrier:wait(timeout) end

-- ---- The latch ---------------------------------------------------------------------------------

---A latch stays open after n calls of count_down. The algorithm is ours: one request counts; it writes the latch's znode, on
---the condition that the znode's version is the number of counts so far, and creates a znode for this count.
---@class zkrecipes.Latch
---@field path string
local Latch = {}

---Counts down by one: exactly once, even if the answer is lost.
---```lua
---assert(session:latch("/deploy/ready", 3):count_down())
---```
---@async
---@param timeout? number seconds; 0: do not wait for a connection; nil: no limit
---@return integer? left, string? message, zkrecipes.Code? code "conflict": it was created for another number; "no_auth", "closed" ...
function Latch:count_down(timeout) end

---Returns how many counts are missing.
---```lua
---print(session:latch("/deploy/ready", 3):count())
---```
---@async
---@param timeout? number seconds; 0: do not wait for a connection; nil: no limit
---@return integer? left, string? message, zkrecipes.Code? code "conflict", "no_auth", "closed" ...
function Latch:count(timeout) end

---Waits until the latch was counted down n times.
---```lua
---assert(session:latch("/deploy/ready", 3):wait(60))
---```
---@async
---@param timeout? number seconds; 0: only check
---@return true? open, string? message, zkrecipes.Code? code "timeout", "connection_loss", "conflict" (it was created for another
---n), "closed", "full", "no_auth" ...
function Latch:wait(timeout) end

-- ---- Members that go on together ---------------------------------------------------------------

---n members continue together, again and again. The algorithm is the double barrier without its second half. Any number of
---coroutines may wait through one object.
---@class zkrecipes.CyclicBarrier
---@field path string
local CyclicBarrier = {}

---Waits until n members wait.
---```lua
---local step = session:cyclic_barrier("/simulation/step", 4)
---for _ = 1, 10 do assert(step:wait(60)) end
---```
---@async
---@param timeout? number seconds
---@return true? together, string? message, zkrecipes.Code? code "timeout", "connection_loss", "conflict" (other members wait for
---another n), "lost", "closed", "full", "no_auth" ...
---@return integer? came with "timeout": how many members were waiting when this one gave up, itself included
function CyclicBarrier:wait(timeout) end

---n members begin together and end together ("Double Barriers" of ZooKeeper's page of recipes,
---https://zookeeper.apache.org/doc/current/recipes.html#sc_doubleBarriers). One object is one member.
---@class zkrecipes.DoubleBarrier
---@field path string
local DoubleBarrier = {}

---Waits until n members have entered.
---```lua
---local phase = session:double_barrier("/import", 4)
---assert(phase:enter(60)) -- all begin together
---assert(phase:leave())   -- none goes on before all have ended
---```
---@async
---@param timeout? number seconds
---@return true? together, string? message, zkrecipes.Code? code "timeout", "connection_loss", "conflict" (other members wait for
---another n), "lost", "closed", "full", "no_auth" ...
---@return integer? came with "timeout": how many members were waiting when this one gave up, itself included
function DoubleBarrier:enter(timeout) end

---Waits until all other members of the round have left, died or given up. Returns how many members of the round did not leave; every
---member that leaves gets the same number. The number is nil if it cannot be known: the session was lost and the round is gone.
---```lua
---local ok, dead, code = phase:leave(60)
---if code == "timeout" then ok, dead = phase:leave() end -- it has left; goes on waiting
---assert(ok and dead == 0, "some have not ended their work")
---```
---@async
---@param timeout? number seconds
---@return true? together, integer|string|nil dead_or_message, zkrecipes.Code? code "timeout", "connection_loss", "closed", "full",
---"no_auth" ...
function DoubleBarrier:leave(timeout) end
