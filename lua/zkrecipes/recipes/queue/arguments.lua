-- Checks the arguments of a queue's methods. Each function raises at the caller's line and says what is wrong.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"

local M = {}

M.BUCKET = 1000      -- items after which a bucket is sealed; all processes must have the same
M.LISTED = 50000     -- names of a simple queue at most: a listing takes some hundredths of a second; a Java client accepts few more
M.PRIORITIES = 65535 -- the largest
local ID_MAX = 200   -- bytes

function M.integer(value, name, method, argument, least, most)
  if value ~= nil and (value % 1 ~= 0 or value < least or value > most) then
    check.bad(argument, method, ("option '%s': integer from %d to %d expected, got %s"):format(name, least, most,
      tostring(value)))
  end
end

-- name: the prefix in the message ("option 'id': "), or "".
function M.id(id, name, method, argument)
  if #id > 0 and #id <= ID_MAX then return end
  check.bad(argument, method, ("%s1 to %d bytes expected, got %d"):format(name, ID_MAX, #id))
end

function M.data(data, method, argument, name)
  if type(data) ~= "string" then check.bad(argument, method, (name or "") .. "string expected, got " .. type(data)) end
end

core.own(debug.getinfo(1, "S").source)
return M
