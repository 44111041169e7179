---@meta zkrecipes.sim

-- A simulated ZooKeeper with its clients, in virtual time, for tests. See docs/sim.md.

---@class zkrecipes.sim
local sim = {}

---@class zkrecipes.sim.Options
---@field seed? integer default 1; the same seed and the same program give the same history
---@field servers? integer 1 to 9, default 3; server 1 is the leader
---@field tick_time? integer milliseconds, default 2000; sessions last from 2 to 20 of them
---@field container_interval? integer milliseconds between two sweeps for empty containers and overdue `ttl` nodes,
---default 60000
---@field latency? number seconds that a message takes at least, default 0.0002
---@field jitter? number ... and up to so much more, default 0.0004
---@field limit? number seconds of virtual time after which a run is given up, default 86400
---@field trace? boolean|fun(line: string) true: a line for everything that happens goes to standard error

---A world: servers, and one client process, `world.zk`. Needs no ZooKeeper, no Java and no time.
---```lua
---local world = require("zkrecipes.sim").new{ seed = 1 }
---world:run(function()
---  local session = world:session()
---  local hold = assert(session:lock("/job"):acquire())
---  world:expire(session)
---  assert(hold:lost() == "lost")
---end)
---```
---@param options? zkrecipes.sim.Options
---@return zkrecipes.sim.World
function sim.new(options) end

---A session stands for itself, or, where a fault can only befall a whole process, for its process; the module of a
---process (`world.zk`, `world:process()`) for the process with all its sessions.
---@alias zkrecipes.sim.Who zkrecipes.Session|zkrecipes

---@alias zkrecipes.sim.Kind "any"|"create"|"delete"|"exists"|"get"|"set"|"children"|"sync"|"get_acl"|"set_acl"
---| "add_auth"|"reconfig"|"multi"

---@class zkrecipes.sim.World
---@field zk zkrecipes the whole module in a simulated process: hand it to the program under test
local World = {}

-- ---- Programs and time -------------------------------------------------------------------------

---One more client process.
---```lua
---local a, b = world:process(), world:process()
---a.spawn(program, a)
---b.spawn(program, b)
---```
---@return zkrecipes zk the module in that process; what it spawns belongs to the process
function World:process() end

---A session in a process of its own.
---@param options? zkrecipes.SessionOptions `hosts` is not looked at
---@return zkrecipes.Session? session, string? message, zkrecipes.Code? code "forked", "no_memory"
function World:session(options) end

---Runs `fn` until it and all that was spawned in the world have ended, then closes the sessions that were opened
---meanwhile. `fn` is the test: it belongs to no process. Raises what `fn` or any coroutine raised, and when the
---world's `limit` has passed.
---@param fn fun(): ...
---@param options? zkrecipes.RunOptions `fail_fast` is true unless told otherwise
---@return any ... what fn returned
function World:run(fn, options) end

---Lets so much time pass, and all within it happen.
---```lua
---world:run(function() world:advance(3600) end)
---```
---@async
---@param seconds number
function World:advance(seconds) end

---How much time has passed.
---@return number seconds since the world began
function World:now() end

-- ---- Faults of client processes ----------------------------------------------------------------

---The servers end the session; its client is told when it next hears of them. Of a process: all its sessions.
---@param who zkrecipes.sim.Who
---@return integer ended how many; sessions that are not established do not count
function World:expire(who) end

---The connection breaks; what is on its way is lost. It is made again at once.
---@param who zkrecipes.sim.Who
function World:cut(who) end

---The connections of the process break and cannot be made, until they are healed.
---@param who zkrecipes.sim.Who
function World:disconnect(who) end

---Messages of the process are held, and nobody is told; until they are healed.
---@param who zkrecipes.sim.Who
---@param direction? "both"|"to_server"|"to_client" default "both"
function World:partition(who, direction) end

---Ends disconnect and partition; of everybody when nobody is named, and then also what befell the servers, and faults
---at random. Pauses go on, and plans stay.
---@param who? zkrecipes.sim.Who
function World:heal(who) end

---Stops the process, as SIGSTOP does: it takes and sends nothing, and its coroutines stand still.
---@param who zkrecipes.sim.Who
---@param seconds number at most 86400; a pause that would end earlier than the present one does nothing
function World:pause(who, seconds) end

---The process's next connection goes to this server, at once.
---@param who zkrecipes.sim.Who
---@param server integer
function World:move(who, server) end

-- ---- Faults of single requests -----------------------------------------------------------------

---A request is not done, and the connection breaks.
---@param who zkrecipes.sim.Who
---@param kind? zkrecipes.sim.Kind default "any"
---@param nth? integer default 1: the next one of this kind
function World:lose_request(who, kind, nth) end

---A request is done, but the connection breaks before the answer comes.
---```lua
---world:lose_reply(session, "create")
---local hold = assert(session:lock("/job"):acquire())
---assert(#world:children("/job") == 1)
---```
---@param who zkrecipes.sim.Who
---@param kind? zkrecipes.sim.Kind default "any"
---@param nth? integer default 1: the next one of this kind
function World:lose_reply(who, kind, nth) end

---@class zkrecipes.sim.Plan
---@field kind? zkrecipes.sim.Kind default "any"
---@field nth? integer default 1: the next one of this kind
---@field seconds? number of the fault, default 0
---@field down? number seconds for which no connection can be made after the fault broke one, default 0

---@alias zkrecipes.sim.Fault
---| "lose_request"
---| "lose_reply"
---| "late_request" # the connection breaks; the request arrives `seconds` later, unless the session has a new one
---| "delay"        # it arrives `seconds` late, and all behind it
---| "cut"          # the connection breaks `seconds` after it was sent
---| "expire"       # the session is ended when it is sent
---| "pause"        # the process stops for `seconds` after sending it
---| "new_session"  # as "cut", and the reconnect is answered with another session; the old one expires on its own

---What befalls one request to come.
---@param who zkrecipes.sim.Who
---@param fault zkrecipes.sim.Fault
---@param options? zkrecipes.sim.Plan
function World:plan(who, fault, options) end

---How many faults of single requests have not come to pass yet, in this process.
---@param who zkrecipes.sim.Who
---@return integer
function World:planned(who) end

-- ---- Faults of servers, and at random ----------------------------------------------------------

---The server stops, as by SIGSTOP or a long garbage collection; then it goes on. No other leader is elected.
---@param server integer
---@param seconds number
function World:pause_server(server, seconds) end

---The server is down. With server 1, the leader, all are: no other is elected.
---@param server integer
function World:stop_server(server) end

---It is up again, and hears the leader.
---@param server integer
function World:start_server(server) end

---The server hears nothing of the leader. It answers reads for five ticks, then nobody.
---@param server integer not 1
function World:isolate_server(server) end

---The server applies every change so much after the leader.
---@param server integer not 1
---@param seconds number
function World:lag(server, seconds) end

---Shares of all requests, 0 to 1; a request meets one of them at most. Times are drawn from 0 to the maximum.
---@class zkrecipes.sim.Faults
---@field lose_request? number
---@field lose_reply? number
---@field late_request? number
---@field delay? number
---@field cut? number
---@field expire? number
---@field pause? number
---@field new_session? number
---@field lag? number not a fault of the request: the lag of a server changes
---@field max_delay? number seconds: delay, late_request, cut, new_session
---@field max_down? number seconds for which no connection can be made after one broke
---@field max_pause? number seconds
---@field max_lag? number seconds

---From now on faults befall requests at random, as the seed decides; nil: none any more, and no server lags.
---@param faults? zkrecipes.sim.Faults
function World:faults(faults) end

-- ---- Looking -----------------------------------------------------------------------------------

---A znode as the leader has it; nothing when there is none. Asks nobody, takes no time. Paths are whole: with the
---session's namespace.
---@param path string
---@return string? data, zkrecipes.Stat? stat
function World:get(path) end

---The names of its children.
---@param path string
---@return string[]? names in order; nil: there is no such znode
function World:children(path) end

---A line for the znode and each below it, parents first; for messages of failing tests.
---@param path? string default "/"
---@return string
function World:dump(path) end

---Requests that were sent since the world began, by a process or by all; without heartbeats.
---@param who? zkrecipes.sim.Who
---@param kind? zkrecipes.sim.Kind default "any"
---@return integer
function World:requests(who, kind) end

---How many watches there are.
---@return integer count of watches on all servers
function World:watches() end

---How many sessions there are.
---@return integer count of sessions that the servers have not ended
function World:sessions() end

---Whether the servers still know this session.
---@param id string session.id, also of a session that is over
---@return boolean alive the servers have not ended it
function World:alive(id) end

return sim
