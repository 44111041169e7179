-- A host: one adapter (how coroutines are run and parked) with one engine (sessions and what they do).
--
-- An adapter is a table with these functions, called on the host's thread only:
--
--   attach(client)        begin to watch client.fd(); when it is readable or client.timeout() is over, call
--                         client.dispatch(). Again after a fork
--   detach(client)        stop it
--   token()               how the adapter knows the running coroutine; or nil and why it cannot wait here
--   park(token, seconds)  suspend the caller until unpark, or until the time is over (nil: no limit); it may
--                         return too early
--   unpark(token)         let it go on, later; may be called twice, and for one that is not parked
--   spawn(fn)             run fn in a coroutine, later
--   now()                 seconds on a clock that only goes forward
--   keep(client)          may be left out; a session was opened: keep the loop from ending until client.idle()
--   runs                  true where wait on the main thread drives the loop, so that zk.run works
--   loop                  where several adapters have one loop (loop.lua), and where `runs` is true: that
--   step(), timeout()     only where the adapter has a loop of its own: one turn that does not wait; seconds
--                         until the next turn is due, nil for no limit
--
-- and, where coroutines can be killed while they are parked, and no code of theirs runs any more:
--
--   gone(token)           it was; asked by client.sweep(), which is to be called now and then while client.parked
--                         (token > its wait) is not empty
--   stopped(token)        the host comes to its end: a wait of this coroutine raises zk.canceled
--   unfit()               why no engine can be made here, or nil
--   lives(life)           false when the coroutine was killed for which spawn gave this `life`; it may run something else by now
--   yield(token)          lets the others run
--   report(text)          an error that nobody waits for
--   granted(hold, give_back)  the running coroutine has got it; give_back(hold): lets it go; nil: its release or resign does
--   ended(hold)           it is over, or not the coroutine's any more
--   in_background()       true when that is for nobody who could let go of it when the host comes to its end
--   self()                what stands for the running coroutine, where a coroutine is used for one thing after another
--   follows(self, other)  `other` is over, and belonged to the request that runs now as `self`
--
-- client: fd, dispatch, wait(seconds), interrupt, timeout, now, pending (how many wait for the core), idle (no session is open, and
-- nothing is left to do), report(text), parked, sweep; holding: how much is held, but for what was granted in_background();
-- listen, accept, ring, hangup: the bell (src/lua/bell.c).

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local dispatch = require "zkrecipes.host.dispatch"
local registry = require "zkrecipes.status.activity"
local tasks = require "zkrecipes.host.tasks"

local M = {}

M.terminated = setmetatable({}, { __tostring = function() return "zkrecipes: terminated" end })

local STEPS = 1000 -- of the core in one dispatch, when the adapter does not say

-- An error that nobody waits for.
local function report(host, problem)
  local text = tostring(problem)
  if host.on_error then
    local ok, other = pcall(host.on_error, text)
    if ok then return end
    text = text .. "\nand on_error failed: " .. tostring(other)
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
  -- Raises when the loop is to end: SIGTERM came while zk.run catches it.
  function client.interrupt()
    if host.catching and core.sigterm.came() then error(M.terminated, 0) end
  end
  function client.pending() return host.engine:pending() end
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
  function client.holding() return registry.holding(host) end
  client.parked = host.parked
  return client
end

local FUNCTIONS = { "attach", "detach", "token", "park", "unpark", "spawn", "now" }

-- Raises unless it is an adapter.
function M.check(adapter)
  for _, name in ipairs(FUNCTIONS) do
    if type(adapter[name]) ~= "function" then check.bad(1, "using", "the adapter has no function '" .. name .. "'") end
  end
end

-- new(adapter [, make]): make(host) gives the engine; when left out it is one over the real client.
function M.new(adapter, make)
  local host = {
    adapter = adapter,
    make = make or core.engine,
    waiters = {},                                -- slot > record, or false
    pool = {},                                   -- records to be used again
    parked = adapter.gone and {},                -- token > record
    scopes = {}, scope_count = 0,                -- scope > its number, of those whose coroutines can be killed; see scopes.lua
    dropped = {},                                -- functions: what could not be done where it was to be done
    tasks = {},                                  -- task > its number, of those that have not ended
    task_count = 0,                              -- ever
    live = 0,                                    -- how many of them are not daemons
    opened = setmetatable({}, { __mode = "v" }), -- number > session
    opened_count = 0,
    report = report,
    look = false,                                -- at the queues, the last one; see status/queue_lengths.lua
    registry = registry.new(),
  }
  host.client = client_of(host)
  return host
end

-- What hosts that run together have in common.
local COMMON = { "tasks", "task_count", "live", "idle", "opened", "opened_count", "shared", "running", "on_error",
  "on_failure" }

-- A host with an engine of its own, whose tasks and sessions are those of `first`.
function M.beside(first, adapter, make)
  local host = M.new(adapter, make)
  for i = 1, #COMMON do host[COMMON[i]] = nil end
  M.ready(host)
  return setmetatable(host, { __index = first, __newindex = first })
end

-- Makes the engine when it is first needed, and a new one in a child of the process that made it.
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

-- What a loop needs that knows no adapter: watch fd() for reading, sleep at most timeout() seconds, call
-- dispatch(). pollfd and events are the names that cqueues knows.
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
