---@meta zkrecipes.election

-- Elections and terms. See docs/recipes/election.md.

-- ---- Election ----------------------------------------------------------------------------------

---@class zkrecipes.ElectionOptions
---@field value? string what candidates of this object show to others; default ""
---@field fair? boolean default true; false: no order among candidates, and the leader's znode is the path itself
---@field rank? number orders the candidates by rank: the highest leads
---@field quorum? integer with rank: how many candidates there must be before one leads; default 1

---An election: the candidates queue up, and the first leads until it resigns or its session ends. The algorithm is
---"Leader Election" of ZooKeeper's page of recipes (https://zookeeper.apache.org/doc/current/recipes.html#sc_leaderElection);
---participants of Curator's LeaderLatch join the same queue. An election by rank uses the algorithm of Spinnaker (Rao, Shekita,
---Tata 2011).
---@class zkrecipes.Election
---@field path string
---@field value string what this object's candidates show to others; by rank: the rank, a newline, the value
---@field session zkrecipes.Session
local Election = {}

---Becomes a candidate and waits until it is elected.
---```lua
---local term, message, code = election:campaign(30)
---```
---@async
---@param timeout? number seconds; 0: only try; while there is a leader it only reads and writes nothing
---@return zkrecipes.Term? term, string? message, zkrecipes.Code? code as of Lock:acquire: "timeout", "lost" ...
function Election:campaign(timeout) end

---Ends all waiting campaigns of this object, with "canceled".
---```lua
---election:cancel()
---```
---@return integer count
function Election:cancel() end

---Returns the waiting campaigns of this object; sends no request.
---```lua
---for _, attempt in ipairs(election:attempts()) do print(attempt.ahead) end
---```
---@return zkrecipes.Attempt[]
function Election:attempts() end

---@class zkrecipes.Leader
---@field value? string nil: another program has stored null
---@field ready boolean the leader has called term:ready()
---@field rank? number in an election by rank
---@field token string fencing token of its term: larger for every later leader
---@field session string id of its session
---@field since number seconds since 1970, the server's clock: when it became a candidate

---Returns the leader; costs one read while the leader stays the same. nil without a message: there is no leader.
---```lua
---local leader, message, code = election:leader()
---if leader then print(leader.value, leader.ready) elseif not code then print("no leader") end
---```
---@async
---@param timeout? number seconds to wait for the answer; 0: do not wait for a connection; default: the session's request_timeout
---@return zkrecipes.Leader? leader, string? message, zkrecipes.Code? code "connection_loss", "no_auth" ...
function Election:leader(timeout) end

---Iterates over the leaders: the present one, then each later one, also when the leader changes its value or becomes ready; `false`
---while there is no leader. It continues after reconnects and expiry and ends when the session is closed. The iterator waits, so on
---plain Lua 5.1 use next_leader in a loop.
---```lua
---for leader in election:observe() do print(leader and leader.value or "no leader") end
---```
---@async
---@return fun(): zkrecipes.Leader|false|nil
function Election:observe() end

---One step of observe().
---```lua
---local leader, seen = election:next_leader(0)
---while leader ~= nil do
---  print(leader and leader.value or "no leader")
---  leader, seen = election:next_leader(seen)
---end
---```
---@async
---@param seen integer how many changes you have seen: 0 at first, then the number that the last call returned
---@return zkrecipes.Leader|false|nil leader, integer|string seen_or_message, zkrecipes.Code? code "closed", "no_auth", "full" ...
function Election:next_leader(seen) end

---@class zkrecipes.Candidate: zkrecipes.Leader
---@field leading boolean
---@field path string of its znode

---Returns the candidates in order, the leader first.
---```lua
---for i, one in ipairs(assert(election:candidates())) do print(i, one.value, one.leading) end
---```
---@async
---@param timeout? number seconds to wait for the answer; 0: do not wait for a connection; default: the session's request_timeout
---@return zkrecipes.Candidate[]? candidates, string? message, zkrecipes.Code? code "connection_loss", "no_auth" ...
function Election:candidates(timeout) end

---In an election by rank: changes the rank of this object's candidates, present and later ones. Those that wait get new znodes. If it fails
---or is stopped, they go on without it.
---```lua
---assert(election:update_rank(4712))
---```
---@async
---@param rank number a whole number
---@return true? ok, string? message, zkrecipes.Code? code "connection_loss", "lost" ...
function Election:update_rank(rank) end

---@class zkrecipes.LeadOptions
---@field cooldown? number seconds to wait after a term before the next campaign; default 0
---@field backoff? number seconds to wait after the first error, doubled by every further error; default 1
---@field backoff_max? number seconds: upper limit of that wait; default 30
---@field on_error? fun(problem: any) default: errors are reported like those of spawned functions

---Campaigns, runs fn(term), resigns, and campaigns again, until it is stopped. When the term is lost, lead stops fn: a waiting term:sleep
---returns, every other wait raises zk.canceled. If fn raises an error, lead resigns, reports the error, and waits (`backoff`).
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

---@class zkrecipes.EveryOptions: zkrecipes.CronOptions
---@field remember? boolean true: the last run is kept in ZooKeeper, and the next leader goes on from there; default false

---A timer that fires on the leader only: at once after the election, then every `seconds` from there. If fn runs for longer, the
---times that it misses are skipped. All else is as in lead. With `remember` the next leader neither repeats a beat nor forgets one.
---```lua
---election:every(60, function(term) clean_up(term.token) end)
---election:every(3600, function(term, beat) count_up(term, beat.missed + 1) end, { remember = true })
---```
---@async
---@param seconds number 0.001 or more
---@param fn fun(term: zkrecipes.Term, beat: zkrecipes.Beat?) beat: only with `remember`
---@param options? zkrecipes.EveryOptions
---@return nil, string message, zkrecipes.Code code as from lead: "canceled" ...
function Election:every(seconds, fn, options) end

---@class zkrecipes.CronOptions: zkrecipes.LeadOptions
---@field catch_up? "once"|"none" once (default): one call makes up at once for all beats that have passed; none: they are left out
---@field recover? boolean true: the beat of a run that was cut is called again; default false

---What a timer that remembers tells its function.
---@class zkrecipes.Beat
---@field due number the beat: seconds since 1970, the servers' clock
---@field missed integer how many beats before this one were not called
---@field last? zkrecipes.LastRun nil before the first run
---@field again? true this beat has begun before, and its run was cut (`recover`)

---@class zkrecipes.LastRun
---@field due number the beat of the run
---@field outcome "done"|"failed"|"cut" cut: its process died, or its term ended, before the function returned

---A timer that fires on the leader only, at the times of a cron expression, in UTC. It remembers: the next leader neither repeats a beat
---nor forgets one. The record is kept in the znode `<path>-timer`. The syntax is that of crontab(5).
---```lua
---election:cron("0 3 * * *", function(term, beat) report(beat.due) end)
---```
---@async
---@param expression string minute, hour, day of month, month, day of week
---@param fn fun(term: zkrecipes.Term, beat: zkrecipes.Beat)
---@param options? zkrecipes.CronOptions
---@return nil, string message, zkrecipes.Code code as from lead: "canceled" ...
function Election:cron(expression, fn, options) end

---Ends every lead(), every() and cron() of this object: it stops their functions, and each call returns when its function has ended.
---```lua
---election:stop()
---```
---@return integer count
function Election:stop() end

-- ---- Term --------------------------------------------------------------------------------------

---What campaign gives: one leader's time in office. It ends when the session ends, with resign, at the end of the scope of a
---`local term <close>`, and when it is collected as garbage.
---@class zkrecipes.Term
---@field token string fencing token: larger for every later leader
---@field path string of its znode
---@field since number zk.now() when it was elected
local Term = {}

---Ends the term. It returns at once; the library deletes the znode afterwards, and repeats that until it is certain. You may call it
---again.
---With a successor it first waits until no other candidate can lead next: the candidates in between leave the queue and join it
---again at its end. Then the term ends. If this fails, the term continues. In an election by rank no candidate needs to leave. In an
---election without order (`fair = false`) a successor is misuse.
---```lua
---local candidates = election:candidates()
---if candidates[3] then term:resign(candidates[3], 10) end
---```
---@param successor? zkrecipes.Candidate
---@param timeout? number seconds; 0: only if no candidate is in between
---@return true? ok, string? message, zkrecipes.Code? code "no_node": the successor is no candidate any more; "timeout": a candidate is
---still in between; "lost", "closed": the term is over ...
function Term:resign(successor, timeout) end

---Returns true if we certainly still lead. No round trip. It returns false before the servers can let another candidate lead.
---```lua
---if term:valid() then send(job, term.token) end
---```
---@return boolean
function Term:valid() end

---Returns for how many seconds the term certainly stays valid if no server answers any more; 0 if it is not valid. No round trip.
---@return number
function Term:left() end

---Sleeps, but at most until the term ends.
---```lua
---while term:sleep(1) do work(term) end
---```
---@async
---@param seconds number
---@return true? ok, string? message, zkrecipes.Code? code "lost": the term is over; or a code as of Hold:lost, for example
---"full"
function Term:sleep(seconds) end

---Changes the value that this term shows to others.
---```lua
---assert(term:proclaim("10.0.0.7:8081"))
---```
---@async
---@param value string
---@return true? ok, string? message, zkrecipes.Code? code "lost", "too_large" ...
function Term:proclaim(value) end

---Tells observers that the leader has finished its preparations: leader().ready becomes true.
---```lua
---prepare()
---assert(term:ready())
---```
---@async
---@return true? ok, string? message, zkrecipes.Code? code "lost", "too_large" ...
function Term:ready() end

---Waits until the term ends.
---```lua
---print("over:", term:lost())
---```
---@async
---@param timeout? number seconds
---@return "lost"|"closed"|"released"|nil why, string? message, zkrecipes.Code? code as of Hold:lost: "timeout" ...
function Term:lost(timeout) end

---Runs fn(term, why) in a coroutine when the term is lost or its session is closed, but not when it is resigned.
---```lua
---assert(term:on_lost(function(_, why) print("stop:", why) end))
---```
---@param fn fun(term: zkrecipes.Term, why: "lost"|"closed")
---@return true? ok, string? message, zkrecipes.Code? code "forked", "no_memory"
function Term:on_lost(fn) end

---Creates a znode, only if the term still exists. Every write through a term also checks the term's znode on the server: after the
---term was lost the write fails with "lost" and changes nothing.
---```lua
---assert(term:create("/plans/p-", "42", { sequential = true }))
---```
---@async
---@param path string
---@param data? string
---@param options? zkrecipes.GuardedCreateOptions
---@return string? path, string? message, zkrecipes.Code? code "lost", or as of Session:create
function Term:create(path, data, options) end

---Writes a znode's data, only if the term still exists.
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

---Deletes a znode, only if the term still exists.
---```lua
---assert(term:delete("/plans/p-0000000003"))
---```
---@async
---@param path string
---@param version? integer
---@param options? zkrecipes.RequestOptions
---@return true? ok, string? message, zkrecipes.Code? code "lost", or as of Session:delete
function Term:delete(path, version, options) end

---Does all parts if the term still exists, or none.
---```lua
---assert(term:multi { { "set", "/head", "b" }, { "create", "/log/b", "" } })
---```
---@async
---@param parts zkrecipes.Part[]
---@param options? zkrecipes.RequestOptions
---@return (string|zkrecipes.Stat|true)[]? results, string? message, zkrecipes.Code? code "lost", or as of Session:multi
function Term:multi(parts, options) end
