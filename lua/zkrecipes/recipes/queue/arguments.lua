-- Checks the arguments of a queue's methods. Each function raises at the caller's line and says what is wrong.

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"

local M = {}

M.BUCKET = 1000      -- items after which a bucket is sealed; all processes must have the same
M.LISTED = 50000     -- names of a simple queue at most: a listing takes some hundredths of a second; a Java client accepts few more
local ID_MAX = 200   -- bytes

-- An option of session:queue.
function M.integer(value, name, least, most)
  if value ~= nil and (value % 1 ~= 0 or value < least or value > most) then
    check.bad(2, "queue", ("option '%s': integer from %d to %d expected, got %s"):format(name, least, most, tostring(value)))
  end
end

-- where: for the message: "entry 3: ".
function M.data(data, method, where)
  if type(data) ~= "string" then check.bad(1, method, (where or "") .. "string expected, got " .. type(data)) end
end

function M.id(id, method)
  M.data(id, method)
  if #id == 0 or #id > ID_MAX then check.bad(1, method, ("1 to %d bytes expected, got %d"):format(ID_MAX, #id)) end
end

core.own(debug.getinfo(1, "S").source)
return M
