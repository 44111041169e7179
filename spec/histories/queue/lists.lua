-- Lists in a history of the queue (histories.lua). In some histories the answer to a list is lost, and consumers ack some of its items
-- before the producer looks whether it was done.
--
--   twice       no item of a list is done twice, if some item of it was not even given when put_all returned: that one shows that the list
--               is there

local M = {}

local MOST = 6     -- items
local DOWN = 300   -- milliseconds that a link is down, at most

-- put_all may put all items, or only the first ones. note(history, name, ok, code): of each item.
function M.put(history, queue, list, note)
  local timeout = history.capacity and history.roll(2) == 0 and history.roll(3) or nil
  local ok, _, code, count = queue:put_all(list, timeout)
  for j = 1, #list do
    local done = ok or j <= count
    note(history, list[j], done, code)
  end
  return ok
end

-- Those of producers whose faults do not tell when an item is gone; each list is one request.
function M.are_watched(history)
  return history.mode == "producers" and not (history.simple or history.takes or history.capacity)
end

-- Puts a list, whose answer is lost. number: begins the names of its items.
function M.put_watched(history, zk, queue, number, note)
  local list, left = {}, 0
  for j = 1, 2 + history.roll(MOST - 1) do list[j] = ("%s.%d"):format(number, j) end
  history.world:plan(zk, "lose_reply", { kind = "multi", down = history.roll(DOWN) / 1000 })
  local ok = M.put(history, queue, list, note)
  for _, name in ipairs(list) do left = left + (history.seen[name] and 0 or 1) end
  if ok and left > 0 then table.insert(history.lists, list) end
end

-- At the end. Returns the name of an item that was done twice though it must not be; or nil.
function M.doubled(history)
  for _, list in ipairs(history.lists) do
    for _, name in ipairs(list) do
      if (history.done[name] or 0) > 1 then return name end
    end
  end
end

return M
