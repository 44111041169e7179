-- Acks a list of items, up to a hundred in one transaction (src/recipes/queue/ack_all.c).
-- 1. Cut the list into runs of items without an id.
-- 2. Ack a run in one transaction. An item with an id is acked alone, because its tombstone has rules of its own.
--
-- What can go wrong: an item of a run is no longer ours, or the answer is lost: each item of the run is acked alone.

local check = require "zkrecipes.check"
local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"
local items = require "zkrecipes.recipes.queue.item"
local wait = require "zkrecipes.host.wait"

local M = {}

local RUN = 100

local mark = core.classes.claim.inner.mark
local ack_marked = classes.waiting(core.classes.queue.inner.ack_all)

local function check_all(queue, list)
  check.list(list, 1, "ack_all")
  local seen = {}
  for i = 1, #list do
    local problem = items.problem(list[i], queue)
    if seen[list[i]] then problem = "is in the list twice" end
    if problem then check.bad(1, "ack_all", ("entry %d %s"):format(i, problem)) end
    seen[list[i]] = true
  end
end

-- True if it can be acked together with others.
local function is_plain(item) return not item.id and not item.claim.over end

-- Returns the index behind the run that begins at `from`.
local function run_end(list, from)
  local to = from
  while list[to] and to - from < RUN and is_plain(list[to]) do to = to + 1 end
  return to
end

-- Acks the items of a run in one transaction. True; false if nothing was done, or if that is not known; or nil, message, code.
local function ack_run(queue, list, from, to)
  wait.check() -- an error between the marks and the start would leave them for the next call
  for i = from, to - 1 do mark(list[i].claim) end
  return ack_marked(queue.core)
end

-- Acks one item. True; false if it was lost; or nil, message, code.
local function ack_one(item)
  if item.claim.over == "acked" then return true end
  local done, message, code = item:ack()
  if done then return true end
  if code == "lost" then return false end
  return nil, (message:gsub("^item:ack ", "queue:ack_all ", 1)), code
end

function M.ack_all(queue, list)
  check_all(queue, list)
  local lost, at, alone = {}, 1, 0
  while at <= #list do
    local to = at > alone and run_end(list, at) or at
    local done, message, code = false, nil, nil
    if to - at > 1 then done, message, code = ack_run(queue, list, at, to) end
    if done then
      for i = at, to - 1 do items.ended(list[i]) end
      at = to
    elseif done == false then
      alone = math.max(alone, to - 1, at)
      done, message, code = ack_one(list[at])
      if done == false then lost[#lost + 1] = list[at] end
      if done ~= nil then at = at + 1 end
    end
    if done == nil then return nil, message, code, at - 1 end
  end
  return #list - #lost, lost
end

core.own(debug.getinfo(1, "S").source)
return M
