-- A host: one adapter (runs and parks coroutines) and one engine (sessions and their requests).
--
-- An adapter is a table with these functions, called on the host's thread only:
--
--   attach(client)        start to watch client.fd(). When it is readable, or client.timeout() seconds have passed, call
--                         client.dispatch(). The host calls attach again after a fork
--   detach(client)        stop watching
--   token()               identifies the running coroutine for the adapter; or nil and the reason why it cannot wait here
--   park(token, seconds)  suspend the caller until unpark, or until the time has passed (nil: no limit); it may
--                         return too early
--   unpark(token)         resume the coroutine, later; may be called twice, and for a coroutine that is not parked
--   spawn(fn, for_caller) run fn in a coroutine, later; for_caller: it is a task of the running code, not work of the module's own
--   now()                 seconds on a clock that only goes forward
--   name                  optional; for messages and the status
--   keep(client)          optional; a session was opened: keep the loop from ending until client.idle()
--   preloads              true if all of this package is loaded at once, because to read a file later would stop the loop
--   runs                  true if a wait on the main thread drives the loop, so that zk.run works
--   loop                  the loop (loop.lua), if several adapters share one, and if `runs` is true
--   step(), timeout()     only if the adapter has its own loop: one turn that does not wait; seconds until the next turn is
--                         due, nil for no limit
--
-- and, if coroutines can be killed while they are parked, so that no code of theirs runs any more:
--
--   gone(token)           true if that coroutine was killed; called by client.sweep(), which the adapter must call now and then
--                         while client.parked (token > its wait) is not empty
--   stopped(token)        true if the host is shutting down: a wait of this coroutine raises zk.canceled
--   unfit()               the reason why no engine can be created here, or nil
--   lives(life)           false if the coroutine for which spawn returned this `life` was killed; it may run something else now
--   yield(token)          lets other coroutines run
--   report(text)          reports an error that no task:wait() waits for
--   granted(hold, give_back)  the running coroutine was granted this hold. give_back(hold) gives it back; nil: use its release or
--                         resign
--   ended(hold)           the hold is over, or belongs to the coroutine no longer
--   in_background()       true if the grant is for background work, so no coroutine can release it when the host shuts down
--   self()                identifies the running code, if one coroutine runs one thing after another
--   follows(self, other)  true if `other` is over and belonged to the request that runs now as `self`
--
-- client: fd, dispatch, wait(seconds), interrupt, timeout, now, outstanding (how many waits the core has), idle (no session is open and
-- no work is left), report(text), parked, sweep; holding: how many holds there are, without those granted in_background() (added by
-- status/activity.lua); listen, accept, ring, hangup: the bell (src/lua/bell.c).

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local dispatch = require "zkrecipes.host.dispatch"
local tasks = require "zkrecipes.host.tasks"

local M = {}

M.terminated = setmetatable({}, { __tostring = function() return "zkrecipes: terminated" end })

local STEPS = 1000 -- steps of the core in one dispatch, if the adapter gives no number

-- Reports an error that no task:wait() waits for.
local function report(host, problem)
  local text = check.text(problem)
  if host.on_error then
    local ok, other = pcall(host.on_error, text)
    if ok then return end
    text = text .. "\nand on_error failed: " .. check.text(other)
  end
  if host.adapter.report then return host.adapter.report(text) end
  io.stderr:write("zkrecipes: error in a coroutine: ", text, "\n")
end

local function client_of(host)
  local client = {}
  function client.fd() return host.engine:fd() end
  function client.dispatch(limit) dispatch.run(host, limit or STEPS) end
  function client.wait(seconds) host.engine:wait(seconds) end
  function client.timeout() return host.engine:timeout() end
  function client.now() return host.engine:now() end
  -- Raises if the loop must end: SIGTERM came while zk.run catches it.
  function client.interrupt()
    if host.catching and core.sigterm.came() then error(M.terminated, 0) end
  end
  function client.outstanding() return host.engine:pending() end
  function client.idle() return host.engine:ended() and not host.engine:timeout() end
  function client.report(text) report(host, text) end
  function client.sweep()
    dispatch.sweep(host)
    tasks.sweep(host)
  end
  function client.listen() return host.engine:listen() end
  function client.accept() return host.engine:accept() end
  function client.ring() host.engine:ring() end
  function client.hangup() host.engine:hangup() end
  client.parked = host.parked
  return client
end

local FUNCTIONS = { "attach", "detach", "token", "park", "unpark", "spawn", "now" }

-- Raises if the table is not an adapter.
function M.check(adapter)
  for _, name in ipairs(FUNCTIONS) do
    if type(adapter[name]) ~= "function" then check.bad(1, "using", "the adapter has no function '" .. name .. "'") end
  end
  if adapter.name ~= nil and type(adapter.name) ~= "string" then
    check.bad(1, "using", "the adapter's name is not a string but a " .. type(adapter.name))
  end
end

local additions = {}

-- Calls add(host) for each new host: for a module that stores something of its own in it.
function M.extend(add) additions[#additions + 1] = add end

-- new(adapter [, make]): make(host) returns the engine; default: an engine over the real client.
function M.new(adapter, make)
  local host = {
    adapter = adapter,
    name = adapter.name or "custom",
    make = make or core.engine,
    waiters = {},                                -- slot > record, or false
    pool = {},                                   -- records to reuse
    parked = adapter.gone and {},                -- token > record
    scopes = {}, scope_count = 0,                -- scope > its number, if its coroutine can be killed; see scopes.lua
    dropped = {},                                -- functions that could not run at their place and wait for the next dispatch
    tasks = {},                                  -- task > its number, of tasks that have not ended
    task_count = 0,                              -- tasks ever created
    live = 0,                                    -- how many of `tasks` are not daemons
    opened = setmetatable({}, { __mode = "v" }), -- number > session
    opened_count = 0,
    report = report,
  }
  host.client = client_of(host)
  for i = 1, #additions do additions[i](host) end
  return host
end

-- The fields that hosts on one loop share.
local COMMON = { "tasks", "task_count", "live", "idle", "opened", "opened_count", "shared", "named", "running", "on_error",
  "on_failure" }

-- Creates a host with its own engine that shares the tasks and sessions of `first`.
function M.beside(first, adapter, make)
  local host = M.new(adapter, make)
  for i = 1, #COMMON do host[COMMON[i]] = nil end
  M.ready(host)
  return setmetatable(host, { __index = first, __newindex = first })
end

-- Creates the engine at its first use, and a new engine in a child of the process that created it.
function M.ready(host)
  if host.engine and not host.engine:forked() then return end
  if host.engine then return dispatch.renew(host) end
  local problem = host.adapter.unfit and host.adapter.unfit()
  if problem then core.misuse(problem) end
  host.engine = host.make(host)
  host.adapter.attach(host.client)
end

-- ---- For foreign loops -------------------------------------------------------------------------

-- A turn that does not wait.
function M.dispatch(host)
  local step = host.adapter.step
  if step then step() else dispatch.run(host, STEPS) end
  return true
end

-- For a loop that has no adapter: it watches fd() for reading, sleeps at most timeout() seconds, and calls dispatch(). pollfd and
-- events are the names that cqueues expects.
function M.loop(host)
  local loop, adapter = {}, host.adapter
  function loop.fd() return host.engine:fd() end
  function loop.events() return "r" end
  function loop.dispatch() return M.dispatch(host) end
  function loop.timeout()
    local own, due = adapter.timeout and adapter.timeout(), host.engine:timeout()
    if own and due then return math.min(own, due) end
    return own or due
  end
  loop.pollfd = loop.fd
  return loop
end

core.own(debug.getinfo(1, "S").source)
return M
