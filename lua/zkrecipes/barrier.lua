-- The single barrier and the latch: everybody waits until somebody opens.
--
-- Barrier: while the znode is there, it is closed. close: create it; open: delete it; wait: until it is gone.
-- The algorithm is "Barriers" of ZooKeeper's page of recipes.
--
-- Latch: opens for ever when it was counted down n times.
-- 1. The znode holds n; its version says how often it was counted down.
-- 2. count_down: in one request, create a znode of this call's own, and set the latch if it has the version that we
--    know; the last one also creates the znode "open".
-- 3. wait: until "open" is there. So waiters are woken once, not by every count.
--
-- What can go wrong: somebody else has counted meanwhile (read the version, try again); the answer is lost (the
-- znode of the call's own says whether it was done).

local check = require "zkrecipes.check"
local core = require "zkrecipes.core"
local gate = require "zkrecipes.gate"

local M = {}

local Session = core.classes.session.methods
local sure = gate.sure

-- ---- Barrier -----------------------------------------------------------------------------------

local Barrier = {}
Barrier.__index = Barrier
Barrier.__name = "zkrecipes.barrier"

-- session:barrier(path)
function Session:barrier(path)
  check.self(self, core.classes.session.meta, "barrier")
  check.path(path, 1, "barrier")
  return setmetatable({ session = self, path = path }, Barrier)
end

-- Idempotent.
function Barrier:close()
  local made, message, code = sure(self.session.create, self.session, self.path, "", { parents = true })
  if made or code == "node_exists" then return true end
  return nil, message, code
end

-- Idempotent.
function Barrier:open()
  local done, message, code = sure(self.session.delete, self.session, self.path)
  if done or code == "no_node" then return true end
  return nil, message, code
end

-- Until it is open.
function Barrier:wait(timeout)
  return gate.await(self.session, self.path, false, timeout, "barrier:wait")
end

-- ---- Latch -------------------------------------------------------------------------------------

local Latch = {}
Latch.__index = Latch
Latch.__name = "zkrecipes.latch"

local COUNT_MAX = 1000000

-- session:latch(path, n)
function Session:latch(path, count)
  check.self(self, core.classes.session.meta, "latch")
  check.path(path, 1, "latch")
  check.count(count, COUNT_MAX, 2, "latch")
  return setmetatable({ session = self, path = path, total = count, counted = 0 }, Latch)
end

local function conflict(latch, stored)
  return nil, ("latch %s: it was made for %s counts, not for %d; delete it to make another one"):format(latch.path,
    tostring(stored), latch.total), "conflict"
end

-- How often it was counted down; makes the latch when it is missing.
local function look(latch)
  local session = latch.session
  local data, stat, code = sure(session.get, session, latch.path)
  if data == nil and code == "no_node" then
    local made, message, why = sure(session.create, session, latch.path, tostring(latch.total), { parents = true })
    if not made and why ~= "node_exists" then return nil, message, why end
    data, stat, code = sure(session.get, session, latch.path)
  end
  if data == nil then return nil, stat, code end
  if data ~= tostring(latch.total) then return conflict(latch, data) end
  latch.counted = stat.version
  return stat.version
end

local tags = 0

local function own_name(latch)
  tags = tags + 1
  return ("%s/%s-%d"):format(latch.path, latch.session.id, tags)
end

-- One attempt, under the version that we know.
local function count(latch, own)
  local parts = {
    { "create", own, "" },
    { "set", latch.path, tostring(latch.total), latch.counted },
  }
  if latch.counted + 1 == latch.total then parts[3] = { "create", latch.path .. "/open", "" } end
  return latch.session:multi(parts)
end

local function left(latch) return math.max(latch.total - latch.counted, 0) end

-- How many are left then; 0 when it is open already.
function Latch:count_down()
  local counted, message, code = look(self)
  if not counted then return nil, message, code end
  local own = own_name(self)
  while self.counted < self.total do
    local done
    done, message, code = count(self, own)
    if done then
      self.counted = self.counted + 1
      return left(self)
    end
    if code ~= "bad_version" and code ~= "node_exists" and code ~= "connection_loss" then return nil, message, code end
    counted, message, code = look(self)
    if not counted then return nil, message, code end
    if sure(self.session.exists, self.session, own) then return left(self) end
  end
  return 0
end

-- How many counts are missing.
function Latch:count()
  local counted, message, code = look(self)
  if not counted then return nil, message, code end
  return left(self)
end

function Latch:wait(timeout)
  return gate.await(self.session, self.path .. "/open", true, timeout, "latch:wait")
end

check.selves(Barrier, Barrier)
check.selves(Latch, Latch)

core.own(debug.getinfo(1, "S").source)
return M
