-- What the specs of the built-in host share. Needs no server.

local zk = require "zkrecipes"

local M = {}

-- A session that never connects: nothing listens on port 1.
function M.deaf_session(options)
  options = options or {}
  options.hosts, options.timeout = "127.0.0.1:1", options.timeout or 60
  return zk.session(options)
end

-- Runs fn; returns the errors of its coroutines that were reported.
function M.reported(fn, options)
  local lines = {}
  options = options or {}
  options.on_error = function(text) lines[#lines + 1] = text end
  zk.run(fn, options)
  return lines
end

---Asserts that fn raises this message at a line of the file that calls; luassert's own functions cut the position off.
function M.assert_misuse(fn, pattern)
  local file = debug.getinfo(2, "S").short_src:match("[^/]+$")
  local ok, message = pcall(fn)
  if ok or not message:match("^[^\n]*" .. file:gsub("%p", "%%%0") .. ":%d+: " .. pattern) then
    error("no misuse " .. pattern .. " at a line of " .. file .. ", but: " .. tostring(message), 2)
  end
end

return M
