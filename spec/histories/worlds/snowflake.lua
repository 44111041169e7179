-- The snowflake. No id is given twice by any processes, although their clocks differ and are set back, and although sessions are killed.
-- The ids of one holder grow, and all are higher than those of earlier holders of the same number. A holder writes a time to the servers
-- before it uses that time. A hold that is not valid gives no id.
-- In some histories another client deletes the znodes of numbers that are held. Then two processes have the same number at one time, so the
-- ids of the second holder may be lower than some of the first. But no id is given twice.

local PATH = "/w"
local DIFFERENCE = 20 -- seconds by which a clock is wrong, at most

local function set_clock(h, zk)
  local process = h.world.process_of[zk]
  h.world:step_clock(zk, h:within(2 * DIFFERENCE) - DIFFERENCE - process.ahead_ms / 1000)
end

local function check_id(h, ids, id, last)
  h:expect(not h.given[id], "%s was given twice", id)
  h:expect(ids:valid() and ids.sequence < 4096, "%s has the wrong sequence %d", id, ids.sequence)
  h:expect(not last or #id > #last or #id == #last and id > last, "%s after %s", id, tostring(last))
  local latest = h.latest[ids.number] or 0
  h:expect(last or h.deleted or ids.last > latest, "%s, the first id of its holder, is not higher than those of earlier holders", id)
  local times = ("%d up to %.0f"):format(ids.number, ids.bound.last)
  h:expect((h.owner[times] or ids) == ids, "two holders use the times of the number %s", times)
  h.owner[times] = ids
  h.given[id], h.latest[ids.number] = true, math.max(latest, ids.last)
  local data = h.world:get(ids.bound.path) or ""
  h:expect((tonumber(data:match " (%d+)$") or 0) >= ids.last, "%s has a time after the bound %s", id, data)
end

local PASSES = { lost = true, connection_loss = true, timeout = true, canceled = true, closed = true }

-- Deletes a number's znode, like an operator who believes that its holder is dead.
local function delete_number(h, zk, ids)
  h.deleted = true
  h:attempt(zk, function() return ids.session:delete(PATH .. "/" .. ids.number) end)
end

local function take_ids(h, zk, ids)
  local last
  for _ = 1, h:below(30) do
    local id, message, code
    local note = {}
    h:attempt(zk, function()
      id, message, code = ids:next(h:chance(0.3) and h:within(3) or nil)
      if id then
        check_id(h, ids, id, last)
        last = id
      end
      return true
    end, note)
    h:expect(id or note.struck or PASSES[code], "next: %s", tostring(message))
    if code == "lost" or code == "closed" then return end
    zk.sleep(h:chance(0.6) and 0 or h:within(1.5))
    if h:chance(0.05) then set_clock(h, zk) end
    if h.meddles and h:chance(0.05) then delete_number(h, zk, ids) end
    if h:chance(0.05) then ids.sequence = 4095 end -- no id of this millisecond is left
  end
end

local function worker(h, zk, session)
  local snowflake = session:snowflake(PATH)
  while not h.healed do
    local ids
    local _, message, code = h:attempt(zk, function()
      local why, word
      ids, why, word = snowflake:acquire(h:within(8))
      return ids and true, why, word
    end)
    h:expect(not message or PASSES[code], "acquire: %s", tostring(message))
    if ids then
      take_ids(h, zk, ids)
      ids:release()
    end
    zk.sleep(h:within(0.5))
  end
end

return function(h)
  h.given, h.latest, h.owner = {}, {}, {}
  h.meddles = h:chance(0.3)
  h:crowd(3, 2, function(zk, session)
    set_clock(h, zk)
    return function() worker(h, zk, session) end
  end)
  function h.check()
    collectgarbage() -- ends the holds of calls that were canceled
    h.world:advance(60)
    for _, name in ipairs(h.world:children(PATH) or {}) do
      h:expect(name:find "^used%-%d+$" or name == "queue", "%s is left", name)
    end
  end
end
