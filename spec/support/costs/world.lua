-- The simulated world in which costs are counted (spec/recipes/all/costs_spec.lua).

local assert = require "luassert"
local sim = require "zkrecipes.sim"

local KINDS = { "create", "delete", "exists", "get", "set", "children", "sync", "multi", "get_acl", "set_acl" }
local HALF = 0.05 -- seconds that a message takes; a write that a follower forwards takes twice as long

local World = {}
World.__index = World

local function new_session(zk)
  local session = zk.session { timeout = 30 }
  assert(session:connected(10))
  return session
end

-- Counts the requests of of.session; of.other belongs to another process. Nothing is collected meanwhile: holds, items and trees that a
-- case drops would be released at any time, which depends on the files that ran before.
function World.run(fn)
  collectgarbage("stop")
  local world = sim.new { seed = 1, latency = HALF, jitter = 0, container_interval = 1e9 }
  local ok, problem = pcall(world.run, world, function()
    local zk = world.zk
    local of = setmetatable({ world = world, zk = zk, session = new_session(zk), other = new_session(world:process()) }, World)
    of.tasks, of.kept = {}, {} -- kept: items, which come back when they are collected
    fn(of)
    for i = 1, #of.tasks do of.tasks[i]:cancel() end
  end)
  collectgarbage("restart")
  if not ok then error(problem, 0) end
end

-- A session of one more process.
function World:another() return new_session(self.world:process()) end

-- Advances until nothing is in flight.
function World:settle() self.world:advance(1.5) end

-- Runs fn in a coroutine of its own, until the end of the case at most.
function World:start(fn)
  self.tasks[#self.tasks + 1] = self.zk.spawn(fn)
end

local function requests(of)
  local counts = {}
  for i = 1, #KINDS do counts[KINDS[i]] = of.world:requests(of.zk, KINDS[i]) end
  return counts
end

-- Asserts that fn and all its consequences send exactly these requests.
function World:costs(expected, fn)
  self:settle()
  local before = requests(self)
  local result = fn()
  self:settle()
  local spent = requests(self)
  for kind, count in pairs(spent) do spent[kind] = count > before[kind] and count - before[kind] or nil end
  assert.same(expected, spent)
  return result
end

-- Asserts that fn takes so many round trips.
function World:takes(trips, fn)
  self:settle()
  local from = self.world:now()
  local result = fn()
  local took = self.world:now() - from
  assert.is_true(math.abs(took - trips * 2 * HALF) < 0.01, took .. " s")
  return result
end

-- Asserts what it costs to wait behind another hold of this lock, election ... Returns the hold or term.
function World:wait(expected, lock, method, ...)
  local got, timeout, permits = {}, ...
  self:costs(expected, function()
    self:start(function() got.hold = lock[method](lock, timeout, permits) end)
  end)
  return got
end

-- Calls a method of another process's lock; the call may still be waiting afterwards.
function World:theirs(lock, method, ...) return self:wait({}, lock, method, ...) end

return World
