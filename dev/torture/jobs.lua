-- The queue's part in the torture run: a producer and consumers in each worker, and what must be true of what they noted.
--
-- An item is done when its ack was answered: once, whatever happened to those who had claimed it before. An item whose
-- put was answered is done, or its ack's outcome is unknown, or it is in the queue at the end.

local zk = require "zkrecipes"

local M = {}

local PATH, OPTIONS = "/jobs", { attempts = 1000000 }
local CONSUMERS = 2

-- ---- In a worker -------------------------------------------------------------------------------

-- Puts every item again until that is answered; its id keeps it from being there twice.
local function produce(queue, life, note)
  local count = 0
  while not life.over() do
    count = count + 1
    local item = life.tag .. "-" .. count
    local done
    repeat
      local _, code
      done, _, code = queue:put(item, { id = item, delay = life.random:chance(0.1) and 0.2 or nil })
      note("put", item, done and "done" or code)
    until done or life.over()
    zk.sleep(life.random:between(0, 0.3))
  end
end

local function settle(item, random)
  if random:chance(0.1) then return nil, nil, "forgotten" end -- until it is collected
  if random:chance(0.1) then return nil, nil, item:nack() and "back" or "unknown" end
  return item:ack()
end

local function consume(queue, life, note)
  while not life.over() do
    local item = queue:claim(life.random:between(0, 2))
    if item then
      zk.sleep(life.random:between(0, 0.05))
      local done, _, code = settle(item, life.random)
      note("job", item.data, done and "done" or code)
    end
  end
end

---@param session table the worker's
---@param life table over(), tag: of this life of this worker, random
---@param note fun(what: string, ...) writes a line of the log
---@return function[] tasks
function M.tasks(session, life, note)
  local queue = session:queue(PATH, OPTIONS)
  local tasks = { function() produce(queue, life, note) end }
  for _ = 1, CONSUMERS do tasks[#tasks + 1] = function() consume(queue, life, note) end end
  return tasks
end

-- ---- The judgement -----------------------------------------------------------------------------

-- Outcomes after which an item may be done although nobody was told.
local UNSURE = { connection_loss = true, unknown = true, canceled = true, closed = true }

function M.new() return { puts = {}, acks = {}, unsure = {}, count = 0 } end

---Takes a line of a worker's log: "item outcome".
function M.add(jobs, what, rest)
  local item, outcome = rest:match("^(%S+) (%S+)$")
  if what == "put" and outcome == "done" then
    jobs.puts[item], jobs.count = true, jobs.count + 1
  elseif what == "job" and outcome == "done" then
    jobs.acks[item] = (jobs.acks[item] or 0) + 1
  elseif what == "job" and UNSURE[outcome] then
    jobs.unsure[item] = true
  end
end

---What is in the queue at the end.
function M.left(session)
  local left = {}
  for item in session:queue(PATH, OPTIONS):items() do left[item.data] = true end
  return left
end

---@return string[] lost items of which nothing is known any more
---@return string[] again items that were done twice, or are done and still there
function M.judge(jobs, left)
  local lost, again = {}, {}
  for item in pairs(jobs.puts) do
    if not (jobs.acks[item] or jobs.unsure[item] or left[item]) then lost[#lost + 1] = item end
  end
  for item, count in pairs(jobs.acks) do
    if count > 1 or left[item] then again[#again + 1] = item end
  end
  return lost, again
end

return M
