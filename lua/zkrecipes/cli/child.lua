-- A command that zkr runs, and the minder that ends it in time (src/minder):
--
--   local child = children.start(uv, { "make", "all" }, { ZKR_PATH = "/l" } [, input])
--                                   input: a descriptor for its standard input; nil: that of zkr
--   child:set(name, value)          one more variable of its environment, short; before the first order
--   child.on_stop                   a function: the command was stopped at the terminal, and zkr's job is to stop too; nil: it is not
--   child:order(ask_at, kill_at)    until when it may run; the first order starts it. Seconds of zk.now()
--   child:kill()                    kills its process group
--   child:signal(number)            to its process group; after the first order
--   child:wait(seconds)             suspends the coroutine until something happened, at most for so long
--   child.over                      nil; or how it is over, when none of its processes is left: "ended", "lost" (it was ended because its
--                                   time was over), "unminded" (the minder was killed)
--   child.status                    then: its exit status, as a shell tells it
--
-- The minder is a program in the form of a shared object, because LuaRocks builds these; the dynamic loader runs it.

local ignored = require "zkrecipes.cli.ignored"
local orphans = require "zkrecipes.cli.orphans"

local M = {}

local Child = {}
Child.__index = Child

local ORDERS, REPORTS = 31, 32 -- ZR_MINDER_ORDERS, ZR_MINDER_REPORTS
local ORDER, REPORT, VARIABLE = "=i8i8i4i4", "=i4i4", "c64" -- struct zr_minder_order, zr_minder_report, zr_minder_variable
local FAILED = "the minder of the command cannot be started (%s); check `ulimit -n`, 40 at least and 2 for each command, and `ulimit -u`"
local STARTED, STOPPED, ENDED = 0, 1, 2    -- enum zr_minder_event

local spared = {} -- process id > true: the minders, and children that are not ours to end

-- ---- Waiting -----------------------------------------------------------------------------------

local function resume(child)
  local waiting = child.waiting
  if not waiting then return end
  child.waiting = nil
  child.timer:stop()
  assert(coroutine.resume(waiting))
end

function Child:wait(seconds)
  if self.over or self.news then
    self.news = nil
    return
  end
  self.waiting = coroutine.running()
  self.uv.update_time()
  self.timer:start(math.ceil(seconds * 1000), 0, function() resume(self) end)
  coroutine.yield()
  self.news = nil
end

-- Ends the wait of the coroutine.
function Child:wake()
  self.news = true
  resume(self)
end

-- ---- Reports -----------------------------------------------------------------------------------

-- As a shell tells a wait status.
local function exit_status(value)
  local signal = value % 128
  return signal == 0 and math.floor(value / 256) % 256 or 128 + signal
end

local function close_all(uv, fds)
  for _, fd in ipairs(fds) do uv.fs_close(fd) end
end

local function finish(child, over, status)
  child.over, child.status = over, status
  child.watcher:close()
  close_all(child.uv, { child.orders, child.reports })
  spared[child.minder:get_pid()] = nil
  if over == "unminded" then orphans.kill(child.uv, spared) end
end

local function heard(child, report)
  if not report or report == "" then return finish(child, "unminded") end
  local event, value = REPORT:unpack(report)
  if event == STARTED then child.pid = value
  elseif event == STOPPED then
    if child.on_stop then child.on_stop() end
  else finish(child, event == ENDED and "ended" or "lost", exit_status(value)) end
end

-- Several reports may lie there, the last one before the end of the pipe.
local function hear(child)
  repeat
    local report, _, code = child.uv.fs_read(child.reports, REPORT:packsize(), -1)
    if code == "EAGAIN" then break end
    heard(child, report)
  until child.over
  child:wake()
  if child.over then child.timer:close() end
end

-- ---- Orders ------------------------------------------------------------------------------------

-- One that a process of the command has stopped continues.
local function send(child, signal)
  if child.over then return end
  child.minder:kill "sigcont"
  local packet = ORDER:pack(child.ask_us, child.kill_us, signal, 0)
  child.uv.fs_write(child.orders, packet, -1) -- if the minder is gone, we hear of it
end

function Child:set(name, value) self.uv.fs_write(self.orders, VARIABLE:pack(name .. "=" .. value), -1) end

local function microseconds(seconds) return math.max(0, math.floor(seconds * 1e6)) end

function Child:order(ask_at, kill_at)
  self.ask_us, self.kill_us = microseconds(ask_at), microseconds(kill_at)
  send(self, 0)
end

-- The minder reads it after the first order, so the command has started, even if we have not heard of that yet.
function Child:signal(number) send(self, number) end

-- Kills the command's process group without the minder's help.
function Child:kill()
  if not self.over then hear(self) end
  if self.pid and not self.over then self.uv.kill(-self.pid, "sigkill") end
end

-- ---- Starting ----------------------------------------------------------------------------------

-- The dynamic loader that runs this process; or nil and why not.
local function loader(uv)
  local problem = orphans.problem(uv)
  if problem then return nil, problem .. "; zkr needs it to find all processes of a command" end
  local file = assert(io.open "/proc/self/maps")
  local path = file:read "a":match "(/%S*/ld[^/%s]*%.so%.%d+)[ \n]" -- " (deleted)" stands behind it after an upgrade
  file:close()
  return path, "no dynamic loader runs this process, so none can run the minder"
end

local function variables(uv, more)
  local list = {}
  for name, value in pairs(uv.os_environ()) do
    if more[name] == nil then list[#list + 1] = name .. "=" .. value end
  end
  for name, value in pairs(more) do list[#list + 1] = name .. "=" .. value end
  return list
end

-- The command's standard descriptors are ours, except perhaps the first; the minder's ends get numbers that no one uses.
local function descriptors(orders, reports, input)
  return { input or 0, 1, 2, table.unpack({ [ORDERS - 2] = orders, [REPORTS - 2] = reports }, 1, REPORTS - 2) }
end

-- The pair for the orders, and the pipe for the reports; or nil and why not.
local function channels(uv)
  local pair, problem = uv.socketpair("seqpacket", 0, { nonblock = true }, {})
  if not pair then return nil, problem end
  local pipe, message = uv.pipe({ nonblock = true }, { nonblock = true })
  if pipe then return pair, pipe end
  close_all(uv, pair)
  return nil, message
end

-- Starts the minder. The command starts at the first order. Returns the child; or nil and why not.
function M.start(uv, command, environment, input)
  local program = package.searchpath("zkrecipes.minder", package.cpath)
  if not program then return nil, "the minder (zkrecipes/minder.so) is not installed beside the module" end
  local run_by, problem = loader(uv)
  if not run_by then return nil, problem end
  orphans.adopt(spared)
  local pair, pipe = channels(uv)
  if not pair then return nil, FAILED:format(pipe) end
  local child = setmetatable({ uv = uv, orders = pair[1], reports = pipe.read, timer = uv.new_timer() }, Child)
  local arguments = { program, ("%x"):format(ignored.mask), table.unpack(command) }
  local stdio = descriptors(pair[2], pipe.write, input)
  local handle, message = uv.spawn(run_by, { args = arguments, env = variables(uv, environment), stdio = stdio }, function() end)
  close_all(uv, { pair[2], pipe.write })
  if not handle then
    close_all(uv, { pair[1], pipe.read })
    child.timer:close()
    return nil, FAILED:format(message)
  end
  child.minder = handle
  spared[handle:get_pid()] = true
  child.watcher = assert(uv.new_poll(pipe.read))
  child.watcher:start("r", function() hear(child) end)
  return child
end

return M
