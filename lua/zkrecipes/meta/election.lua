---@meta zkrecipes.election

-- Elections and terms. See docs/recipes/election.md.

-- ---- Election ----------------------------------------------------------------------------------

---@class zkrecipes.ElectionOptions
---@field value? string what candidates of this object show to others; default ""
---@field fair? boolean default true; false: no order, the path itself is the leader's znode
---@field rank? number the candidates are ordered by rank, the highest leads
---@field quorum? integer with rank: so many must stand; default 1

---An election: the candidates stand in line, the first one leads until it resigns or its session is over. The algorithm
---is "Leader Election" of ZooKeeper's page of recipes (https://zookeeper.apache.org/doc/current/recipes.html#sc_leaderElection);
---participants of Curator's LeaderLatch stand in the same line. By rank it is that of Spinnaker (Rao, Shekita, Tata 2011).
---@class zkrecipes.Election
---@field path string
---@field value string what this object's candidates show to others; by rank: the rank, a newline, the value
---@field session zkrecipes.Session
local Election = {}

---Stands, and waits until it is elected.
---```lua
---local term, message, code = election:campaign(30)
---```
---@async
---@param timeout? number seconds; 0: only try; reads, and writes nothing while somebody leads
---@return zkrecipes.Term? term, string? message, zkrecipes.Code? code as of Lock:acquire: "timeout", "lost" ...
function Election:campaign(timeout) end

---Ends all campaigns of this object that wait, with "canceled".
---```lua
---election:cancel()
---```
---@return integer count
function Election:cancel() end

---The campaigns of this object that wait now; asks no server.
---```lua
---for _, attempt in ipairs(election:attempts()) do print(attempt.ahead) end
---```
---@return zkrecipes.Attempt[]
function Election:attempts() end

---@class zkrecipes.Leader
---@field value? string nil: another program has stored null
---@field ready boolean it has said that it is ready
---@field rank? number in an election by rank
---@field token string of its term: larger for every later leader
---@field session string id of its session
---@field since number seconds since 1970, the server's clock: when it stood

---Who leads: one read, as long as it is the same one. nil alone: nobody leads.
---```lua
---local leader, message, code = election:leader()
---if leader then print(leader.value, leader.ready) elseif not code then print("nobody") end
---```
---@async
---@param timeout? number seconds to wait for the answer; 0: do not wait for a connection; default: the session's request_timeout
---@return zkrecipes.Leader? leader, string? message, zkrecipes.Code? code "connection_loss", "no_auth" ...
function Election:leader(timeout) end

---Who leads now, then every later leader, and every new value and readiness of one; `false` when nobody leads. Goes on
---over reconnects and expiry, ends when the session is closed. Waits, so on plain Lua 5.1 use next_leader in a loop.
---```lua
---for leader in election:observe() do print(leader and leader.value or "nobody") end
---```
---@async
---@return fun(): zkrecipes.Leader|false|nil
function Election:observe() end

---One step of observe().
---```lua
---local leader, seen = election:next_leader(0)
---while leader ~= nil do
---  print(leader and leader.value or "nobody")
---  leader, seen = election:next_leader(seen)
---end
---```
---@async
---@param seen integer how many changes were seen: 0, then what the last call returned
---@return zkrecipes.Leader|false|nil leader, integer|string seen_or_message, zkrecipes.Code? code "closed", "no_auth", "full" ...
function Election:next_leader(seen) end

---@class zkrecipes.Candidate: zkrecipes.Leader
---@field leading boolean
---@field path string of its node

---Who stands, in order: the leader first.
---```lua
---for i, one in ipairs(assert(election:candidates())) do print(i, one.value, one.leading) end
---```
---@async
---@param timeout? number seconds to wait for the answer; 0: do not wait for a connection; default: the session's request_timeout
---@return zkrecipes.Candidate[]? candidates, string? message, zkrecipes.Code? code "connection_loss", "no_auth" ...
function Election:candidates(timeout) end

---In an election by rank: another rank for this object's candidates, those that stand and later ones.
---```lua
---assert(election:update_rank(4712))
---```
---@async
---@param rank number a whole one
---@return true? ok, string? message, zkrecipes.Code? code "lost", "too_large" ...
function Election:update_rank(rank) end

---@class zkrecipes.LeadOptions
---@field cooldown? number seconds to stay away after a term, default 0
---@field backoff? number seconds to stay away after the first error, doubled by every further one; default 1
---@field backoff_max? number the most of that; default 30
---@field on_error? fun(problem: any) default: the error goes where those of spawned functions go

---Campaigns, runs fn(term), resigns, campaigns again, for ever. When the term is lost, fn is stopped: a term:sleep that
---waits returns, every other wait raises zk.canceled. An error of fn resigns, is reported, and backs off.
---```lua
---election:lead(function(term)
---  prepare()
---  term:ready()
---  while term:sleep(1) do work(term) end
---end)
---```
---@async
---@param fn fun(term: zkrecipes.Term)
---@param options? zkrecipes.LeadOptions
---@return nil, string message, zkrecipes.Code code "canceled" after stop(), "closed", "too_large", "no_auth" ...
function Election:lead(fn, options) end

---A timer that fires on the leader only: at once when elected, then at multiples of `seconds` since; what a long run
---misses is left out. Otherwise as lead.
---```lua
---election:every(60, function(term) clean_up(term.token) end)
---```
---@async
---@param seconds number
---@param fn fun(term: zkrecipes.Term)
---@param options? zkrecipes.LeadOptions
---@return nil, string message, zkrecipes.Code code as of lead: "canceled" ...
function Election:every(seconds, fn, options) end

---Ends every lead() and every() of this object: their functions are stopped, and they return when these have ended.
---```lua
---election:stop()
---```
---@return integer count
function Election:stop() end

-- ---- Term --------------------------------------------------------------------------------------

---One leader's time. Ends with the session, with resign, at the end of a `local term <close>`, and when it is collected.
---@class zkrecipes.Term
---@field token string fencing token: larger for every later leader
---@field path string of its node
---@field since number zk.now() when it was elected
local Term = {}

---Ends it; returns at once, the server is told behind it, until that is certain. May be called again.
---With a successor it waits until nobody else can lead next: those who stand between step aside, and stand again at the
---end; then it ends. Or it fails, and the term goes on. By rank nobody needs to step aside. Without a queue it is misuse.
---```lua
---local candidates = election:candidates()
---if candidates[3] then term:resign(candidates[3], 10) end
---```
---@param successor? zkrecipes.Candidate
---@param timeout? number seconds; 0: only if nobody stands between
---@return true? ok, string? message, zkrecipes.Code? code "no_node": it does not stand any more; "timeout": somebody stands
---between still; "lost", "closed": the term is over ...
function Term:resign(successor, timeout) end

---Surely still leading? No round trip; says no before the server can have let another one lead.
---```lua
---if term:valid() then send(job, term.token) end
---```
---@return boolean
function Term:valid() end

---For how many seconds it surely stays valid if no server answers any more; 0 when it is not. No round trip.
---@return number
function Term:left() end

---Sleeps, but not longer than the term lasts.
---```lua
---while term:sleep(1) do work(term) end
---```
---@async
---@param seconds number
---@return true? ok, string? message, zkrecipes.Code? code "lost": the term is over; else as of Hold:lost, "full" for instance
function Term:sleep(seconds) end

---Shows another value, in this term.
---```lua
---assert(term:proclaim("10.0.0.7:8081"))
---```
---@async
---@param value string
---@return true? ok, string? message, zkrecipes.Code? code "lost", "too_large" ...
function Term:proclaim(value) end

---Says that what there was to do at the start is done: leader().ready.
---```lua
---prepare()
---assert(term:ready())
---```
---@async
---@return true? ok, string? message, zkrecipes.Code? code "lost", "too_large" ...
function Term:ready() end

---Waits until it is over.
---```lua
---print("over:", term:lost())
---```
---@async
---@param timeout? number seconds
---@return "lost"|"closed"|"released"|nil why, string? message, zkrecipes.Code? code as of Hold:lost: "timeout" ...
function Term:lost(timeout) end

---Runs fn(term, why) in a coroutine when it is lost or its session closed; not when it is resigned.
---```lua
---assert(term:on_lost(function(_, why) print("stop:", why) end))
---```
---@param fn fun(term: zkrecipes.Term, why: "lost"|"closed")
---@return true? ok, string? message, zkrecipes.Code? code "forked", "no_memory"
function Term:on_lost(fn) end

---The writes of a term carry a check of its own node: after it was lost they fail with "lost" and change nothing.
---```lua
---assert(term:create("/plans/p-", "42", { sequential = true }))
---```
---@async
---@param path string
---@param data? string
---@param options? zkrecipes.GuardedCreateOptions
---@return string? path, string? message, zkrecipes.Code? code "lost", or as of Session:create
function Term:create(path, data, options) end

---Writes the data, if it still leads.
---```lua
---assert(term:set("/reports/today", "done"))
---```
---@async
---@param path string
---@param data? string
---@param version? integer
---@param options? zkrecipes.RequestOptions
---@return zkrecipes.Stat? stat, string? message, zkrecipes.Code? code "lost", or as of Session:set
function Term:set(path, data, version, options) end

---Deletes, if it still leads.
---```lua
---assert(term:delete("/plans/p-0000000003"))
---```
---@async
---@param path string
---@param version? integer
---@param options? zkrecipes.RequestOptions
---@return true? ok, string? message, zkrecipes.Code? code "lost", or as of Session:delete
function Term:delete(path, version, options) end

---All of it if it still leads, or nothing.
---```lua
---assert(term:multi { { "set", "/head", "b" }, { "create", "/log/b", "" } })
---```
---@async
---@param parts zkrecipes.Part[]
---@param options? zkrecipes.RequestOptions
---@return (string|zkrecipes.Stat|true)[]? results, string? message, zkrecipes.Code? code "lost", or as of Session:multi
function Term:multi(parts, options) end
