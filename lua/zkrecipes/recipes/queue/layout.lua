-- The layout of a queue on the servers, and its names.
--
--   /jobs/lanes/<priority>             a lane, one for each priority; its data is the number of the bucket that takes items
--   /jobs/lanes/<priority>/in          consumers watch it, and the last bucket
--   /jobs/lanes/<priority>/b-<number>  a bucket of about a thousand items; version 0: it takes items, otherwise it is sealed
--   /jobs/lanes/<priority>/b-<number>/<tag>-q-<number>   an item: one line of header, then the data
--   /jobs/lanes/<priority>/b-<number>/<tag>-p-<number>   the same, put without a transaction; void if the number is 1000 or more
--   /jobs/dead                         also a lane: the dead letters; the versions of `in` and `out` count what was put in and removed
--   /jobs/later                        delayed items, counted in the same way; its buckets are minutes: b-<minute>/<due>-<tag>-q-<number>
--   /jobs/claims/<lane>.<bucket>.<item>  ephemeral: the item is claimed
--   /jobs/consumers/<session>-<n>      ephemeral: a process that claims items; its claims have the same session
--   /jobs/seat                         a fair lock; its holder watches what comes in
--   /jobs/ids/<two digits>/<id>        lane, bucket and tag of the item with this id, or of its tombstone
--   /jobs/done                         also a lane: the tombstones of done or removed items that had an id
--
-- Each claim changes the version of the item, so a request that claims, acks or moves an item names the version that its sender has read.
-- An item keeps its tag when it is moved, and its tombstone has the same tag.

local core = require "zkrecipes.core"
local paths = require "zkrecipes.path"

local M = {}

M.BUCKET = 1000      -- items after which a bucket is sealed; all processes must have the same
M.PRIORITIES = 65535 -- the largest
M.ID_MAX = 200       -- bytes

-- ---- Names -------------------------------------------------------------------------------------

function M.priority_name(priority) return ("%05d"):format(priority) end
function M.bucket_name(number) return ("b-%010d"):format(number) end

-- These checks are strict: a znode whose name only resembles ours belongs to another program and is left alone.

local TEN_DIGITS = ("%d"):rep(10)
local ITEM = "%w+_%d+_%d+%-[pq]%-" .. TEN_DIGITS .. "$"
local DELAYED = "^" .. ("%d"):rep(13) .. "%-" .. ITEM

-- True if it is a name of a znode that must never count as an item, because its bucket was full when it was created there.
function M.is_void(name) return tonumber(name:match "%-p%-(%d+)$" or 0) >= M.BUCKET end

-- True if it is the name of an item. delayed: of one in /jobs/later.
function M.is_item(name, delayed)
  return name:find(delayed and DELAYED or "^" .. ITEM) ~= nil and not M.is_void(name)
end

-- Return the number of the bucket, or the priority of the lane, with this name; or nil.
function M.bucket_number(name) return tonumber(name:match("^b%-(" .. TEN_DIGITS .. ")$")) end

function M.priority_number(name)
  local priority = tonumber(name:match("^%d%d%d%d%d$"))
  return priority and priority <= M.PRIORITIES and priority or nil
end

-- The number at the end of an item's name or path.
function M.sequence(name) return tonumber(name:match("%-[pq]%-(%d+)$")) end

function M.due_of(name) return tonumber(name:match("^(%d+)%-")) end

-- The tag in the name of an item.
function M.tag(name) return name:match("([%w_]+)%-[pq]%-%d+$") end

function M.claim_name(lane, bucket, name) return ("%s.%010d.%s"):format(lane.name, bucket, name) end

local function escape(char) return ("%%%02x"):format(char:byte()) end

-- The path of an id's znode. An id may consist of any bytes.
function M.id_path(root, id)
  local sum = 0
  for i = 1, #id do sum = (sum * 31 + id:byte(i)) % 256 end
  return ("%s/ids/%02x/%s"):format(root, sum, (id:gsub("[^%w_-]", escape))), ("%s/ids/%02x"):format(root, sum)
end

-- ---- Lanes -------------------------------------------------------------------------------------

-- A lane is { path, name, tail = number of the bucket that takes items, or nil if it is unknown }.
function M.lane(path, name) return { path = path, name = name, put_count = path .. "/in", out = path .. "/out" } end

function M.bucket_path(lane, number) return paths.child(lane.path, M.bucket_name(number)) end

function M.item_path(place) return paths.child(M.bucket_path(place.lane, place.bucket), place.name) end

-- ---- What an item holds ------------------------------------------------------------------------

local HEADER = "^zq1 (%d%d?%d?%d?%d?%d?%d?%d?%d?) (%d%d?%d?%d?%d?) ([%w_%-]+) (%S+)\n"

local function unescape(digits) return string.char(tonumber(digits, 16)) end

-- Returns the entry, { attempts, priority, claimant = tag of the last claim, id, data }; or nil if the data are not those of an item.
function M.decode(blob)
  local _, last, attempts, priority, claimant, id = (blob or ""):find(HEADER)
  if not last then return nil end
  id = id ~= "." and id:gsub("%%(%x%x)", unescape) or nil
  if tonumber(priority) > M.PRIORITIES or id and #id > M.ID_MAX then return nil end
  return { attempts = tonumber(attempts), priority = tonumber(priority), claimant = claimant, id = id,
    data = blob:sub(last + 1) }
end

core.own(debug.getinfo(1, "S").source)
return M
