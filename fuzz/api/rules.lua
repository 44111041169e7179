-- What every answer of the API must be. Each rule returns what is wrong, or nothing.

local zk = require "zkrecipes"
local values = require "fuzz.api.values"

local M = {}

-- ---- The codes ---------------------------------------------------------------------------------

local codes = { error = true } -- of task:wait, which the core does not return

for line in io.lines("src/core/status.def") do
  local word = line:match('^ZR_STATUS%([%w_]+, "([%w_]+)"')
  if word then codes[word] = true end
end

-- ---- Errors ------------------------------------------------------------------------------------

local HERE = "^%.?/?fuzz/[%w/]+%.lua:%d+: "

-- Misuse that any function may report.
local GENERAL = { "every coroutine waits for another one", "a task cannot wait for itself", "zk.run is running already",
  "the loop is running already", "zk.run belongs to", "cannot wait here", "do not wait in a generator",
  "would wait for itself" }

-- Texts that appear only if our own code, or the binding, has a bug.
local INTERNAL = { "attempt to", "zkrecipes/[%w_/]+%.lua", "upvalue", "the binding knows", "%(null%)", "no task waits in slot",
  "invalid order", "stack overflow", "has not finished", "userdata expected" }

local function names_it(message, name)
  for _, form in ipairs { "'" .. name .. "'", ":" .. name .. ": ", ":" .. name .. " /" } do
    if message:find(form, 1, true) then return true end
  end
  for i = 1, #GENERAL do
    if message:find(GENERAL[i], 1, true) then return true end
  end
  return message:find("bad argument", 1, true) or message:find("bad self", 1, true)
end

local function internals(message)
  for i = 1, #INTERNAL do
    if message:find(INTERNAL[i]) then return "an error speaks of our inside" end
  end
end

-- True for what our own functions have raised, and for a canceled wait.
local function on_purpose(problem)
  return problem == zk.canceled or problem == values.raised or
    type(problem) == "string" and problem:find(values.PURPOSE, 1, true)
end

local function first_line(text) return text:match("^[^\n]*") end

function M.raised(name, problem)
  if on_purpose(problem) or name == "pcall" then return end -- pcall raises Lua's own errors
  if type(problem) ~= "string" then return "an error is no string" end
  if #problem > 20000 then return "an error is too long" end
  local message = first_line(problem)
  return internals(message) or not message:find(HERE) and "an error is not at the caller's line" or
    not names_it(message, name) and "an error names neither the function nor the argument" or nil
end

-- ---- Failures ----------------------------------------------------------------------------------

local function failure(message, code)
  if type(message) ~= "string" or type(code) ~= "string" then return "a nil comes without message and code" end
  if not codes[code] then return "a failure has an unknown code" end
  if not message:find("^%l[%w_:]*.-: [%l%d]") then return "a message is no sentence" end
  if message:find("\n", 1, true) and code ~= "error" and not message:find("\r\n", 1, true) then return "a message has several lines" end
  if code ~= "error" then return internals(message) end
end

-- Methods whose results are those of the user's functions, or may be nothing.
local FREE = { run = true, all = true, any = true, with = true, pcall = true, wait = true, sleep = true, cancel = true,
  timeout = true, states = true, property = true, observe = true, items = true, dead = true, await = true }

function M.returned(name, count, first, second, third)
  if first ~= nil or count == 0 and FREE[name] then return end
  if type(third) == "string" and type(second) == "string" and codes[third] then return failure(second, third) end
  if FREE[name] then return end
  if name == "get" and type(second) == "table" and second.czxid then return end
  local may_be_none = name == "leader" or name == "get" or name == "children" or name == "problem" or name == "source"
  if may_be_none and count > 0 and second == nil then return end
  if count == 0 then return "nothing was returned" end
  return failure(second, third)
end

-- ---- Errors that no task:wait has taken --------------------------------------------------------

function M.reported(text)
  if text:find(values.PURPOSE, 1, true) then return end
  local message = first_line(text):gsub("^in a session's log function: ", "")
  if message:find("the task was canceled", 1, true) then return end
  return internals(message) or not message:find(HERE) and "a reported error has no place" or nil
end

return M
