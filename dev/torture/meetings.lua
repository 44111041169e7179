-- The barriers' part in the torture run: members in each worker, and the rules for their log lines.
--
-- If a member has passed, its round was full: at some instant of its wait, enough members for a round waited, and none of these gave up.
-- If a member has left a double barrier, enough members for a round had begun to leave before, or had lost their session. A member that was
-- killed, or lost its session, may have been in a round.

local zk = require "zkrecipes"

local M = {}

local SIZE = 3
local MEMBERS = { cyclic = 2, double = 1 }
local PATHS = { cyclic = "/meeting", double = "/phase" }
local GAVE_UP = { timeout = true, connection_loss = true } -- its limit passed
-- Outcomes after which the member's znode may exist until the server has ended its session.
local LINGERS = { lost = true, connection_loss = true }
-- Seconds within which the server has certainly ended a session, and a worker has learned that its session is lost, even if it was stopped.
local NOTICED = 20

-- ---- In a worker -------------------------------------------------------------------------------

local function leave(barrier, life, note, meeting)
  zk.sleep(life.random:between(0, 0.2))
  note("leaves", meeting)
  local done, code, _
  repeat done, _, code = barrier:leave(life.random:between(0, 2)) until not GAVE_UP[code]
  note("left", meeting, done and "passed" or code)
end

local function attend(barrier, life, note, name)
  local enter, count = barrier.enter or barrier.wait, 0
  while not life.over() do
    count = count + 1
    local meeting = ("%s-%d"):format(name, count)
    note("arrives", meeting)
    local passed, _, code = enter(barrier, life.random:between(0, 3))
    note("parts", meeting, passed and "passed" or code)
    if passed and barrier.leave then leave(barrier, life, note, meeting) end
    zk.sleep(life.random:between(0, 0.5))
  end
end

---@param session table the worker's
---@param life table over(), tag: of this life of this worker, random
---@param note fun(what: string, ...) writes a line of the log
---@return function[] tasks
function M.tasks(session, life, note)
  local tasks = {}
  for _, which in ipairs { "cyclic", "double" } do
    for number = 1, MEMBERS[which] do
      local barrier = session[which .. "_barrier"](session, PATHS[which], SIZE)
      tasks[#tasks + 1] = function() attend(barrier, life, note, ("%s-%s-%d"):format(which, life.tag, number)) end
    end
  end
  return tasks
end

-- ---- The checks --------------------------------------------------------------------------------

function M.new() return { cyclic = {}, double = {}, by_name = {}, passed = 0 } end

function M.arrives(meetings, worker, time, rest)
  local one = { name = rest, worker = worker, from = time, to = math.huge }
  meetings.by_name[rest] = one
  table.insert(meetings[rest:match("^%l+")], one)
end

function M.parts(meetings, time, rest)
  local name, outcome = rest:match("^(%S+) (%S+)$")
  local one = meetings.by_name[name]
  one.to, one.outcome = time, outcome
  if LINGERS[outcome] then one.to = time + NOTICED end
  if outcome == "passed" then meetings.passed = meetings.passed + 1 end
end

function M.leaves(meetings, time, rest) meetings.by_name[rest].leaves = time end

function M.left_it(meetings, time, rest)
  local name, outcome = rest:match("^(%S+) (%S+)$")
  meetings.by_name[name].gone = outcome == "passed" and time or nil
end

local function before(a, b) return a.time < b.time or a.time == b.time and a.change > b.change end

-- The beginnings and ends of all waits, in order, with the number of waiting members after each. Sets the positions of each member's two.
local function steps_of(all)
  local steps, count = {}, 0
  for _, one in ipairs(all) do
    if one.outcome ~= "timeout" then
      one.first, one.last = { time = one.from, change = 1 }, { time = one.to, change = -1 }
      table.insert(steps, one.first)
      table.insert(steps, one.last)
    end
  end
  table.sort(steps, before)
  for i, step in ipairs(steps) do
    count = count + step.change
    step.index, step.count = i, count
  end
  return steps
end

local function most_at_once(steps, one)
  local most = 0
  for i = one.first.index, one.last.index do most = math.max(most, steps[i].count) end
  return most
end

-- The members that had begun to leave by then, or may have been dead.
local function is_out(one, time, losses)
  if one.outcome == "lost" or one.outcome == "connection_loss" or one.leaves and one.leaves <= time then return true end
  for _, loss in ipairs(losses) do
    if loss.worker == one.worker and loss.time >= one.from and loss.time <= (one.leaves or math.huge) + NOTICED then return true end
  end
  return false
end

-- The members that waited at the same time as this one, and had left before it left.
local function count_out(all, one, losses)
  local count = 0
  for _, other in ipairs(all) do
    local together = other ~= one and other.outcome ~= "timeout" and other.from <= one.to and other.to >= one.from
    if together and is_out(other, one.gone, losses) then count = count + 1 end
  end
  return count
end

---@param losses table[] { worker, time }: when a session was lost, or its worker killed
---@return string[] alone members that passed without a full round
---@return string[] early members that left while too many were still inside
function M.judge(meetings, losses)
  local alone, early = {}, {}
  for _, all in ipairs { meetings.cyclic, meetings.double } do
    local steps = steps_of(all)
    for _, one in ipairs(all) do
      local most = one.outcome == "passed" and most_at_once(steps, one)
      if most and most < SIZE then alone[#alone + 1] = ("%s at %.6f: %d waited"):format(one.name, one.to, most) end
      local count = one.gone and count_out(all, one, losses)
      if count and count < SIZE - 1 then early[#early + 1] = ("%s at %.6f: after %d"):format(one.name, one.gone, count) end
    end
  end
  return alone, early
end

-- What is left on the servers. A round whose members have all died stays until the next round ends.
function M.left(session)
  local left = {}
  for _, path in pairs(PATHS) do
    for _, name in ipairs(session:children(path) or {}) do
      if not name:find("^round%-") then left[#left + 1] = path .. "/" .. name end
    end
  end
  return left
end

return M
