-- The queue's part in the torture run: a producer and consumers in each worker, and the rules for their log lines.
--
-- An item ends when its ack, its remove or the take that gave it was answered: once, whatever happened to earlier consumers that had
-- claimed it. An item whose put was answered has ended, or the outcome of its ack or remove is unknown, or it is in the queue at the end.
-- But one item may be gone for each take without an answer.

local zk = require "zkrecipes"

local M = {}

local PATH, OPTIONS = "/jobs", { attempts = 1000000 }
local CONSUMERS = 2

-- ---- In a worker -------------------------------------------------------------------------------

local function remove(queue, item, note)
  local done, _, code = queue:remove(item)
  if done ~= false then note("job", item, done and "removed" or code) end
end

-- Repeats each put until it is answered. The id prevents a second item.
local function produce(queue, life, note)
  local count = 0
  while not life.over() do
    count = count + 1
    local item, priority = life.tag .. "-" .. count, life.random:chance(0.2) and count % 4 or nil
    local done
    repeat
      local _, code
      done, _, code = queue:put(item, { id = item, delay = life.random:chance(0.1) and 0.2 or nil, priority = priority })
      note("put", item, done and "done" or code)
    until done or life.over()
    if done and life.random:chance(0.05) then remove(queue, item, note) end
    zk.sleep(life.random:between(0, 0.3))
  end
end

local function settle(item, random)
  if random:chance(0.1) then return nil, nil, "forgotten" end -- until the item is collected
  if random:chance(0.1) then return nil, nil, item:nack() and "back" or "unknown" end
  return item:ack()
end

-- If session and answer of an ack were lost, the code only says that the item is gone, not which client deleted it.
local function claim(session, queue, life, note)
  local item = queue:claim(life.random:between(0, 2))
  if item then
    local id = session.id
    zk.sleep(life.random:between(0, 0.05))
    local done, _, code = settle(item, life.random)
    if done then code = id and session.id == id and "done" or "gone" end
    note("job", item.data, code)
  end
end

-- Only tries, so that each result shows whether an item was taken.
local function take(_, queue, life, note)
  note("job", life.tag, "taking")
  local item, _, code = queue:take(0)
  if item then note("job", item, "taken") end
  if item or code == "timeout" then note("job", life.tag, "took") end
  zk.sleep(life.random:between(0, 0.1))
end

local function consume(session, queue, life, note)
  while not life.over() do
    local get = life.random:chance(0.2) and take or claim
    get(session, queue, life, note)
  end
end

---@param session table the worker's
---@param life table over(), tag: of this life of this worker, random
---@param note fun(what: string, ...) writes a line of the log
---@return function[] tasks
function M.tasks(session, life, note)
  local queue = session:queue(PATH, OPTIONS)
  local tasks = { function() produce(queue, life, note) end }
  for _ = 1, CONSUMERS do tasks[#tasks + 1] = function() consume(session, queue, life, note) end end
  return tasks
end

-- ---- The checks --------------------------------------------------------------------------------

-- Outcomes after which an item may be done although no worker was told.
local UNSURE = { connection_loss = true, unknown = true, canceled = true, closed = true, gone = true }

local ENDS = { done = true, taken = true, removed = true }
local TAKES = { taking = 1, took = -1 } -- of takes without an answer so far

function M.new() return { puts = {}, ends = {}, unsure = {}, count = 0, takes = 0 } end

-- Reads a line of a worker's log: "item outcome".
function M.add(items, what, rest)
  local item, outcome = rest:match("^(%S+) (%S+)$")
  if what == "put" and outcome == "done" then
    items.puts[item], items.count = true, items.count + 1
  elseif what == "job" and ENDS[outcome] then
    items.ends[item] = (items.ends[item] or 0) + 1
  elseif what == "job" and UNSURE[outcome] then
    items.unsure[item] = true
  elseif what == "job" then
    items.takes = items.takes + (TAKES[outcome] or 0)
  end
end

-- The items in the queue at the end.
function M.left(session)
  local left = {}
  for item in session:queue(PATH, OPTIONS):items() do left[item.data] = true end
  return left
end

---@return string[] lost missing items, if there are more than takes without an answer
---@return string[] again items that ended twice, or have ended and are still in the queue
function M.judge(items, left)
  local lost, again = {}, {}
  for item in pairs(items.puts) do
    if not (items.ends[item] or items.unsure[item] or left[item]) then lost[#lost + 1] = item end
  end
  for item, count in pairs(items.ends) do
    if count > 1 or left[item] then again[#again + 1] = item end
  end
  return #lost > items.takes and lost or {}, again
end

return M
