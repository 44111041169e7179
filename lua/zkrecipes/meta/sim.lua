---@meta zkrecipes.sim

-- A simulated ZooKeeper with its clients, in virtual time, for tests. See docs/sim.md.

---@class zkrecipes.sim
local sim = {}

---@class zkrecipes.sim.Options
---@field seed? integer default 1; the same seed and program always give the same history
---@field servers? integer 1 to 9, default 3; server 1 is the leader
---@field tick_time? integer milliseconds, default 2000; sessions last from 2 to 20 of them
---@field container_interval? integer milliseconds between two sweeps for empty containers and expired `ttl` znodes,
---default 60000
---@field latency? number seconds that a message takes at least, default 0.0002
---@field jitter? number seconds that a message takes at most in addition, at random, default 0.0004
---@field limit? number seconds of virtual time after which a run is aborted, default 86400
---@field trace? boolean|fun(line: string) true: print a line to standard error for each event

---Creates a world: servers, and one client process, `world.zk`. It needs no ZooKeeper and no Java, and waiting takes no real time.
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

---What a fault applies to. A session means this session, or its whole process for faults that only whole processes can have. The
---module of a process (`world.zk`, `world:process()`) means the process with all its sessions.
---@alias zkrecipes.sim.Who zkrecipes.Session|zkrecipes

---@alias zkrecipes.sim.Kind "any"|"create"|"delete"|"exists"|"get"|"set"|"children"|"sync"|"get_acl"|"set_acl"
---| "add_auth"|"reconfig"|"multi"

---@class zkrecipes.sim.World
---@field zk zkrecipes the whole module in a simulated process: pass it to the program under test
local World = {}

-- ---- Programs and time -------------------------------------------------------------------------

---Creates one more client process.
---```lua
---local a, b = world:process(), world:process()
---a.spawn(program, a)
---b.spawn(program, b)
---```
---@return zkrecipes zk the module in that process; the coroutines that it spawns belong to the process
function World:process() end

---Opens a session in a new process.
---@param options? zkrecipes.SessionOptions `hosts` is ignored
---@return zkrecipes.Session? session, string? message, zkrecipes.Code? code "forked", "no_memory"
function World:session(options) end

---Runs `fn` until it and all coroutines of the world have ended, then closes the sessions that were opened meanwhile. `fn` is the
---test: it belongs to no process. Raises the error of `fn` or of any coroutine, and an error if the world's `limit` has passed.
---@param fn fun(): ...
---@param options? zkrecipes.RunOptions `fail_fast` is true by default
---@return any ... what fn returned
function World:run(fn, options) end

---Lets virtual time pass; everything that is due in this time happens.
---```lua
---world:run(function() world:advance(3600) end)
---```
---@async
---@param seconds number
function World:advance(seconds) end

---Returns the virtual time.
---@return number seconds since the world began
function World:now() end

-- ---- Faults of client processes ----------------------------------------------------------------

---The servers end the session. Its client learns it from the next message of a server. For a process: all its sessions.
---@param who zkrecipes.sim.Who
---@return integer ended how many sessions; sessions that are not established do not count
function World:expire(who) end

---The connection breaks, and messages on their way are lost. The client reconnects at once.
---@param who zkrecipes.sim.Who
function World:cut(who) end

---The connections of the process break, and it cannot connect until `heal`.
---@param who zkrecipes.sim.Who
function World:disconnect(who) end

---Messages of the process are held back until `heal`. Neither side is told.
---@param who zkrecipes.sim.Who
---@param direction? "both"|"to_server"|"to_client" default "both"
function World:partition(who, direction) end

---Ends disconnect and partition for `who`. Without `who` it ends them for all processes, and also ends the faults of servers and the
---random faults. Pauses continue, and plans stay.
---@param who? zkrecipes.sim.Who
function World:heal(who) end

---Stops the process, as SIGSTOP does: it receives and sends nothing, and its coroutines do not run.
---@param who zkrecipes.sim.Who
---@param seconds number at most 86400; a pause that would end before the present pause has no effect
function World:pause(who, seconds) end

---Sets the clock of the process that people set, by so many seconds: the time of the ids of a snowflake. Waits and leases do not see it.
---@param who zkrecipes.sim.Who
---@param seconds number negative: back; at most 1e10
function World:step_clock(who, seconds) end

---The process reconnects at once, to this server.
---@param who zkrecipes.sim.Who
---@param server integer
function World:move(who, server) end

-- ---- Faults of single requests -----------------------------------------------------------------

---A request is not executed, and the connection breaks.
---@param who zkrecipes.sim.Who
---@param kind? zkrecipes.sim.Kind default "any"
---@param nth? integer default 1: the next one of this kind
function World:lose_request(who, kind, nth) end

---A request is executed, but the connection breaks before the answer arrives.
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
---@field seconds? number the fault's own duration or delay, default 0
---@field down? number seconds during which the client cannot reconnect after the fault broke its connection, default 0

---@alias zkrecipes.sim.Fault
---| "lose_request"
---| "lose_reply"
---| "late_request" # the connection breaks; the request arrives `seconds` later, unless the session has a new connection by then
---| "delay"        # the request and all requests after it arrive `seconds` late
---| "cut"          # the connection breaks `seconds` after the request was sent
---| "expire"       # the servers end the session when the request is sent
---| "pause"        # the process stops for `seconds` after sending the request
---| "new_session"  # like "cut", and the reconnect is answered with another session; the old session expires on its own

---Plans a fault for one future request.
---@param who zkrecipes.sim.Who
---@param fault zkrecipes.sim.Fault
---@param options? zkrecipes.sim.Plan
function World:plan(who, fault, options) end

---Returns how many planned faults of single requests have not happened yet in this process.
---@param who zkrecipes.sim.Who
---@return integer
function World:planned(who) end

-- ---- Faults of servers, and at random ----------------------------------------------------------

---The server stops, as by SIGSTOP or a long garbage collection, and then continues. No other leader is elected.
---@param server integer
---@param seconds number
function World:pause_server(server, seconds) end

---Stops the server. If it is server 1, the leader, all servers stop: no other leader is elected.
---@param server integer
function World:stop_server(server) end

---Starts the server again; it receives the leader's messages again.
---@param server integer
function World:start_server(server) end

---The server receives nothing from the leader. It answers reads for five ticks, and after that nothing.
---@param server integer not 1
function World:isolate_server(server) end

---The server applies every change `seconds` after the leader.
---@param server integer not 1
---@param seconds number
function World:lag(server, seconds) end

---Probabilities per request, 0 to 1; a request gets at most one of these faults. Durations are drawn at random, from 0 to the
---maximum.
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
---@field max_delay? number seconds: for delay, late_request, cut, new_session
---@field max_down? number seconds during which the client cannot reconnect after its connection broke
---@field max_pause? number seconds
---@field max_lag? number seconds

---From now on requests get faults at random; the seed decides which. nil: no random faults any more, and no server lags.
---@param faults? zkrecipes.sim.Faults
function World:faults(faults) end

-- ---- Looking -----------------------------------------------------------------------------------

---Returns a znode as the leader has it, or nothing if there is none. Sends no request and takes no time. The path includes the
---session's namespace.
---@param path string
---@return string? data, zkrecipes.Stat? stat
function World:get(path) end

---Returns the names of the znode's children.
---@param path string
---@return string[]? names in order; nil: there is no such znode
function World:children(path) end

---Returns a text with one line for the znode and for each znode below it, parents first; for messages of failing tests.
---@param path? string default "/"
---@return string
function World:dump(path) end

---Returns how many requests a process, or all processes, have sent since the world began, without heartbeats.
---@param who? zkrecipes.sim.Who
---@param kind? zkrecipes.sim.Kind default "any"
---@return integer
function World:requests(who, kind) end

---Returns how many watches there are.
---@return integer count of watches on all servers
function World:watches() end

---Returns how many sessions there are.
---@return integer count of sessions that the servers have not ended
function World:sessions() end

---Returns whether the servers still know this session.
---@param id string session.id; the session may have ended
---@return boolean alive the servers have not ended it
function World:alive(id) end

return sim
