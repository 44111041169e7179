-- What every spec on a real server needs: one server for the whole run, a namespace for every
-- test, and bodies that run as coroutines with a limit on their time.

require "spec_fork" -- must be first: see that file
local collect = require "spec.support.collect"
local zk = require "zkrecipes"
local core = require "zkrecipes.core"
local testing = require "zkrecipes.testing"
local process = require "spec.support.process"
local proxies = require "spec.support.proxy"

local env = { limit = 1800 } -- seconds that a test may take; it takes far less even on a busy machine

-- busted unloads all modules after each file, so values that all files of a run share are stored where busted does not remove them. (A
-- forked process has them too; it ends without stopping anything.)
local registry, KEY = debug.getregistry(), "zkrecipes.spec"
registry[KEY] = registry[KEY] or { namespaces = 0 }
local common = registry[KEY]

local proxy

-- The server that all specs share. A spec that kills or pauses servers, or counts everything on one, starts another one.
function env.server()
  common.server = common.server or assert(testing.start { tick_time = 500, container_interval = 60000 })
  return common.server
end

-- A proxy in front of that server, healed and with its counters at zero.
function env.proxy()
  proxy = proxy or assert(proxies.start(env.server()))
  proxy:clear()
  proxy:heal()
  proxy:reset()
  return proxy
end

-- A namespace that no other test uses.
function env.namespace()
  common.namespaces = common.namespaces + 1
  return string.format("/spec-%d-%d", os.time(), common.namespaces)
end

---A session on the shared server, where it is connected already, or as the options say. It lasts 15 s, since a busy machine may stop us,
---a proxy or the server for seconds.
function env.session(options)
  local all = { hosts = env.server().hosts, timeout = 15, tick = 0.5, namespace = env.namespace() }
  local shared = not (options and options.hosts)
  if shared then all.request_timeout = 100 end
  for name, value in pairs(options or {}) do
    all[name] = value
  end
  local session, message, code = zk.session(all)
  if session and shared then session:connected(200) end -- its failures are seen later
  return session, message, code
end

---A test body that runs in a coroutine of the built-in host, and fails when it takes too long.
function env.run(body)
  return function()
    local ok, problem = false, "the test took longer than " .. env.limit .. " s"
    local function test()
      ok, problem = zk.pcall(body)
    end
    -- A failure ends everything that the test has started; otherwise those coroutines would wait forever.
    local _, first = pcall(zk.run, function()
      zk.any { test, function() zk.sleep(env.limit) end }
      assert(ok, "failed")
    end, { fail_fast = true })
    if not ok then
      if tostring(problem):find("the task was canceled", 1, true) then problem = first end -- by the failure of another coroutine
      error(problem, 0) -- busted's failures are tables and must stay so
    end
  end
end

---Waits until the condition holds; fails with `what` after so many seconds, or after a time that no busy machine takes. Most conditions
---ask a server, so they are looked at less often the longer it waits.
function env.eventually(what, condition, seconds)
  local began = zk.now()
  while not condition() do
    local waited = zk.now() - began
    if waited > (seconds or 300) then error("never happened: " .. what, 2) end
    zk.sleep(math.min(0.005 + waited / 20, 0.1))
  end
end

-- Like eventually, but in virtual time: runs the world until the condition holds, for at most 60 virtual seconds.
function env.eventually_in(world, what, condition)
  local deadline = world:now() + 60
  while not condition() do
    if world:now() > deadline then error("never happened: " .. what, 2) end
    world:advance(0.1)
  end
end

-- Fails unless the call failed with this code; returns the message.
function env.fails(code, ...)
  local ok, message, got = ...
  if ok then
    error("did not fail with " .. code, 2)
  end
  if got ~= code then
    error(string.format("failed with %s (%s) instead of %s", tostring(got), tostring(message), code), 2)
  end
  return message
end

---Fails unless the call failed because a short limit passed. It depends on the machine whether the servers have answered by then, so two
---codes are accepted.
function env.late(...)
  local ok, message, got = ...
  if ok or got ~= "timeout" and got ~= "connection_loss" then
    error(string.format("failed with %s (%s) instead of because of its limit", tostring(got), tostring(message)), 2)
  end
  return message
end

-- If the task fails, the coroutine that waits for it fails.
local function results(...)
  local ok, message, code = ...
  if ok == nil and code == "error" then error(message, 0) end
  return ...
end

---Fails unless the call raised, at a line of a spec, a message with this pattern.
function env.raises(pattern, fn, ...)
  local ok, problem = pcall(fn, ...)
  if ok then error("did not raise", 2) end
  if not tostring(problem):find("^%.?/?spec/[%w_/]+%.lua:%d+: ") or not problem:find(pattern) then
    error(("raised %s instead of %s"):format(tostring(problem), pattern), 2)
  end
end

-- Starts fn in a coroutine of its own; returns a function that waits for its results.
function env.start(fn, ...)
  local task = zk.spawn(fn, ...)
  return function() return results(task:wait(env.limit)) end, task
end

---Waits until this many contenders stand in the lock's queue.
function env.queue_of(session, path, number)
  env.eventually(number .. " contenders in " .. path, function()
    local stat = session:exists(path)
    return stat and stat.num_children == number
  end)
end

---The command that runs this interpreter, with what it needs to find the module.
function env.interpreter()
  return os.getenv("ZR_LUA") or arg[-1] or "lua5.4"
end

-- The memory that the C code holds after a full collection.
function env.blocks()
  collect(2)
  return core.alloc_blocks()
end

---Runs spec/support/alone/NAME.lua in a process of its own, and fails with its output unless it succeeds. C memory is counted for the whole
---process, so a session that another spec has left open would change the count.
function env.alone(name)
  local pipe = io.popen(("%s spec/support/alone/%s.lua 2>&1 && echo well"):format(env.interpreter(), name))
  local said = pipe:read("*a")
  pipe:close()
  if not said:find("well\n$") then error(said, 2) end
end

---Fails unless fn, played again and again on a real server, leaves no more blocks than after the first time.
function env.leaves_no_block(fn)
  fn()
  local before = env.blocks()
  for _ = 1, 20 do fn() end
  env.eventually("all memory is given back", function() return env.blocks() <= before end)
end

---The same, and fn leaves no more open descriptors.
function env.leaves_no_descriptor(fn)
  local function descriptors() return tonumber(process.output "ls /proc/$PPID/fd | wc -l") end
  fn()
  local before = descriptors()
  env.leaves_no_block(fn)
  env.eventually("all descriptors are closed", function() return descriptors() <= before end)
end

---Fails unless fn leaves no more blocks and bytes of C memory than there were. The C library may round each block up by 16 bytes.
function env.leaves_nothing(fn)
  local blocks, bytes = env.blocks(), core.alloc_bytes()
  fn()
  local more, larger = env.blocks() - blocks, core.alloc_bytes() - bytes
  if more > 0 or larger > 16 * blocks then error(("%d blocks and %d bytes more"):format(more, larger), 2) end
end

return env
