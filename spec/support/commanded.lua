-- Runs zkr with a command in the background, and knows its processes. The command and two descendants ignore SIGTERM and write the time
-- to files: `self`; `near`, a process of its group; `left`, a process that has left the group and lost its parent.

local env = require "spec.support.env"
local fork = require "spec_fork"
local process = require "spec.support.process"

local M = {}

local LIMIT = 300 -- seconds that zkr or the command may take; they take far less even on a busy machine

local started = {} -- those that have not ended

local FAMILY = [[trap '' TERM; (setsid lua5.4 spec/support/stamps.lua %s.left &); lua5.4 spec/support/stamps.lua %s.near &
  echo $$ >%s.command; exec lua5.4 spec/support/stamps.lua %s.self]]
local STAMPS = { "self", "near", "left" }

-- The command's words for the shell.
function M.quote(word) return "'" .. word:gsub("'", "'\\''") .. "'" end

local Commanded = {}
Commanded.__index = Commanded

-- The spec may have been started with ignored signals: a shell makes programs in the background ignore SIGINT and SIGQUIT, nohup SIGHUP,
-- perf SIGUSR2. Without a terminal: that of the spec must not be stopped.
local START = "{ sh -c 'echo $$ >%s.pid; exec setsid env --default-signal %s %s bin/zkr %s' >%s.out 2>%s.err </dev/null; " ..
  "echo $? >%s.status; } &"

---Starts bin/zkr with this line of arguments, and with these variables. ignored: the name of a signal that it ignores from its start.
---within: a command in front of bin/zkr.
---
---It gets no descriptor of the spec. A proxy ends when the pipe and the socket to it are closed everywhere, and the spec waits for that,
---also when a dropped proxy is collected. If a zkr that the spec has stopped had them open, each would wait for the other.
function M.start(arguments, variables, ignored, within)
  local file = os.tmpname()
  local self = setmetatable({ file = file }, Commanded)
  local all = { HOME = "/nonexistent", XDG_CONFIG_HOME = "" }
  for name, value in pairs(variables) do all[name] = value end
  local before = {}
  for name, value in pairs(all) do before[#before + 1] = name .. "=" .. M.quote(value) end
  fork.keep_from(3)
  os.execute("export " .. table.concat(before, " ") .. "; " .. START:format(
    file, ignored and "--ignore-signal=" .. ignored or "", within or "", arguments:gsub("'", "'\\''"), file, file, file))
  started[self] = true
  return self
end

---Starts it on the server of the specs, in this namespace. more: variables, which win.
function M.start_in(namespace, arguments, more, ignored)
  local variables = { ZKR_HOSTS = env.server().hosts, ZKR_NAMESPACE = namespace, ZKR_TIMEOUT = "60" }
  for name, value in pairs(more or {}) do variables[name] = value end
  return M.start(arguments, variables, ignored)
end

---Kills what a test that failed has left. The minder kills the command; a family ends by itself, if the minder does not.
function M.clear()
  for zkr in pairs(started) do
    os.execute(("kill -CONT %s 2>/dev/null; kill -KILL %s 2>/dev/null"):format(zkr:minder() or "", zkr:pid() or ""))
    zkr:forget()
  end
  started = {}
end

---Starts it with the family.
function M.family(arguments, variables)
  local file = os.tmpname()
  local self = M.start(("%s -- sh -c %s"):format(arguments, M.quote(FAMILY:format(file, file, file, file))), variables)
  self.stamps = file
  return self
end

function Commanded:read(name, stamps)
  local file = io.open((stamps and self.stamps or self.file) .. "." .. name)
  local text = file and file:read "*a" or ""
  if file then file:close() end
  return text
end

-- The last complete line that a process of the family has written; nil: none.
local function last(text) return tonumber(text:match "([%d.]+)\n[^\n]*$") end

-- When the first, and when the last process of the family wrote for the last time; nil: one has not begun.
function Commanded:ends()
  local first, final = math.huge, 0
  for _, name in ipairs(STAMPS) do
    local at = last(self:read(name, true))
    if not at then return nil end
    first, final = math.min(first, at), math.max(final, at)
  end
  return first, final
end

function Commanded:over() return self:read "status":find "\n" ~= nil end

-- Waits for the condition. Fails at once if zkr has ended without it.
local function await(zkr, what, condition)
  local over
  env.eventually(what, function()
    over = zkr:over()
    return condition() or over
  end, LIMIT)
  if condition() then return end
  error(("never happened: %s; zkr ended with status %s: %s%s"):format(what, zkr:read "status", zkr:read "out", zkr:read "err"), 0)
end

-- Waits until all processes of the family write.
function Commanded:runs()
  await(self, "the command's processes run", function() return self:ends() ~= nil end)
end

-- Waits until its output has this.
function Commanded:prints(pattern)
  await(self, ("'%s' is printed"):format(pattern), function() return self:read "out":find(pattern) ~= nil end)
end

function Commanded:pid() return self:read("pid"):match "%d+" end
function Commanded:command() return self:read("command", true):match "%d+" end
function Commanded:minder() return self:pid() and process.children(self:pid())[1] end
function Commanded:signal(name, pid) os.execute(("kill -%s %s"):format(name, pid or self:pid())) end

-- Waits for the end of zkr; returns its exit status and what it said.
function Commanded:finish()
  env.eventually("the end of zkr", function() return self:over() end, LIMIT)
  local status, out, err = tonumber(self:read "status"), self:read "out", self:read "err"
  os.execute(("rm -f %s %s.*"):format(self.file, self.file))
  started[self] = nil
  return status, out, err
end

-- Removes what the family has written.
function Commanded:forget()
  if self.stamps then os.execute(("rm -f %s %s.*"):format(self.stamps, self.stamps)) end
end

return M
