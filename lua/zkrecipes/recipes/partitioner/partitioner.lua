-- session:partitioner(path, parts, options): divides a set of parts among the members that are there. Composes a group, and a lock for
-- each part.
--
-- 1. Each partitioner is a member of the group `members` below the path. Its data are its weight, and a mark of its set of parts.
-- 2. When the group changes, a member waits until it has been quiet for a moment (settle), so that a burst of changes is one. Then it
--    divides: it computes which parts belong to it (division.lua). That asks no server, and all members compute the same.
-- 3. For each part that belongs to it now, it starts a keeper (keeper.lua), which acquires the part's lock, below `parts`, and runs the
--    user's function. For each part that belongs to another member now, it stops the keeper, which releases the lock.
--
-- The lock says who has a part; the division only says which member should try to get it. So members that see different groups for a
-- moment do no harm: one of them waits for the lock. A part that does not move costs no request.
--
-- What can go wrong: a member dies: its locks and its membership end with its session, and the division gives its parts to others. The
-- session is lost: the holds end, the keepers acquire in the next session, and the group's presence comes back; until the copy shows it,
-- the last division stays. Another client has our id: the copy shows a znode that is not ours (the nonce tells), so we have no part.
-- Members have different sets: each part is divided among all members, and its owner takes it if it is in its set; all of them are told.

local changes = require "zkrecipes.recipes.partitioner.changes"
local check = require "zkrecipes.check"
local classes = require "zkrecipes.classes"
local collected = require "zkrecipes.collected"
local core = require "zkrecipes.core"
local division = require "zkrecipes.recipes.partitioner.division"
local escape = require "zkrecipes.escape"
local failure = require "zkrecipes.failure"
local limits = require "zkrecipes.limit"
local random = require "zkrecipes.random"
local runs = require "zkrecipes.recipes.partitioner.run"
local tasks = require "zkrecipes.host.tasks"
local wait = require "zkrecipes.host.wait"
local works = require "zkrecipes.recipes.partitioner.work"
local activity = require "zkrecipes.status.activity"

local SETTLE = 1 -- seconds
local PARTS = "list of parts"
local CLOSED = "it was closed"

-- ---- The user's object -------------------------------------------------------------------------

local Partitioner = { __name = "zkrecipes.partitioner" }
Partitioner.__index = Partitioner

local function ended(work) return nil, work.over[1], work.over[2] end

-- partitioner:mine(): the parts that are held, in the order of their names.
function Partitioner:mine()
  local list = {}
  for part, keeper in pairs(self.work.keepers) do
    if keeper.own and keeper.own.hold:valid() then list[#list + 1] = part end
  end
  table.sort(list)
  return list
end

-- partitioner:hold(part): its hold; false: it is not ours.
function Partitioner:hold(part)
  if type(part) ~= "string" then check.bad(1, "hold", "string expected, got " .. type(part)) end
  local own = self.work:own_of(part)
  return own and own.hold:valid() and own.hold or false
end

-- partitioner:differing(): the ids of members whose set differs.
function Partitioner:differing()
  local list = {}
  for i, id in ipairs(self.work.differing) do list[i] = id end
  return list
end

-- partitioner:changes()
function Partitioner:changes()
  local work = self.work
  if work.over then return ended(work) end
  local reader = changes.new(work)
  reader.partitioner = self
  work.reads = work.reads + 1
  work.readers[reader] = work.reads
  local all = wait.in_order(work.numbers)
  for i = 1, #all do changes.note(reader, all[i]) end
  return reader, nil, nil, reader
end

-- Waits until the parts were divided.
local function await_division(work, left)
  while work.divisions == 0 and not work.over do
    local record = work.ready:enter()
    if left() == 0 or not wait.pause(work.host, record, left()) then
      record:give_up()
      return limits.passed(work.session, "ready")
    end
  end
  if work.over then return ended(work) end
  return true
end

-- partitioner:ready([timeout]): waits until we are a member, and the parts were divided once.
function Partitioner:ready(timeout)
  check.seconds(timeout, 1, "ready", true)
  local work = self.work
  local left = wait.limit(work.host, timeout)
  if work.divisions == 0 and not work.over then
    local here, message, code = work.member:ready(timeout)
    if not here then return nil, message, code end
  end
  return await_division(work, left)
end

-- Gives the set; raises unless it is a list of different names.
local function read_parts(parts, argument, name)
  check.list(parts, argument, name, PARTS)
  local set = { parts = {}, has = {} }
  for i = 1, #parts do
    local part = parts[i]
    if type(part) ~= "string" then check.bad(argument, name, ("string expected at %d, got %s"):format(i, type(part))) end
    if set.has[part] then check.bad(argument, name, ("part '%s' is twice in the list"):format(check.shown(part))) end
    set.parts[i], set.has[part] = part, true
  end
  set.mark = division.mark(set.parts)
  return set
end

-- Gives the paths of the parts' locks; or nil, message, code.
local function lock_paths(path, set)
  local locks = {}
  for i = 1, #set.parts do
    local name, message, code = escape(set.parts[i])
    if not name then return nil, message, code end
    locks[set.parts[i]] = path .. "/parts/" .. name
  end
  return locks
end

-- partitioner:set_parts(parts [, timeout]): another set from now on; waits until the other members can see that.
function Partitioner:set_parts(parts, timeout)
  local set, work = read_parts(parts, 1, "set_parts"), self.work
  check.seconds(timeout, 2, "set_parts", true)
  if work.over then return ended(work) end
  local locks, message, code = lock_paths(work.path, set)
  if not locks then return nil, message, code end
  work:take(set, locks)
  return work.member:update(division.encode(work.weight, set.mark, work.nonce), timeout)
end

-- partitioner:run(fn [, options]): calls fn(part, hold) for each part that is ours, until it is stopped or closed.
function Partitioner:run(fn, options)
  local run = runs.new(self.work, fn, options)
  if self.work.over then return ended(self.work) end
  return runs.wait(run)
end

-- partitioner:stop(): stops the functions; the parts stay ours.
function Partitioner:stop()
  local run = self.work.run
  if not run or run.ended then return false end
  runs.stop(run, "canceled", "it was stopped")
  return true
end

-- partitioner:close([timeout]): leaves; waits until the functions have ended and the locks are released.
function Partitioner:close(timeout)
  check.seconds(timeout, 1, "close", true)
  self.guard:disarm()
  local work = self.work
  local left, member = wait.limit(work.host, timeout), work.member
  self.member = self.member or member
  if work.run then runs.stop(work.run) end
  work:shut(CLOSED, "closed")
  local left_it, message, code = true, nil, nil
  if self.member then left_it, message, code = self.member:leave(timeout and left()) end
  while next(work.keepers) do
    local record = work.idle:enter()
    if left() == 0 or not wait.pause(work.host, record, left()) then
      record:give_up()
      return nil, "a function of 'run' has not ended within the time limit", "timeout"
    end
  end
  if not left_it then return nil, message, code end
  self.member = nil
  return true
end

failure.name(Partitioner, "partitioner")
check.selves("partitioner", Partitioner, Partitioner)
Partitioner.__close = function(partitioner) partitioner:close() end

-- ---- The session's method ----------------------------------------------------------------------

local Session = {}

local function read_options(options)
  options = check.options(options, { weight = "number", id = "string", settle = "number" }, 3, "partitioner")
  local weight = options.weight or 1
  if not (weight > 0 and weight <= division.WEIGHT_MAX) then
    check.bad(3, "partitioner", ("option 'weight': number above 0, and at most %.0f, expected, got %s"):format(division.WEIGHT_MAX, weight))
  end
  check.seconds(options.settle, 3, "partitioner", true)
  return { weight = weight, id = options.id or random.hex(8), settle = options.settle or SETTLE }
end

local function dropped(work) tasks.later(work.host, work.shut, work, CLOSED, "closed") end

local function state(partitioner)
  local work = partitioner.work
  if work.over then return nil end
  return ("%d of %d parts%s"):format(#partitioner:mine(), #work.set.parts, work.differing[1] and "; members have other parts" or "")
end

-- session:partitioner(path, parts [, { weight =, id =, settle = }])
function Session:partitioner(path, parts, options)
  check.below_root(path, 1, "partitioner")
  local set = read_parts(parts, 2, "partitioner")
  options = read_options(options)
  local locks, message, code = lock_paths(path, set)
  if not locks then return nil, failure.say("session:partitioner", path, message), code end
  local work = works.new(self, path, set, locks, options)
  local started
  started, message, code = work:start()
  if not started then return nil, failure.say("session:partitioner", path, message), code end
  local partitioner = setmetatable({ work = work, path = path, id = work.id, weight = work.weight,
    guard = collected.guard(dropped, work) }, Partitioner)
  activity.takes_part(work.host, partitioner, state)
  return partitioner
end

classes.extend(core.classes.session, Session)

core.own(debug.getinfo(1, "S").source)
