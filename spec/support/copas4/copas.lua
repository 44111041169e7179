-- A double of copas 4, which Debian 12 does not package: the functions that our adapter and its specs call, as copas'
-- documentation describes them. Run the specs on a real copas 4 with ZR_COPAS=folder.
--
-- The adapter relies on these sentences of the documentation: A thread starts in the next step. wakeup does nothing to a
-- thread that does not pause. A thread that pauses forever does not keep the loop alive, and copas refers to it weakly.
-- receive calls the object's own receive until that fails with an error other than "timeout".

local socket = require "socket"

if _VERSION == "Lua 5.1" and not rawget(_G, "jit") then require "coxpcall" end

local copas = {}

local ready = {}                                  -- threads that the next step resumes, in order
local due = {}                                    -- paused thread > when it continues
local forever = setmetatable({}, { __mode = "k" }) -- thread that pauses until it is woken > true
local readers = {}                                -- object > the thread that receives from it

-- A thread yields the name of the list that takes it, and its data for that list. (A thread does not ask which coroutine is running,
-- because it may be inside another coroutine of a pcall for Lua 5.1.)
local take = {
  due = function(co, at) due[co] = at end,
  forever = function(co) forever[co] = true end,
  readers = function(co, object) readers[object] = co end,
}

local function resume(co)
  local ok, list, what = coroutine.resume(co)
  if not ok then
    io.stderr:write("copas: ", tostring(list), "\n")
  elseif coroutine.status(co) == "suspended" then
    take[list](co, what)
  end
end

-- ---- Threads -----------------------------------------------------------------------------------

function copas.addthread(fn, ...)
  local args = { ... }
  local co = coroutine.create(function() fn((table.unpack or unpack)(args)) end) -- luacheck: ignore 113 143
  ready[#ready + 1] = co
  return co
end

function copas.pause(seconds)
  coroutine.yield("due", socket.gettime() + (seconds or 0))
end

function copas.pauseforever()
  coroutine.yield "forever"
end

function copas.wakeup(co)
  if not due[co] and not forever[co] then return end
  due[co], forever[co] = nil, nil
  ready[#ready + 1] = co
end

function copas.receive(object, pattern)
  while true do
    local got, problem = object:receive(pattern)
    if got or problem ~= "timeout" then return got, problem end
    coroutine.yield("readers", object)
  end
end

function copas.send(client, data) return client:send(data) end

function copas.addserver(server, handler)
  server:settimeout(0)
  copas.addthread(function()
    while true do
      local client = server:accept()
      if client then copas.addthread(handler, client) else coroutine.yield("readers", server) end
    end
  end)
end

---Ends all threads without resuming them; copas closes what they receive from.
function copas.cancelall()
  local objects = readers
  ready, due, readers = {}, {}, {}
  for co in pairs(forever) do forever[co] = nil end
  for object in pairs(objects) do object:close() end
end

-- ---- The loop ----------------------------------------------------------------------------------

local function next_due()
  local least
  for _, at in pairs(due) do least = math.min(least or at, at) end
  return least
end

local function wait(timeout)
  local at, objects = next_due(), {}
  for object in pairs(readers) do objects[#objects + 1] = object end
  if at then timeout = math.min(timeout or math.huge, math.max(at - socket.gettime(), 0)) end
  if #ready > 0 then timeout = 0 end
  return (socket.select(objects, nil, timeout))
end

local function collect_due()
  local now, found = socket.gettime(), {}
  for co, at in pairs(due) do
    if at <= now then found[#found + 1] = { co = co, at = at } end
  end
  table.sort(found, function(a, b) return a.at < b.at end)
  for _, one in ipairs(found) do copas.wakeup(one.co) end
end

function copas.finished()
  return #ready == 0 and next(due) == nil and next(readers) == nil
end

function copas.step(timeout)
  local readable = wait(timeout)
  for _, object in ipairs(readable) do
    ready[#ready + 1], readers[object] = readers[object], nil
  end
  collect_due()
  local now = ready
  ready = {}
  for _, co in ipairs(now) do resume(co) end
end

function copas.loop(fn)
  if fn then copas.addthread(fn) end
  repeat copas.step() until copas.finished()
end

return copas
