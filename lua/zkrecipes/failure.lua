-- Rewrites the failure messages of queues, barriers and latches: they name the method that was called and the path of its object, not
-- the request that failed.

local core = require "zkrecipes.core"

local M = {}

-- "multi: why", or "get /jobs/lanes: why" > "queue:put /jobs: why".
function M.say(what, path, message)
  if message:find("^queue:") or message:find("^item:") then return message end
  local why = message:match("^[%w_:]+ /[^:]*: (.*)$") or message:match("^[%w_:]+: (.*)$") or message
  return what .. " " .. path .. ": " .. why
end

local function told(what, object, ...)
  local ok, message, code = ...
  if ok ~= nil or type(code) ~= "string" then return ... end
  return nil, M.say(what, object.path, message), code, select(4, ...)
end

-- Makes all methods of a class do so. kind: what it is called.
function M.name(methods, kind)
  for name, method in pairs(methods) do
    if type(method) == "function" and not name:find("^__") then
      local what = kind .. ":" .. name
      methods[name] = function(self, ...) return told(what, self, method(self, ...)) end
    end
  end
end

core.own(debug.getinfo(1, "S").source)
return M
