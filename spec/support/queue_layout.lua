-- What is where in a queue, for specs that read its znodes: a second reading of src/recipes/queue/names.h.

local arguments = require "zkrecipes.recipes.queue.arguments"

local M = {}

local ID_MAX = 200 -- bytes
local PRIORITY_MAX = 65535

-- ---- Names -------------------------------------------------------------------------------------

function M.bucket_name(number) return ("b-%010d"):format(number) end

-- These checks are strict: a znode whose name only resembles ours belongs to another program and is left alone.

local TEN_DIGITS = ("%d"):rep(10)
local ITEM = "%w+_%d+_%d+%-[pq]%-" .. TEN_DIGITS .. "$"
local DELAYED = "^" .. ("%d"):rep(13) .. "%-" .. ITEM

-- True if it is a name of a znode that must never count as an item, because its bucket had no room for it and its list.
function M.is_void(name)
  local following, number = name:match "_(%d+)_%d+%-p%-(%d+)$"
  return number ~= nil and tonumber(following) + tonumber(number) >= arguments.BUCKET
end

-- True if it is the name of an item. delayed: of one in /jobs/later.
function M.is_item(name, delayed)
  return name:find(delayed and DELAYED or "^" .. ITEM) ~= nil and not M.is_void(name)
end

-- The number of the bucket with this name; or nil.
function M.bucket_number(name) return tonumber(name:match("^b%-(" .. TEN_DIGITS .. ")$")) end

-- The tag in the name of an item.
function M.tag(name) return name:match("([%w_]+)%-[pq]%-%d+$") end

local function escape(char) return ("%%%02x"):format(char:byte()) end

-- The path of an id's znode. An id may consist of any bytes.
function M.id_path(root, id)
  local sum = 0
  for i = 1, #id do sum = (sum * 31 + id:byte(i)) % 256 end
  return ("%s/ids/%02x/%s"):format(root, sum, (id:gsub("[^%w_-]", escape)))
end

-- ---- What an item holds ------------------------------------------------------------------------

local HEADER = "^zq1 (%d%d?%d?%d?%d?%d?%d?%d?%d?) (%d%d?%d?%d?%d?) ([%w_%-]+) (%S+)\n"

local function unescape(digits) return string.char(tonumber(digits, 16)) end

-- Returns the entry, { attempts, priority, claimant = tag of the last claim, id, data }; or nil if the data are not those of an item.
function M.decode(blob)
  local _, last, attempts, priority, claimant, id = (blob or ""):find(HEADER)
  if not last then return nil end
  id = id ~= "." and id:gsub("%%(%x%x)", unescape) or nil
  if tonumber(priority) > PRIORITY_MAX or id and #id > ID_MAX then return nil end
  return { attempts = tonumber(attempts), priority = tonumber(priority), claimant = claimant, id = id,
    data = blob:sub(last + 1) }
end

return M
