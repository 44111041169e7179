-- What the specs of guardians share: guarded processes, and how to find their guardians.

local env = require "spec.support.env"
local child = require "spec.support.child"
local process = require "spec.support.process"

local M = {}

M.TIMEOUT = 110 -- so long that even on a busy machine its end cannot be confused with what happens at once
M.AT_ONCE = 90

---The pids of the guardians of a process. Those that have ended do not count. (pgrep takes three times as long.)
function M.all(pid)
  local list = {}
  local found = process.output(([[grep -lsaP 'guardian[.]so\x00%s\x00$' /proc/[0-9]*/cmdline]]):format(pid))
  for guardian in found:gmatch("/proc/(%d+)/") do list[#list + 1] = guardian end
  return list
end

-- The only guardian. Its arguments are visible a moment after its start.
function M.one(pid)
  local list
  env.eventually("one guardian", function()
    list = M.all(pid)
    return #list == 1
  end)
  return list[1]
end

function M.none(pid) return #M.all(pid) == 0 end

-- True if there is a guardian with another pid.
function M.succeeded(pid, first)
  local list = M.all(pid)
  return #list == 1 and list[1] ~= first
end

---A guarded process that holds "/e", a session, and a watch on that.
function M.start(options)
  options = options or {}
  local namespace = options.namespace or env.namespace()
  local worker = child.start(namespace, options.timeout or M.TIMEOUT, options.hosts,
    { script = "guarded", through = options.through, preload = options.preload, quiet = true })
  local session = env.session { namespace = namespace, hosts = options.hosts }
  assert(worker:ask("hold") == "/e")
  local watch = session:watch("/e")
  assert(session:sync("/e"))
  return worker, session, watch
end

return M
