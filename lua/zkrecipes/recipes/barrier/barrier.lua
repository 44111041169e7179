-- The single barrier and the latch: coroutines wait until it opens.
--
-- Barrier: closed while its znode exists. close creates the znode, open deletes it, wait waits until it is gone.
-- The algorithm is "Barriers" of ZooKeeper's page of recipes.
--
-- Latch: opens for ever when it was counted down n times.
-- 1. The znode holds n; its version is the number of counts so far.
-- 2. count_down creates a znode for this call and sets the latch's znode under the version that we know, in one request. The last
--    count also creates the znode "open".
-- 3. wait compares n with the znode's data, then waits until "open" exists. So waiters are woken once, not by every count.
--
-- What can go wrong: another client has counted meanwhile (read the version, try again); the answer is lost (the znode of this call
-- shows whether the request was done).

local check = require "zkrecipes.check"
local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"
local failure = require "zkrecipes.failure"
local shared_watch = require "zkrecipes.recipes.barrier.shared_watch"
local limits = require "zkrecipes.limit"
local requests = require "zkrecipes.lost_answers"

local M = {}

local Session = {}
local sure, transact = requests.sure, requests.transact

-- ---- Barrier -----------------------------------------------------------------------------------

local Barrier = {}
Barrier.__index = Barrier
Barrier.__name = "zkrecipes.barrier"

-- session:barrier(path)
function Session:barrier(path)
  check.below_root(path, 1, "barrier")
  return setmetatable({ session = self, path = path }, Barrier)
end

-- Idempotent.
function Barrier:close(timeout)
  check.seconds(timeout, 1, "close", true)
  local limit = limits.new(self.session, timeout)
  local session = limit.session
  local made, message, code = sure(session.create, session, self.path, "", { parents = true })
  if made or code == "node_exists" then return true end
  return limit:told(nil, message, code)
end

-- Idempotent.
function Barrier:open(timeout)
  check.seconds(timeout, 1, "open", true)
  local limit = limits.new(self.session, timeout)
  local session = limit.session
  local done, message, code = sure(session.delete, session, self.path)
  if done or code == "no_node" then return true end
  return limit:told(nil, message, code)
end

-- Waits until it is open.
function Barrier:wait(timeout)
  return shared_watch.await(self, self.path, false, timeout, "barrier:wait")
end

-- ---- Latch -------------------------------------------------------------------------------------

local Latch = {}
Latch.__index = Latch
Latch.__name = "zkrecipes.latch"

local COUNT_MAX = 1000000

-- session:latch(path, n)
function Session:latch(path, count)
  check.below_root(path, 1, "latch")
  check.count(count, COUNT_MAX, 2, "latch")
  return setmetatable({ session = self, path = path, total = count }, Latch)
end

local function conflict(latch, stored)
  local number = stored and stored:match("^%d+$")
  if not number then return nil, ("latch %s: the znode is not a latch; use another path"):format(latch.path), "conflict" end
  return nil, ("latch %s: it was made for %s counts, not for %d; delete it to make a new one"):format(latch.path,
    number, latch.total), "conflict"
end

-- Returns how often it was counted down; creates the latch if it is missing.
local function look(latch, session)
  local data, stat, code = sure(session.get, session, latch.path)
  if data == nil and code == "no_node" then
    local made, message, why = sure(session.create, session, latch.path, tostring(latch.total), { parents = true })
    if not made and why ~= "node_exists" then return nil, message, why end
    data, stat, code = sure(session.get, session, latch.path)
  end
  if code then return nil, stat, code end
  if data ~= tostring(latch.total) then return conflict(latch, data) end
  return stat.version
end

-- The parts of a count under the version that we know.
local function parts_of(latch, counted, own)
  local parts = {
    { "create", own, "" },
    { "set", latch.path, tostring(latch.total), counted },
  }
  if counted + 1 == latch.total then parts[3] = { "create", latch.path .. "/open", "" } end
  return parts
end

-- After a lost answer: whether this call was counted; or nil, message, code.
local function was_counted(session, own)
  local there, message, code = sure(session.sync, session, own)
  if there then there, message, code = sure(session.exists, session, own) end
  if there == nil then return nil, message .. "; the latch may or may not have been counted down", code end
  return there ~= false
end

local function left(latch, counted) return math.max(latch.total - counted, 0) end

-- The same as Latch:count_down.
local function count_down(self, limit)
  local session = limit.session
  if limit.try and limits.away(session) then
    return limits.unconnected(self.session, "latch:count_down " .. self.path)
  end
  local id, message, code = requests.connected(session, limit:rest())
  local counted
  if id then counted, message, code = look(self, session) end
  if not counted then return nil, message, code end
  local own = self.path .. "/" .. requests.tag(self.session, id)
  while counted < self.total do
    local done
    done, message, code = sure(transact, session, parts_of(self, counted, own), was_counted, session, own)
    if done or code == "node_exists" then return left(self, counted + 1) end -- node_exists: counted late, in another session
    if code ~= "bad_version" then return nil, message, code end
    counted, message, code = look(self, session)
    if not counted then return nil, message, code end
  end
  return 0
end

-- How many are left then; 0 when it is open already.
function Latch:count_down(timeout)
  check.seconds(timeout, 1, "count_down", true)
  local limit = limits.new(self.session, timeout)
  return limit:told(count_down(self, limit))
end

-- How many counts are missing.
function Latch:count(timeout)
  check.seconds(timeout, 1, "count", true)
  local limit = limits.new(self.session, timeout)
  local counted, message, code = look(self, limit.session)
  if not counted then return limit:told(nil, message, code) end
  return left(self, counted)
end

function Latch:wait(timeout)
  local function fits(session) return look(self, session) end
  return shared_watch.await(self, self.path .. "/open", true, timeout, "latch:wait", self.total .. ":", fits)
end

failure.name(Barrier, "barrier")
failure.name(Latch, "latch")
check.selves("barrier", Barrier, Barrier)
check.selves("latch", Latch, Latch)
classes.extend(core.classes.session, Session)

core.own(debug.getinfo(1, "S").source)
return M
