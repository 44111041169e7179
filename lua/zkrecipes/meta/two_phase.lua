---@meta zkrecipes.two_phase

-- Two-phase commit. See docs/recipes/two_phase.md.

---@class zkrecipes.Session
local Session = {}

---@class zkrecipes.TwoPhaseOptions
---@field keep? number seconds for which an outcome is kept after all have acknowledged it; default 3600

---Makes a handle for the transactions below a path; asks no server.
---```lua
---local transfers = session:two_phase("/transfers")
---```
---@param path string not the root; it need not exist
---@param options? zkrecipes.TwoPhaseOptions
---@return zkrecipes.TwoPhase
function Session:two_phase(path, options) end

---Transactions that several participants commit together or not at all. The algorithm is "Two-phased Commit" of ZooKeeper's page of recipes
---(https://zookeeper.apache.org/doc/current/recipes.html#sc_recipes_twoPhasedCommit), completed by any participant.
---@class zkrecipes.TwoPhase
---@field path string
---@field keep number
---@field session zkrecipes.Session
local TwoPhase = {}

---Runs a transaction, joins one that has this id, or returns its outcome.
---```lua
---local outcome, why, code = transfers:run("order-17", "100 EUR", { "north", "south" }, 30)
---if code then print("call it again with the same arguments:", why) end
---```
---@async
---@param id string any bytes; the same for each repetition
---@param data string what participants get
---@param participants string[] 1 to 1,000 names
---@param timeout number seconds; votes may come for 0.8 of it, or for all but 2 seconds
---@return "committed"|"aborted"|nil outcome, string? why_or_message, zkrecipes.Code? code "conflict": the id belongs to another
---transaction; "connection_loss": the outcome is not known; "too_large", "no_auth", "closed", "canceled" ...
function TwoPhase:run(id, data, participants, timeout) end

---@class zkrecipes.ParticipantFunctions
---@field prepare fun(id: string, data: string): any a true value: yes, and it can commit after a crash too; all else: no
---@field commit fun(id: string, data: string): any called again if it raises, or returns false or nil, message
---@field abort fun(id: string, data: string): any called again if it raises, or returns false or nil, message

---Takes part under this name, in the background, until it is stopped.
---```lua
---local participant = assert(transfers:serve("north", { prepare = reserve, commit = book, abort = cancel }))
---```
---@param name string any bytes
---@param functions zkrecipes.ParticipantFunctions all three
---@return zkrecipes.Participant? participant, string? message, zkrecipes.Code? code "closed"
function TwoPhase:serve(name, functions) end

---Returns the outcome of a transaction; false: the id is not known, or not any more.
---```lua
---print(transfers:outcome("order-17"))
---```
---@async
---@param id string
---@param timeout? number seconds to wait for the answer; 0: do not wait for a connection; default: the session's request_timeout
---@return "open"|"committed"|"aborted"|false|nil outcome, string? why_or_message, zkrecipes.Code? code "conflict": the znode holds no
---transaction; "timeout", "connection_loss", "no_auth" ...
function TwoPhase:outcome(id, timeout) end

---@class zkrecipes.PendingTransaction
---@field id string
---@field state "open"|"committed"|"aborted"
---@field why? string why it was aborted
---@field data string
---@field participants string[]
---@field awaited string[] those that have not voted yet, or have not acknowledged the decision
---@field seconds number the time for votes
---@field since number seconds since 1970, the server's clock

---Returns the transactions that have not ended.
---```lua
---for _, one in ipairs(assert(transfers:pending())) do print(one.id, one.state, table.concat(one.awaited, " ")) end
---```
---@async
---@param timeout? number seconds to wait for the answers; 0: do not wait for a connection; default: the session's request_timeout
---@return zkrecipes.PendingTransaction[]? pending, string? message, zkrecipes.Code? code "conflict", "timeout", "connection_loss",
---"no_auth" ...
function TwoPhase:pending(timeout) end

---What serve gives.
---@class zkrecipes.Participant
---@field name string
---@field path string of the two-phase commit
local Participant = {}

---Begins nothing more, and waits for the functions that run.
---```lua
---assert(participant:stop(30))
---```
---@async
---@param timeout? number seconds
---@return true? ok, string? message, zkrecipes.Code? code "timeout": functions still run
function Participant:stop(timeout) end

---Waits until it has ended: it was stopped, or its session is closed.
---```lua
---participant:wait()
---```
---@async
---@param timeout? number seconds
---@return true? ok, string? message, zkrecipes.Code? code "timeout"
function Participant:wait(timeout) end

---Stops at once and cancels the functions that run. The next serve of this name calls them again.
---@return true
function Participant:close() end
