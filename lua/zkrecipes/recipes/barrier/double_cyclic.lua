-- Double and cyclic barriers: n members continue together. join.lua has how a member joins, leave.lua how it leaves.
--
-- 1. A member creates two ephemeral znodes in one request: w-<tag> means that it waits, m-<tag> that it takes part.
-- 2. It lists the directory. A member that sees n waiting members begins a round with the first n of them: in one request it
--    deletes their w- znodes and creates round-<tag>, whose data are their tags. If one of them has given up, or another member was
--    faster, the request changes nothing, and the member lists again.
-- 3. When its own w- znode is gone, the member is in a round. Each member watches only this znode.
-- 4. A member of a cyclic barrier deletes its m- znode. A member of a double barrier leaves the round later: leave.lua.
--
-- Members beyond n wait for the next round. The tags say n: a member counts only those that wait for the same n, and one
-- that finds a member with another n, which has waited longer than all with its own, gives up (`conflict`).
--
-- What can go wrong: the time limit passes: the member deletes its w- znode; if that was gone already, the member is in a round, and
-- the call succeeds. A member dies: its znodes are deleted with its session. The session is lost while the member waits: `lost`; then
-- it is not known whether the round had begun.

local check = require "zkrecipes.check"
local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.host.coroutines"
local failure = require "zkrecipes.failure"
local joins = require "zkrecipes.recipes.barrier.join"
local leaves = require "zkrecipes.recipes.barrier.leave"
local limits = require "zkrecipes.limit"
local requests = require "zkrecipes.lost_answers"
local wait = require "zkrecipes.host.wait"

local M = {}

local Session = {}

local SIZE_MAX = 5000
local REQUEST_MAX = 1000000 -- bytes
local NAME_ROOM = 90        -- bytes that a member needs in the request that begins a round, beside the barrier's path

-- Raises unless a round of this size can begin: one request names all its members. A chroot and a namespace, which also count, are not
-- known here.
local function check_size(path, size, name)
  check.below_root(path, 1, name)
  check.count(size, SIZE_MAX, 2, name)
  local most = math.floor(REQUEST_MAX / (#path + NAME_ROOM)) - 1 -- less the round itself
  if size > most then
    check.bad(2, name, ("a path of %d bytes allows at most %d members, got %d"):format(#path, most, size))
  end
end

-- ---- The double barrier ------------------------------------------------------------------------

local Double = {}
Double.__index = Double
Double.__name = "zkrecipes.double_barrier"

-- session:double_barrier(path, n)
function Session:double_barrier(path, size)
  check_size(path, size, "double_barrier")
  return setmetatable({ session = self, path = path, size = size }, Double)
end

local function entered(barrier) barrier.entering = nil end

function Double:enter(timeout)
  if self.member or self.entering then
    core.misuse(("double_barrier:enter %s: this object is in a round already, or enters one; call leave first"):format(self.path))
  end
  self.entering = true
  local member, message, code, came = wait.within(core.host(self.session), entered, self, joins.join, self, timeout,
    "double_barrier:enter", true)
  entered(self)
  if not member then return nil, message, code, came end
  self.member = leaves.guarded(member)
  return true
end

function Double:leave(timeout)
  check.seconds(timeout, 1, "leave", true)
  local member = self.member
  if not member then core.misuse(("double_barrier:leave %s: this object is in no round; call enter first"):format(self.path)) end
  member.what = "double_barrier:leave"
  local limit = limits.new(self.session, timeout)
  local done, dead, code = limit:told(leaves.leave(member, limit))
  if done or code == "closed" then self.member = nil end
  return done, dead, code
end

-- ---- The cyclic barrier ------------------------------------------------------------------------

local Cyclic = {}
Cyclic.__index = Cyclic
Cyclic.__name = "zkrecipes.cyclic_barrier"

-- session:cyclic_barrier(path, n)
function Session:cyclic_barrier(path, size)
  check_size(path, size, "cyclic_barrier")
  return setmetatable({ session = self, path = path, size = size }, Cyclic)
end

-- Until n have come; each n that come are one generation. Any number of coroutines may wait with one object.
function Cyclic:wait(timeout)
  local member, message, code, came = joins.join(self, timeout, "cyclic_barrier:wait", false)
  if not member then return nil, message, code, came end
  local task = joins.behind(self.session, requests.insist, self.session, self.session.delete, self.session, member.takes_part)
  coroutines.pcall(task.wait, task, member.limit.left()) -- a member that is canceled here is through nevertheless
  return true
end

failure.name(Double, "double_barrier")
failure.name(Cyclic, "cyclic_barrier")
check.selves("double_barrier", Double, Double)
check.selves("cyclic_barrier", Cyclic, Cyclic)
classes.extend(core.classes.session, Session)

core.own(debug.getinfo(1, "S").source)
return M
