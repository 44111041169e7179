-- Runs a program from the documents, as a reader would: block.lua FILE LINE HOSTS NAMESPACE. The program begins at LINE. Its sessions
-- connect to these hosts, below the namespace, which must exist. Failures are printed on standard error, even if the program does not check
-- for them.
--
-- A program that says "until Ctrl-C" would run forever. It is canceled when it has been connected for SECONDS.

local core = require "zkrecipes.core"
local sessions = require "zkrecipes.session"
local zk = require "zkrecipes"

local SECONDS = 1.5

local path, line, hosts, namespace = arg[1], tonumber(arg[2]), arg[3], arg[4]

-- The text of the program, after so many empty lines that messages have the line numbers of the document.
local function read()
  local rows, number = {}, 0
  for row in io.lines(path) do
    number = number + 1
    if number > line and row:find("^```") then break end
    rows[number] = number < line and "" or row
  end
  return table.concat(rows, "\n")
end

-- ---- Failures ----------------------------------------------------------------------------------

local watched = {}
local over = false -- true: the program was canceled

local function watch(methods)
  if watched[methods] then return end
  watched[methods] = true
  local watching = {}

  local function look(name, value, message, code, ...)
    local caller = debug.getinfo(2, "Sl")
    if not over and value == nil and type(code) == "string" and caller and caller.source == "@" .. path then
      io.stderr:write(("%s:%d: %s: %s (%s)\n"):format(path, caller.currentline, name, tostring(message), code))
    end
    local class = type(value) == "table" and getmetatable(value)
    if class and type(class.__index) == "table" then watch(class.__index) end
    return value, message, code, ...
  end

  for name, method in pairs(methods) do
    if type(method) == "function" and name:sub(1, 2) ~= "__" then
      watching[name] = function(...) return look(name, method(...)) end
    end
  end
  for name, method in pairs(watching) do methods[name] = method end
end

assert(zk.preload())
for _, class in pairs(core.classes) do watch(class.methods) end
core.own(debug.getinfo(1, "S").source) -- misuse is raised at the program's line

-- ---- The program's surroundings ----------------------------------------------------------------

local open, opened = sessions.open, nil

function sessions.open(host, options)
  local given = {}
  for name, value in pairs(options or {}) do given[name] = value end
  given.hosts, given.namespace = hosts, namespace .. (given.namespace or "")
  given.timeout, given.request_timeout = 100, 100 -- a busy machine may lose a shorter session
  local session, message, code = open(host, given)
  opened = opened or session
  if session then session:connected(300) end -- the program's limits are meant for servers that answer
  return session, message, code
end

local program = read()
local run = zk.run

local function enough()
  while not opened do zk.sleep(0.01) end
  assert(opened:connected(300))
  zk.sleep(SECONDS)
  over = true
end

if program:find("until Ctrl-C", 1, true) then
  function zk.run(fn, options)
    return run(function()
      zk.any { fn, enough }
      opened:close() -- ends the coroutines that it has spawned
    end, options)
  end
end

assert((loadstring or load)(program, "@" .. path))()
