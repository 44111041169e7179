-- The bound of a number: no id of this number has a time after it. It is kept in a znode beside the number, "used-7" beside "7", which
-- outlives the holder. So the next holder of the number begins after all ids that were given, whatever its clock says.
--
-- 1. The holder of the number reads the bound. (Its own znode was made before, so every write of an earlier holder is in what it reads.)
-- 2. Before it uses a time after its own times, it writes a bound that is some seconds later, in a guarded write over the version that it
--    knows.
-- 3. When the write was answered, the times after the old bound, up to the new one, are its own. Nothing else gives it times.
--
-- Of two writes over the same version only one succeeds. So the times of two writes never overlap, even if another client has deleted the
-- number's znode and two processes use the number.
--
-- What can go wrong: the answer to a write is lost, or another holder has written. Then the bound is read again before the next write, and
-- later ids have times after it. A bound that was read is only a floor, because it may be another holder's. If it was our own write, its
-- times are skipped, at most as many as one write reserves. A late write, done after the number has another holder, makes that holder's
-- write over the older version fail. So that holder reads again, and no holder uses the times of the late bound.

local core = require "zkrecipes.core"

local M = {}

local valid = core.classes.hold.core.valid

local ROUNDS = 10

local NONE = "the znode %s does not hold the times of a snowflake, but '%s'; no id can be given for its number while it does"
local OTHER_EPOCH = "the znode %s was written with the epoch %s ms, and this one is %s ms; ids of both might be equal"
local RELEASED = "its number was released while it read the znode %s"
local KEEPS = "the znode %s keeps changing: another program writes it"

-- "1577836800000 1577836803000": the epoch and the bound, in milliseconds since 1970. Null, or a text of another kind: nothing.
local function parse(data)
  local epoch, ms = (data or ""):match "^(%d+) (%d+)$"
  if not epoch or #epoch > 15 or #ms > 15 then return nil end
  return tonumber(epoch), tonumber(ms)
end

local function shown(data) return data and data:sub(1, 40):gsub("[^%g ]", "?") or "null" end

-- Makes `bound` what these data say; gives true; or nil, message, code.
local function take(bound, data, stat)
  local epoch, ms = parse(data)
  if not epoch then return nil, NONE:format(bound.path, shown(data)), "conflict" end
  if epoch ~= bound.epoch then
    return nil, OTHER_EPOCH:format(bound.path, data:match "%d+", ("%.0f"):format(bound.epoch)), "conflict"
  end
  bound.floor, bound.version, bound.sure = ms, stat.version, true
  return true
end

-- Reads the bound; true, or nil, message, code. Without a znode it is 0, which no time is before.
local function read(bound, limit)
  local data, stat, code = limit.session:get(bound.path)
  if code == "no_node" then
    bound.floor, bound.version, bound.sure = 0, nil, true
    return true
  end
  if code then return nil, stat, code end
  return take(bound, data, stat)
end

-- new(path, epoch, limit): the bound of a number, read, that the caller holds; or nil, message, code.
--   bound.floor  all times up to it may have been used by others
--   bound.last   times after the floor, up to this one, are the caller's
function M.new(path, epoch, limit)
  local bound = { path = path, epoch = epoch, last = 0 }
  local ok, message, code = read(bound, limit)
  if not ok then return nil, message, code end
  return bound
end

-- One write. Gives true, or false if the bound must be read again, or nil, message, code. (Another coroutine may have released the hold
-- since the caller looked: while this one read the bound. A write with it would be misuse, and this caller has done nothing wrong.)
local function write(bound, hold, ms, limit)
  if not valid(hold) then return nil, RELEASED:format(bound.path), "lost" end
  local data = ("%.0f %.0f"):format(bound.epoch, ms)
  local done, message, code
  if bound.version then
    done, message, code = limit:write(hold, "set", bound.path, data, bound.version)
  else
    done, message, code = limit:write(hold, "create", bound.path, data)
  end
  if done then
    bound.last, bound.version = ms, (bound.version or -1) + 1
    return true
  end
  bound.sure = false
  if code == "bad_version" or code == "node_exists" or code == "no_node" then return false end
  return nil, message, code
end

-- raise(bound, hold, ms, step, limit): makes the times from `ms` on, or from the floor on if that is later, the caller's, and `step` more;
-- true, or nil, message, code. In any case it may have raised bound.floor.
function M.raise(bound, hold, ms, step, limit)
  for _ = 1, ROUNDS do
    local ok, message, code = true, nil, nil
    if not bound.sure then ok, message, code = read(bound, limit) end
    if ok then ok, message, code = write(bound, hold, math.max(ms, bound.floor + 1) + step, limit) end
    if ok == nil then return nil, message, code end
    if ok then return true end
  end
  return nil, KEEPS:format(bound.path), "conflict"
end

core.own(debug.getinfo(1, "S").source)
return M
