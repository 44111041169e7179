-- Helpers for specs: other processes and files.

local lfs = require "lfs"
local socket = require "socket"

local M = {}

---@return string name of the interpreter that runs this spec
M.interpreter = rawget(_G, "jit") and "luajit" or "lua" .. _VERSION:match("%d%.%d")

---Runs a command and returns its output without the last newline.
function M.output(command)
  local pipe = io.popen(command, "r")
  local text = pipe:read("*a")
  pipe:close()
  return (text:gsub("\n$", ""))
end

-- True if the shell command succeeds.
function M.holds(condition)
  return M.output("if " .. condition .. "; then echo yes; fi 2>/dev/null") == "yes"
end

-- What a file of /proc says; "" if there is none.
local function read(path)
  local file = io.open(path)
  local text = file and file:read("*a") or ""
  if file then file:close() end
  return text
end

---A process that is no zombie.
function M.runs(pid)
  return read(("/proc/%s/status"):format(pid)):find("\nState:%s[^ZX]") ~= nil
end

---@return string[] pids of the processes that this one has started
function M.children(pid)
  local pids = {}
  for child in read(("/proc/%s/task/%s/children"):format(pid, pid)):gmatch("%d+") do pids[#pids + 1] = child end
  return pids
end

function M.exists(path)
  return lfs.attributes(path, "mode") ~= nil
end

-- Waits until `condition` is true, while the whole process waits. Checks it repeatedly, for so many seconds, or for a time that is enough
-- even on a busy machine. A check may take as much of the processor as a program's start, so there are fewer the longer it waits.
function M.eventually(condition, seconds)
  local deadline, pause = os.time() + (seconds or 300), 0.01
  repeat
    local value = condition()
    if value then return value end
    socket.sleep(pause)
    pause = math.min(pause * 1.2, 0.2)
  until os.time() > deadline
  return nil, "it did not become true in time"
end

return M
