-- Rewrites the failure messages of methods that send requests of the session: they name the method that was called and the path of its
-- object, not the request that failed.

local core = require "zkrecipes.core"

local M = {}

-- "session:get /jobs/lanes: why", or "session:multi /jobs: part 2 (/jobs/claims/1): why; no part was done" > "queue:put /jobs: why".
function M.say(what, path, message)
  if message:find("^queue:") or message:find("^item:") then return message end
  local why = message:match("^[%w_:]+ /.-: (.*)$") or message:match("^[%w_:]+: (.*)$") or message
  why = why:match("^part %d+ %(.-%): (.*); no part was done$") or why
  return what .. " " .. path .. ": " .. why
end

local function failed(ok, _, code) return ok == nil and type(code) == "string" end

-- told("queue:put", path, ...): the results of the method, with the message rewritten if they are a failure.
function M.told(what, path, ...)
  if not failed(...) then return ... end
  local _, message, code = ...
  return nil, M.say(what, path, message), code, select(4, ...)
end

local function told_of(what, object, ...)
  if not failed(...) then return ... end -- `object` may be anything: the method itself checks it
  return M.told(what, object.path, ...)
end

-- Makes all methods of a class do so. kind: what it is called.
function M.name(methods, kind)
  for name, method in pairs(methods) do
    if type(method) == "function" and not name:find("^__") then
      local what = kind .. ":" .. name
      methods[name] = function(self, ...) return told_of(what, self, method(self, ...)) end
    end
  end
end

core.own(debug.getinfo(1, "S").source)
return M
