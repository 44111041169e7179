-- Runs a shell command on a terminal of its own (script of util-linux), and types.

local env = require "spec.support.env"

local M = {}

local Terminal = {}
Terminal.__index = Terminal

local open = {} -- those that have not been finished

local LIMIT = 300 -- seconds; it takes far less even on a busy machine

---Starts the command. variables: for its environment; a name with the value false is unset.
function M.open(command, namespace, variables)
  local file = os.tmpname()
  local self = setmetatable({ file = file }, Terminal)
  os.remove(file)
  os.execute("mkfifo " .. file)
  local line = "export HOME=/nonexistent XDG_CONFIG_HOME= TERM=dumb ZKR_TIMEOUT=60 ZKR_HOSTS=%s ZKR_NAMESPACE=%s; %s"
    .. " { sh -c 'echo $$ >%s.pid; exec setsid -w script -qec \"$0\" /dev/null' '%s' <%s >%s.out 2>&1; echo $? >%s.status; } &"
  local more = ""
  for name, value in pairs(variables or {}) do
    more = more .. (value and ("export %s='%s'; "):format(name, value) or ("unset %s; "):format(name))
  end
  os.execute(line:format(env.server().hosts, namespace, more, file, command:gsub("'", "'\\''"), file, file, file))
  self.keys = assert(io.open(file, "w"))
  self.keys:setvbuf "no"
  open[self] = true
  return self
end

function Terminal:read(name)
  local file = io.open(self.file .. "." .. name)
  local text = file and file:read "*a" or ""
  if file then file:close() end
  return (text:gsub("\r", ""))
end

-- What it has shown so far.
function Terminal:shown() return self:read "out" end

-- Waits until this is shown.
function Terminal:shows(pattern)
  env.eventually(("'%s' is shown, not: %s"):format(pattern, self:shown()), function() return self:shown():find(pattern) end, LIMIT)
end

function Terminal:type(text) self.keys:write(text) end

local function forget(terminal)
  open[terminal] = nil
  terminal.keys:close()
  os.execute(("rm -f %s %s.*"):format(terminal.file, terminal.file))
end

-- Waits for its end; returns the exit status, and what it has shown.
function Terminal:finish()
  env.eventually("the end", function() return self:read "status":find "\n" end, LIMIT)
  local status, shown = tonumber(self:read "status"), self:shown()
  forget(self)
  return status, shown
end

---Ends what a test that failed has left. For after_each.
function M.clear()
  for terminal in pairs(open) do
    os.execute("kill " .. terminal:read "pid")
    forget(terminal)
  end
end

return M
