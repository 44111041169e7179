-- Another Lua process, which gets lines and is killed or paused (see holder.lua).

local env = require "spec.support.env"
local zk = require "zkrecipes"

local child = {}
child.__index = child

local function shell(format, ...)
  return os.execute(string.format(format, ...))
end

-- The sanitizer's library must come first.
local function preloading(interpreter, library)
  if not library then return interpreter end
  local both, found = interpreter:gsub("LD_PRELOAD=%S+", "%0:" .. library)
  return found > 0 and both or ("env LD_PRELOAD=%s %s"):format(library, interpreter)
end

---Starts spec/support/holder.lua; it shares the lock "/l" of this namespace.
---`more`: another `script`, a command to start it with (`through`), a library to `preload`, `quiet`: without its standard
---error.
function child.start(namespace, timeout, hosts, more)
  more = more or {}
  local fifo = os.tmpname()
  os.remove(fifo)
  assert(shell("mkfifo %s", fifo))
  local lua = preloading(env.interpreter(), more.preload)
  local command = string.format("echo $$ > %s.pid; exec %s %s spec/support/%s.lua '%s' '%s' %g >%s%s", fifo,
    more.through or "", lua, more.script or "holder", hosts or env.server().hosts, namespace, timeout, fifo,
    more.quiet and " 2>/dev/null" or "")
  local self = setmetatable({ input = assert(io.popen(command, "w")) }, child)
  self.input:setvbuf("no")
  self.output = assert(io.open(fifo))
  local file = assert(io.open(fifo .. ".pid"))
  self.pid = file:read("*n")
  file:close()
  os.remove(fifo)
  os.remove(fifo .. ".pid")
  return self
end

---Sends a line without waiting for the answer.
function child:tell(line)
  self.input:write(line, "\n")
end

-- Returns the next answer; blocks this whole process.
function child:answer()
  return self.output:read("*l")
end

function child:ask(line)
  self:tell(line)
  return self:answer()
end

function child:signal(name)
  assert(shell("kill -%s %d", name, self.pid))
end

---Ends it and waits for its end.
function child:stop()
  pcall(self.tell, self, "end")
  self.output:close()
  self.input:close()
end

---Starts this script behind a proxy, tells it a line, waits for its answer "began", and kills it at its request number `number`, which
---the server gets (kind "hold_reply") or does not get ("hold"). Returns false if all has ended before that request: over().
function child.killed_at(script, namespace, line, number, kind, over)
  local proxy = env.proxy()
  proxy[kind](proxy, "*", number)
  local process = child.start(namespace, 15, proxy.hosts, { script = script, quiet = true })
  process:tell(line)
  assert(process:answer() == "began")
  local ok, problem = zk.pcall(env.eventually, "the request or the end", function() return proxy:fired() > 0 or over() end)
  local struck = proxy:fired() > 0
  process:signal "KILL"
  proxy:cut()
  proxy:clear()
  process:stop() -- in any case: nobody can wait for the end of a process that lives
  if not ok then error(problem, 0) end
  return struck
end

return child
