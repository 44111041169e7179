-- Helpers for specs: other processes and files.

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

---A process that is no zombie.
function M.runs(pid)
  return M.holds(("grep -q '^State:[[:space:]][^ZX]' /proc/%s/status 2>/dev/null"):format(pid))
end

function M.exists(path)
  return M.holds(("[ -e '%s' ]"):format(path))
end

-- Waits until `condition` is true. Checks it repeatedly, for so many seconds, or for a time that is enough even on a busy machine.
function M.eventually(condition, seconds)
  local deadline = os.time() + (seconds or 300)
  repeat
    local value = condition()
    if value then return value end
    os.execute("sleep 0.01")
  until os.time() > deadline
  return nil, "it did not become true in time"
end

return M
