-- What the specs of guardians share: guarded processes, and how to find their guardians.

local env = require "spec.support.env"
local child = require "spec.support.child"
local lfs = require "lfs"

local M = {}

M.TIMEOUT = 110 -- so long that even on a busy machine its end cannot be confused with what happens at once
M.AT_ONCE = 90

local function command_of(process)
  local file = io.open("/proc/" .. process .. "/cmdline")
  local text = file and file:read("*a") or ""
  if file then file:close() end
  return text
end

---The pids of the guardians of a process. Those that have ended do not count.
function M.all(pid)
  local list = {}
  for entry in lfs.dir("/proc") do
    local guarded = entry:find("^%d+$") and command_of(entry):match("guardian%.so%z(.*)%z$")
    if guarded == tostring(pid) then list[#list + 1] = entry end
  end
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
