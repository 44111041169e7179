-- The actors of a history of the queue (histories.lua): producers and consumers, and what each of them checks.

local core = require "zkrecipes.core"
local layout = require "spec.support.queue_layout"
local ids = require "spec.histories.queue.ids"
local lists = require "spec.histories.queue.lists"

local M = {}

M.DRAIN = 900      -- virtual seconds in which the queue must become empty after the faults
local TRY = 60     -- ... in which claim(0) must end: some requests, the last of which waits for a connection; and a pause
local AT_ONCE = 3  -- items of one put_all if there is a capacity

function M.violation(history, what, text)
  error(("%s: %s (%s)"):format(what, text, history.mode), 0)
end
local violation = M.violation

-- prefetch: of a consumer.
function M.queue_of(history, zk, capacity, prefetch)
  local session = zk.session { timeout = 4 + history.roll(6) }
  local options = { attempts = history.attempts, capacity = capacity, prefetch = prefetch }
  if history.simple then options = { format = "simple" } end
  return session:queue("/jobs", options), session
end

-- ---- Producers ---------------------------------------------------------------------------------

local function options_of(history, name)
  if history.simple then return nil end
  local options, roll = {}, history.roll
  if history.mode == "producers" or roll(history.removes and 2 or 4) == 0 then options.id = name end
  if history.mixed and roll(3) == 0 then options.priority = roll(history.priorities) end
  if history.mixed and roll(4) == 0 and not history.capacity then options.delay = roll(5) end
  if history.capacity and roll(3) == 0 then options.timeout = roll(3) end
  if history.timely then options.id, options.delay = name, 1 + roll(3) end
  if history.outrun then options.id = name end
  return options
end

-- Counts the items on the servers.
local function count_items(world, path, delayed)
  local sum = 0
  for _, bucket in ipairs(world:children(path) or {}) do
    for _, name in ipairs(layout.bucket_number(bucket) and world:children(path .. "/" .. bucket) or {}) do
      if layout.is_item(name, delayed) then sum = sum + 1 end
    end
  end
  return sum
end

-- The capacity may be exceeded: each of the other producers may have seen the same room, and uses up to a tenth of it before it counts
-- again.
local function check_room(history)
  local capacity, sum = history.capacity, 0
  if not capacity or history.mode == "faults" then return end -- a request that comes late may put an item twice
  for _, lane in ipairs(history.world:children("/jobs/lanes") or {}) do
    sum = sum + count_items(history.world, "/jobs/lanes/" .. lane)
  end
  local slack = (#history.producers - 1) * (AT_ONCE + math.floor(capacity / 10))
  if sum > capacity + slack then violation(history, "capacity", sum .. " items") end
end

local function note_put(history, name, ok, code)
  if ok then
    history.put[name] = true
    history.ended[name] = history.world:now()
  elseif code == "connection_loss" then
    history.maybe[name] = true
  elseif code == "full" and history.capacity then
    if not history.maybe[name] and not history.put[name] then history.refused[name] = true end
  elseif code ~= "timeout" then -- it passed between two requests: nothing was put
    violation(history, "put", tostring(code))
  end
end

-- Removes only an item whose put was done for certain. An earlier put of it, in a session that the client has given up, may arrive later.
local function remove(history, queue, name)
  if not history.put[name] then return end
  local done, _, code = queue:remove(name)
  if done then
    history.removed[name] = true
  elseif code == "connection_loss" then
    history.maybe_removed[name] = true
  elseif done == false then
    history.absent[name] = history.world:now()
  elseif code ~= "conflict" then
    violation(history, "remove", tostring(code))
  end
end

local function put(history, queue, zk, name)
  local options = options_of(history, name)
  local id = options and options.id
  for _ = 1, 1 + history.roll(2) * (id and 1 or 0) do
    history.refused[name] = nil
    local ok, _, code = queue:put(name, options)
    note_put(history, name, ok, code)
    check_room(history)
  end
  if history.roll(3) == 0 then zk.sleep(history.roll(1000) / 500) end
  if history.timely then zk.sleep(options.delay + (history.roll(40) - 10) / 1000) end
  if history.removes and id and history.roll(2) == 0 then remove(history, queue, name) end
end

-- Many coroutines of a producer put plain items into the queue at the same moment, so buckets are filled by several processes at once. Some
-- producers die meanwhile.
local function produce_crowd(history, zk, queue, number)
  local producer, crowd = history.producers[number], 1 + history.roll(5)
  history.producing = history.producing - 1 + crowd
  for i = 1, crowd do
    zk.spawn(function()
      for j = 1, 2 + history.roll(12) do
        if history.dead[producer] then break end
        local name = ("%d:%03d"):format(10 * number + i, j)
        history.began[name] = history.world:now()
        local ok, _, code = queue:put(name)
        if not ok and history.mode == "calm" then violation(history, "put", code) end
        note_put(history, name, ok, code)
        if history.roll(6) == 0 then zk.sleep(history.roll(100) / 100) end
      end
      history.producing = history.producing - 1
    end)
  end
end

function M.produce(history, zk, number)
  local queue = M.queue_of(history, zk, history.capacity)
  if history.crowded then
    produce_crowd(history, zk, queue, number)
    return
  end
  if history.nightly then
    ids.produce(history, zk, queue, number, note_put)
    history.producing = history.producing - 1
    return
  end
  for i = 1, 3 + history.roll(8) do
    if history.roll(5) == 0 and (history.mode ~= "producers" or history.simple) then
      local list = {}
      for j = 1, 1 + history.roll(history.capacity and AT_ONCE or 6) do list[j] = ("%d:%03d.%d"):format(number, i, j) end
      lists.put(history, queue, list, note_put)
      check_room(history)
    elseif lists.are_watched(history) and history.roll(3) == 0 then
      lists.put_watched(history, zk, queue, ("%d:%03d"):format(number, i), note_put)
    else
      put(history, queue, zk, ("%d:%03d"):format(number, i))
    end
  end
  history.producing = history.producing - 1
end

-- ---- Consumers ---------------------------------------------------------------------------------

-- An item that is given to a consumer must exist. `began`: when the call of `take` began. A take deletes the item, so a remove that ends
-- before the answer to the take rightly does not find it.
local function check_item(history, name, path, began)
  if not name:find "^%d+:%d+" or history.refused[name] then violation(history, "foreign", name) end
  local absent = history.absent[name]
  if history.removed[name] or absent and absent <= (began or math.huge) then
    violation(history, "removed", name .. " is given all the same")
  end
  if history.taken[path] then violation(history, "taken", name .. " is given once more") end
end

local function check_given(history, item, session, began)
  local name, held = item.data, history.held[item.data]
  history.seen[name] = true
  check_item(history, name, item.path, began)
  if held and held.path == item.path and held.id ~= session.id and held.id and history.world:alive(held.id) then
    violation(history, "exclusive", name .. " is given to two")
  end
  if item.attempts > history.attempts then violation(history, "attempts", name .. ": " .. item.attempts) end
  history.given = (history.given or 0) + 1
end

local function check_claimed(history, item, session)
  check_given(history, item, session)
  history.held[item.data] = { id = session.id, path = item.path }
  local _, stat = history.world:get(item.claim.claim)
  item.owner = stat and stat.ephemeral_owner
  if history.pauses and item.owner ~= session.id then violation(history, "over", item.data .. " is given without a claim") end
end

local function note_done(history, name, once)
  history.held[name] = nil
  history.done[name] = (history.done[name] or 0) + 1
  table.insert(history.order, name)
  if history.done[name] > 1 and once then violation(history, "twice", name) end
end

-- The consumer stops behind a nack, so another one must be told of the item.
local function retire(history, consumer)
  history.retired, consumer.retired = true, true
  for i = 1, #consumer.tasks do
    if consumer.tasks[i].waiting then consumer.tasks[i].task:cancel() end
  end
end

local function nack(history, consumer, item)
  history.held[item.data] = nil
  history.nacked = true
  local delay = not history.capacity and history.roll(3) == 0 and history.roll(4) or nil
  local code
  repeat code = select(3, item:nack(delay)) until code ~= "connection_loss" or consumer.dead
  if history.retires and not delay and history.producing == 0 and not history.retired then retire(history, consumer) end
end

local function once(history, id) return history.mode == "calm" or history.mode == "producers" and id ~= nil end

local function ack(history, consumer, item)
  local ok, code, _
  repeat ok, _, code = item:ack() until code ~= "connection_loss" or consumer.dead
  if ok then
    if history.removed[item.data] and once(history, item.id) then violation(history, "removed", item.data .. " is acked all the same") end
    note_done(history, item.data, once(history, item.id))
  elseif code == "lost" and item.owner and history.world:alive(item.owner) then
    violation(history, "stale", "the claim of " .. item.data .. " was lost, but its session lives")
  else
    history.held[item.data] = nil
    if code ~= "lost" then history.unsure = true end
  end
end

-- Drops the item without ack or nack, as `local item <close>` does. Most dropped items are collected soon, before or after they are given
-- back.
local function drop(history, zk, item)
  history.held[item.data] = nil
  if history.mode == "faults" and not history.healed and history.roll(2) == 0 then
    history.world:plan(zk, history.roll(3) == 0 and "lose_reply" or "lose_request", { kind = "multi", down = 1 + history.roll(2) })
  end
  debug.getmetatable(item).__close(item)
  item = nil -- luacheck: ignore 311
  zk.sleep(history.roll(100) / 100)
  if history.roll(3) > 0 then collectgarbage() end
  return true
end

-- True if this call is not canceled. Of a simple queue's consumer, the first coroutine goes on in any case, because the others end with
-- a take that was canceled: nothing but what they have left can wake it.
local function is_safe(history, consumer, caller, method)
  if not history.cancels or method == "take" and not history.simple then return true end
  return history.roll(3) == 0 or history.simple and caller == consumer.tasks[1]
end

-- Calls the method. In some histories a claim is canceled sometimes, at any moment; then its item returns.
local function call(history, consumer, caller, method, limit)
  local zk, queue, roll = consumer.zk, consumer.queue, history.roll
  if is_safe(history, consumer, caller, method) then return queue[method](queue, limit) end
  local task = zk.spawn(queue[method], queue, limit)
  local ok, problem = pcall(task.wait, task, (1 + roll(200)) / (roll(2) == 0 and 100 or 10000))
  task:cancel()
  if not ok then error(problem, 0) end
  return task:wait()
end

-- method: "claim" or "take".
local function ask(history, consumer, task, method, limit)
  limit = limit or history.patient and 10 * M.DRAIN or history.roll(4)
  local from = history.world:now()
  task.waiting = method
  local first, second, code = call(history, consumer, task, method, limit)
  task.waiting = nil
  if limit == 0 and history.world:now() - from > TRY then violation(history, "late", method .. "(0)") end
  return first, second, code
end

-- The consumer has a new session. True if it dies at its work.
local function may_die(history, zk, consumer)
  local before = consumer.id
  consumer.id = consumer.session.id
  if not before or before == consumer.id or history.roll(2) == 0 then return false end
  zk.sleep(10 + history.roll(10)) -- the session before ends
  M.kill(history, consumer)
  M.start_consumer(history)
  return true
end

-- True if a claim gave an item.
local function claim(history, zk, consumer, task)
  local item = ask(history, consumer, task, "claim")
  if not item or consumer.dead then return false end
  check_claimed(history, item, consumer.session)
  if history.pauses and not history.healed and history.roll(6) == 0 then history.world:pause(zk, 4 + history.roll(10)) end
  local share, most = history.slow and 3 or 1, history.slow and 8 or 2 -- the claim of a session that is over ends during the work
  if history.roll(4) < share then zk.sleep(history.roll(100) / 100 * most) end
  if consumer.dead or history.changes and may_die(history, zk, consumer) then return true end
  if history.drops and history.roll(6) == 0 and not history.stop then
    return drop(history, zk, item) -- a tail call: this frame does not keep the item
  end
  local often = history.retires and history.producing == 0 and not history.retired
  if history.nacks and history.roll(often and 2 or 6) == 0 and not history.stop then
    nack(history, consumer, item)
  else
    ack(history, consumer, item)
  end
  return true
end

-- What ack_all says of an item.
local function check_acked(history, item, lost)
  if not lost then
    if history.removed[item.data] and once(history, item.id) then violation(history, "removed", item.data .. " is acked all the same") end
    note_done(history, item.data, once(history, item.id))
  elseif item.owner and history.world:alive(item.owner) then
    violation(history, "stale", "the claim of " .. item.data .. " was lost, but its session lives")
  else
    history.held[item.data] = nil
  end
end

-- Claims a few items, and acks all of them. True if a claim gave an item.
local function claim_some(history, zk, consumer, task)
  local items, lost = {}, {}
  for i = 1, 1 + history.roll(4) do
    local item = ask(history, consumer, task, "claim", i > 1 and history.roll(3) or nil)
    if not item or consumer.dead then break end
    check_claimed(history, item, consumer.session)
    items[i] = item
  end
  if #items == 0 then return false end
  if history.roll(4) == 0 then zk.sleep(history.roll(100) / 50) end
  local count, found, code
  repeat count, found, code = consumer.queue:ack_all(items) until code ~= "connection_loss" or consumer.dead
  if not count then
    for i = 1, #items do history.held[items[i].data] = nil end
    history.unsure = true
    return true
  end
  for i = 1, #found do lost[found[i]] = true end
  if count + #found ~= #items then violation(history, "ack_all", count .. " acked, " .. #found .. " lost of " .. #items) end
  for i = 1, #items do check_acked(history, items[i], lost[items[i]]) end
  return true
end

local function take(history, _, consumer, task)
  local began = history.world:now()
  local data, item, code = ask(history, consumer, task, "take")
  if consumer.dead then return false end
  if data and history.simple then
    check_item(history, data, data, began)
    note_done(history, data, true)
    history.given = (history.given or 0) + 1
  elseif data then
    check_given(history, item, consumer.session, began)
    history.taken[item.path] = true
    note_done(history, data, once(history, item.id))
  elseif history.simple and (code == "connection_loss" or code == "canceled") then
    history.gone = history.gone + 1
    task.canceled = code == "canceled"
  end
  return data ~= nil
end

local function consume(history, zk, consumer, task)
  local get = history.simple and take or history.takes and history.roll(2) == 0 and take or history.batches and claim_some or claim
  if history.capacity then zk.sleep(history.roll(5)) end
  while not (history.stop or consumer.dead or consumer.retired or task.canceled) do
    if not get(history, zk, consumer, task) then zk.sleep(0.01) end
  end
end

function M.start_consumer(history)
  local zk = history.world:process()
  local consumer = { zk = zk, tasks = {} }
  consumer.queue, consumer.session = M.queue_of(history, zk, nil, history.prefetch)
  table.insert(history.consumers, consumer)
  if history.changes then history.world:plan(zk, "new_session", { kind = "get", seconds = 0, nth = 2 + history.roll(3) }) end
  for _ = 1, 1 + history.roll(3) * ((history.exact or history.changes) and 0 or 1) do
    local task = {}
    task.task = zk.spawn(consume, history, zk, consumer, task)
    table.insert(consumer.tasks, task)
  end
end

-- How many items may be gone: the answer to a take was lost, or an item that was taken too late for its caller could not be put back.
function M.missing(history)
  local sum = history.gone
  for _, consumer in ipairs(history.simple and {} or history.consumers) do
    sum = sum + (select(4, core.classes.queue.inner.counts(consumer.queue.core)))
  end
  return sum
end

-- kill -9: the process sends nothing more.
function M.kill(history, consumer)
  history.world:disconnect(consumer.zk)
  consumer.dead = true
  for i = 1, #consumer.tasks do
    if consumer.tasks[i].waiting == "take" then history.gone = history.gone + 1 end
  end
end

return M
