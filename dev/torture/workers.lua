-- The worker processes of the torture run: starts, kills and pauses them, and follows their logs.

local zk = require "zkrecipes"

local here = debug.getinfo(1, "S").source:match("^@(.*/)[^/]*$") or "./"

-- The guard reads a pipe that only this process can write to. The pipe ends when this process ends in any way.
local RUN = [[
  log=$1 folder=$2
  shift 2
  exec >>"$log" 2>/dev/null 3<&0 </dev/null
  "$@" 2>>"$log.err" 3<&- & worker=$!
  echo "0 0 pid $worker"
  (trap '' INT; read -r _ <&3; rm -rf "$folder"; kill -KILL $worker) & guard=$!
  wait $worker
  status=$?
  kill $guard
  echo "0 0 status $status"]]

local function quote(word)
  return "'" .. tostring(word):gsub("'", "'\\''") .. "'"
end

local function interpreter()
  local first = 0
  while arg[first - 1] do first = first - 1 end
  return os.getenv("ZR_LUA") or arg[first] or "lua5.4"
end

local Worker = {}
Worker.__index = Worker

---@param journal table see journal.lua
---@param setup table { folder, namespace, timeout, coroutines, locks, seed, finish }
---@param proxy table in front of the ensemble, for this worker alone
local function new(number, journal, setup, proxy)
  local self = setmetatable({ number = number, journal = journal, setup = setup, proxy = proxy, life = 0 }, Worker)
  self:start()
  return self
end

function Worker:start()
  local setup = self.setup
  self.life = self.life + 1
  self.path = ("%s/worker-%d.%d"):format(setup.folder, self.number, self.life)
  self.log, self.rest = assert(io.open(self.path, "a+")), ""
  self.pid, self.session, self.ended = nil, nil, nil
  local words = { "exec sh -c", quote(RUN), "worker", quote(self.path), quote(setup.folder),
    interpreter(), quote(here .. "worker.lua") }
  for _, word in ipairs { self.proxy.hosts, setup.namespace, setup.timeout, setup.coroutines, setup.locks, setup.seed,
    self.number * 1000 + self.life, setup.finish, setup.ca } do
    words[#words + 1] = quote(word)
  end
  self.pipe = assert(io.popen(table.concat(words, " "), "w"))
end

local told = {}

function told.pid(self, pid) self.pid = pid end

function told.state(self, state)
  local word, id = state:match("^(%S+) (%S+)$")
  self.session = word == "connected" and id or nil
end

function told.status(self, status) self.ended = tonumber(status) end

-- Reads what has been added to the log.
function Worker:follow()
  if not self.log then return end -- between two lives
  local text = self.rest .. (self.log:read("*a") or "")
  local done = 1
  for line, after in text:gmatch("([^\n]*)\n()") do
    local what, extra = line:match("^%S+ 0 (%S+) ?(.*)$")
    if told[what] then told[what](self, extra) end
    self.journal:add(self.number, line)
    done = after
  end
  self.rest = text:sub(done)
end

function Worker:signal(name)
  os.execute("kill -" .. name .. " " .. self.pid .. " 2>/dev/null")
end

-- Ends the process if it still runs, and closes the pipe only then, because its end would wake the guard.
local function reap(self)
  if not self.log then return end
  while not self.ended do
    if self.pid then self:signal("KILL") end
    zk.sleep(0.005)
    self:follow()
  end
  self.pipe:close()
  self.log:close()
  self.log = nil
end

---kill -9; `start` may follow.
function Worker:kill()
  self:follow()
  if self.ended then self.journal:complain(("worker %d ended with status %d"):format(self.number, self.ended)) end
  local time = zk.now()
  reap(self)
  self.journal:died(self.number, time)
end

-- Waits until the process has ended by itself; kills it if it does not end in time. → its status
function Worker:finish(deadline)
  while not self.ended and zk.now() < deadline do
    zk.sleep(0.02)
    self:follow()
  end
  local status = self.ended
  reap(self)
  return status
end

-- The standard error of all of the worker's lives.
function Worker:complaints()
  local texts = {}
  for life = 1, self.life do
    local file = io.open(("%s/worker-%d.%d.err"):format(self.setup.folder, self.number, life))
    texts[#texts + 1] = file and file:read("*a") or ""
    if file then file:close() end
  end
  return table.concat(texts)
end

-- True if one of the worker's processes still exists.
function Worker:runs()
  local status = os.execute("kill -0 " .. self.pid .. " 2>/dev/null")
  return status == true or status == 0 -- the result in Lua 5.1
end

return { new = new }
