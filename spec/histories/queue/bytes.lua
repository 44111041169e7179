-- What the consumers' sessions count for their ephemeral znodes: never less than these have, and in the end no more.

local actors = require "spec.histories.queue.actors"

local M = {}

-- The bytes that the znodes of this session in the folder count for.
local function bytes_in(world, folder, session)
  local sum = 0
  for _, name in ipairs(world:children(folder) or {}) do
    local path = folder .. "/" .. name
    if select(2, world:get(path)).ephemeral_owner == session.id then sum = sum + #path + 14 end
  end
  return sum
end

-- For each consumer that lives: what its session counts, and what it has, without the idle lock.
local function each(history, fn)
  for _, consumer in ipairs(history.simple and {} or history.consumers) do
    local session = consumer.session
    if not consumer.dead then
      fn(function()
        local there = bytes_in(history.world, "/jobs/claims", session) + bytes_in(history.world, "/jobs/consumers", session)
        return session:usage().ephemeral_bytes, there
      end)
    end
  end
end

-- At any time.
function M.check_least(history)
  each(history, function(figures)
    local counted, there = figures()
    if counted < there then actors.violation(history, "bytes", ("only %d are counted, not %d"):format(counted, there)) end
  end)
end

-- In the end, when there is no claim and no idle lock. An answer may be on its way.
function M.check(history, zk)
  each(history, function(figures)
    local counted, there
    for _ = 1, 100 do
      counted, there = figures()
      if counted == there then return end
      zk.sleep(0.1)
    end
    actors.violation(history, "bytes", ("%d are counted, not %d"):format(counted, there))
  end)
end

return M
