-- The cyclic barrier's part in the torture run: members in each worker, and what must be true of what they noted.
--
-- Whoever went on did so with others: at some instant while he waited as many waited as make a round, and none of
-- these gave up. Who was killed, or lost its session, may have been in a round.

local zk = require "zkrecipes"

local M = {}

local PATH, SIZE, MEMBERS = "/meeting", 3, 2

-- ---- In a worker -------------------------------------------------------------------------------

local function attend(barrier, life, note, name)
  local count = 0
  while not life.over() do
    count = count + 1
    local meeting = ("%s-%d-%d"):format(life.tag, name, count)
    note("arrives", meeting)
    local passed, _, code = barrier:wait(life.random:between(0, 3))
    note("parts", meeting, passed and "passed" or code)
    zk.sleep(life.random:between(0, 0.5))
  end
end

---@param session table the worker's
---@param life table over(), tag: of this life of this worker, random
---@param note fun(what: string, ...) writes a line of the log
---@return function[] tasks
function M.tasks(session, life, note)
  local barrier, tasks = session:cyclic_barrier(PATH, SIZE), {}
  for name = 1, MEMBERS do tasks[name] = function() attend(barrier, life, note, name) end end
  return tasks
end

-- ---- The judgement -----------------------------------------------------------------------------

function M.new() return { all = {}, open = {}, passed = 0 } end

function M.arrives(meetings, time, rest)
  local one = { name = rest, from = time, to = math.huge }
  meetings.open[rest] = one
  table.insert(meetings.all, one)
end

function M.parts(meetings, time, rest)
  local name, outcome = rest:match("^(%S+) (%S+)$")
  local one = meetings.open[name]
  meetings.open[name], one.to, one.outcome = nil, time, outcome
  if outcome == "passed" then meetings.passed = meetings.passed + 1 end
end

local function before(a, b) return a.time < b.time or a.time == b.time and a.change > b.change end

-- Beginnings and ends, in order, and how many waited after each; each meeting learns its own two.
local function steps_of(meetings)
  local steps, count = {}, 0
  for _, one in ipairs(meetings.all) do
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

---@return string[] alone who went on without enough others
function M.judge(meetings)
  local steps, alone = steps_of(meetings), {}
  for _, one in ipairs(meetings.all) do
    local most = one.outcome == "passed" and most_at_once(steps, one)
    if most and most < SIZE then alone[#alone + 1] = ("%s at %.6f: %d waited"):format(one.name, one.to, most) end
  end
  return alone
end

---What is left of it on the servers.
function M.left(session) return session:children(PATH) or {} end

return M
