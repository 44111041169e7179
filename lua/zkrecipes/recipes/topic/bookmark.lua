-- The bookmark of a named subscriber: the znode that says up to which position it has acked.
--
-- 1. subscribe writes its own word into the bookmark. From then on only this subscription may ack: an earlier one with the same name, of a
--    process that died or is paused, fails.
-- 2. ack writes the position. One task writes for all coroutines that ack, one write at a time, each time the greatest position.
--
-- What can go wrong: the answer to a write is lost (read the bookmark: it has our word and the position, or the write is sent again; it
-- names the version that it replaces, so one that arrives late does nothing). Another subscription has taken the name (`conflict`). The
-- bookmark was deleted by `forget` (`no_node`).

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local layout = require "zkrecipes.recipes.topic.layout"
local limits = require "zkrecipes.limit"
local random = require "zkrecipes.random"
local requests = require "zkrecipes.lost_answers"
local tasks = require "zkrecipes.host.tasks"
local wait = require "zkrecipes.host.wait"
local waiters = require "zkrecipes.host.waiters"

local M = {}
M.__index = M

-- ---- The znode ---------------------------------------------------------------------------------

-- { position =, born =, owner =, version = }; or nil, message, code.
local function read(session, path)
  local data, stat, code = requests.sure(session.get, session, path)
  if code then return nil, stat, code end
  local acked = layout.decode_acked(data)
  if not acked then
    return nil, ("session:get %s: the znode %s holds no position; delete it, or use another name"):format(path, path), "conflict"
  end
  acked.version = stat.version
  return acked
end

-- Writes over the version that it names. True; false: the bookmark has another one; or nil, message, code.
local function write(session, path, acked)
  local stat, message, code = requests.sure(session.set, session, path, layout.encode_acked(acked.position, acked.born, acked.owner),
    acked.version)
  if stat then
    acked.version = stat.version
    return true
  end
  if code == "bad_version" or code == "no_node" then return false end
  return nil, message, code
end

-- Makes the bookmark. True; false: it exists; or nil, message, code.
local function make(session, path, first)
  local made, message, code = requests.sure(session.create, session, path, layout.encode_acked(first.position, first.born, first.owner))
  if made then return true end
  if code == "node_exists" then return false end
  if code == "no_node" then message = ("session:create %s: the topic was deleted meanwhile; call subscribe again"):format(path) end
  return nil, message, code
end

local function other_topic(path)
  return nil, ("session:get %s: the topic was deleted and made anew since; call forget for this name"):format(path), "conflict"
end

-- Makes the bookmark ours. { position =, version =, born =, owner = }; or nil, message, code. position: if it does not exist yet.
local function claim(session, path, position, born)
  local mine = { position = position, born = born, owner = random.hex(8), version = 0 }
  while true do
    local acked, message, code = read(session, path)
    local done
    if acked and acked.born ~= born then return other_topic(path) end
    if acked and acked.owner == mine.owner then return acked end -- the answer was lost
    if acked then
      mine.position, mine.version = acked.position, acked.version
      done, message, code = write(session, path, mine)
    elseif code == "no_node" then
      mine.position, mine.version = position, 0
      done, message, code = make(session, path, mine)
    end
    if done then return mine end
    if done == nil then return nil, message, code end
  end
end

-- open(session, limited, path, position, born): the bookmark; or nil, message, code. limited: the session under a time limit.
function M.open(session, limited, path, position, born)
  local acked, message, code = claim(limited, path, position, born)
  if not acked then return nil, message, code end
  local host = core.host(session)
  return setmetatable({ session = session, host = host, path = path, acked = acked, wanted = acked.position,
    waiters = waiters.new(host) }, M)
end

-- ---- Acks --------------------------------------------------------------------------------------

local function taken(path)
  return nil, ("session:set %s: another subscription has taken this name"):format(path), "conflict"
end

-- The bookmark was written by another process, or an answer was lost. True: it is still ours; or nil, message, code.
local function look_again(bookmark)
  local now, message, code = read(bookmark.session, bookmark.path)
  if not now then return nil, message, code end
  if now.owner ~= bookmark.acked.owner then return taken(bookmark.path) end
  bookmark.acked = now
  return true
end

-- Writes until the bookmark says what is wanted. True; or nil, message, code.
local function catch_up(bookmark)
  while bookmark.acked.position < bookmark.wanted do
    local acked = bookmark.acked
    local later = { position = bookmark.wanted, born = acked.born, owner = acked.owner, version = acked.version }
    local done, message, code = write(bookmark.session, bookmark.path, later)
    if done then bookmark.acked = later end
    if done == false then done, message, code = look_again(bookmark) end
    if not done then return nil, message, code end
    bookmark.waiters:wake()
  end
  return true
end

local function ended(bookmark, trip, task)
  bookmark.trip, trip.over = nil, true
  if not task.ok then
    local why = task.results[1]
    trip.message = "subscription:ack: it was not written: " .. check.text(why)
    trip.code = why == wait.canceled and "canceled" or "error"
  end
  if trip.code then bookmark.wanted = bookmark.acked.position end
  bookmark.waiters:wake()
end

local function start(bookmark)
  local trip = {}
  bookmark.trip = trip
  tasks.behind(bookmark.host, { quiet = true, on_end = function(task) ended(bookmark, trip, task) end },
    function() trip.ok, trip.message, trip.code = catch_up(bookmark) end)
  return trip
end

-- Waits until the bookmark says this position, or a later one.
function M:ack(position, timeout)
  wait.check()
  local session, what = self.session, "subscription:ack " .. self.path
  if position <= self.acked.position then return true end
  if timeout == 0 and limits.away(session) then return limits.unconnected(session, what) end
  local limit = limits.new(session, timeout)
  self.wanted = math.max(self.wanted, position)
  while self.acked.position < position do
    local trip = self.trip or start(self)
    local record = not trip.over and self.waiters:enter()
    if record and not wait.pause(self.host, record, limit:rest()) then
      record:give_up()
      return limits.passed(session, what, true)
    end
    if trip.code then return nil, trip.message, trip.code end
  end
  return true
end

core.own(debug.getinfo(1, "S").source)
return M
