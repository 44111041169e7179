-- A process is one consumer of a queue: this is what its coroutines share that want items. They wait in a line (line.lua). One task looks
-- for items and starts a worker task for each, so many claims are in flight at once. No claim runs in a coroutine of the user, which may
-- end at any moment.
--
-- 1. While a coroutine waits: give the next place of the last listing to a worker. If there is none, list again.
-- 2. If the queue is empty, the consumer acquires the idle lock: a fair lock of all idle processes. The holder of it watches what comes
--    in; the other processes sleep, and a put wakes only one process. The consumer keeps the lock while a coroutine waits.
-- 3. If a consumer dies, its claims are deleted with its session, and so is its `consumers/<session>`, which the holder of the lock
--    watches.
--
-- What can go wrong: a waiter leaves while its worker claims (the item goes to the next waiter, or back to the queue). The session is lost,
-- and the idle lock with it (the consumer acquires it again). A listed item is gone (the worker takes the next place).

local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.host.coroutines"
local claims = require "zkrecipes.recipes.queue.claim"
local fetch = require "zkrecipes.recipes.queue.fetch"
local ids = require "zkrecipes.recipes.queue.ids"
local items = require "zkrecipes.recipes.queue.item"
local later = require "zkrecipes.recipes.queue.later"
local layout = require "zkrecipes.recipes.queue.layout"
local lines = require "zkrecipes.recipes.queue.line"
local places = require "zkrecipes.recipes.queue.place"
local presences = require "zkrecipes.recipes.queue.presence"
local idle_lock = require "zkrecipes.recipes.queue.idle_lock"
local limits = require "zkrecipes.limit"
local activity = require "zkrecipes.status.activity"
local tasks = require "zkrecipes.host.tasks"
local wait = require "zkrecipes.host.wait"
local wakeups = require "zkrecipes.host.wakeup"

local M = {}
M.__index = M

local CLAIMS = 5000 -- of one process. The end of a session is one transaction, which must not become too large
local FRESH = 2    -- seconds for which a listing is used
local AGAIN = 0.1  -- seconds to wait after a failure without a connection

function M.new(store, lock, max_attempts)
  local presence = presences.new(store)
  return setmetatable({ store = store, host = core.host(store.session), idle_lock = lock, max_attempts = max_attempts,
    presence = presence, guard = presence:guard(), line = lines.new(), claims = 0, working = 0,
    batch = {}, at = 1, batch_until = 0, events = 0, looked = -1,
    working_on = {}, unreadable = {}, watches = {},
    wakeup = wakeups.new(core.host(store.session)) }, M)
end

local function daemon(consumer, fn, ...) return tasks.behind(consumer.host, { quiet = true }, fn, ...) end

-- Something has changed: makes the task look again.
function M:happened()
  self.events = self.events + 1
  self.wakeup:wake()
end

-- ---- Telling -----------------------------------------------------------------------------------

local function tell(consumer, waiter, item, message, code)
  waiter.item, waiter.message, waiter.code = item, message, code
  wait.wake(consumer.host, waiter.record)
end

local function fail_all(consumer, message, code)
  local waiter = consumer.line:pop()
  while waiter do
    tell(consumer, waiter, nil, message, code)
    waiter = consumer.line:pop()
  end
end

-- Callers that only try (timeout 0) wait neither for an item nor for a connection.
local function fail_tries(consumer, message, code)
  local tries = consumer.line:pop_tries()
  for i = 1, #tries do tell(consumer, tries[i], nil, message, code) end
end

-- ---- Workers -----------------------------------------------------------------------------------

local function next_place(consumer)
  if consumer.host.adapter.now() > consumer.batch_until then return nil end
  local place = consumer.batch[consumer.at]
  consumer.at = consumer.at + 1
  return place
end

-- Puts back an item for which no caller waits any more.
local function unwanted(consumer, item)
  if item.state.claim then return items.let_go(item.state) end
  local state, store = item.state, consumer.store
  local entry, lane = state.entry, state.place.lane
  entry.attempts = entry.attempts - 1
  if state.tombstone then return places.move(consumer, state.tombstone, entry, 0, lane) end
  store:append(lane, entry)
end

local function deliver(consumer, waiter, item)
  if waiter.gone then
    local other = consumer.line:pop()
    if other and other.method ~= waiter.method then
      consumer.line:put_back(other)
      other = nil
    end
    waiter = other
  end
  if waiter then return tell(consumer, waiter, item) end
  unwanted(consumer, item)
end

-- Returns what to call when the answer to a claim is lost and there is no connection. The worker keeps looking for the outcome, because the
-- claim may be ours, but a caller that only tries does not wait for that.
local function unsure_of(consumer, waiter)
  return waiter.try and function(message, code)
    if waiter.gone then return end
    waiter.gone = true
    tell(consumer, waiter, nil, message, code)
  end
end

-- Claims an item for this waiter: the one at this place, or a later one.
local function work(consumer, waiter, place)
  local unsure = unsure_of(consumer, waiter)
  local item, message, code, done
  while place and not item and not code do
    consumer.working_on[place.key] = true
    local ok
    ok, item, message, code, done = coroutines.pcall(claims[waiter.method], consumer, place, unsure)
    consumer.working_on[place.key] = nil
    if not ok then
      consumer.working = consumer.working - 1
      tell(consumer, waiter, nil, "queue " .. consumer.store.path .. ": " .. tostring(item), "error")
      error(item, 0)
    end
    if not item and not code then
      if message == places.UNREADABLE then
        fetch.leave_out(consumer, place)
      else
        consumer.presence:count_again()
      end
      place = next_place(consumer)
    end
  end
  consumer.working = consumer.working - 1 -- from here on `claims` counts the item, or the line counts the waiter
  if item then
    deliver(consumer, waiter, item)
  elseif code and (code ~= "connection_loss" or waiter.try or done) then
    tell(consumer, waiter, nil, message, code)
  else
    if not waiter.gone then consumer.line:put_back(waiter) end
    consumer.events = consumer.events + 1
    consumer:serve()
  end
end

-- ---- The task ----------------------------------------------------------------------------------

-- The queue is empty: waits until something comes in.
local function idle(consumer)
  idle_lock.acquire(consumer)
  local due = consumer.next_due
  local left = due and math.max((due - consumer.store:now()) / 1000, 0.001)
  consumer.wakeup:pause(idle_lock.holds(consumer) and left or nil)
  if due and idle_lock.holds(consumer) and consumer.store:now() >= due then consumer.events = consumer.events + 1 end
end

local function look_at_servers(consumer)
  local seen = consumer.events
  local ok, list, message, code = true, nil, nil, nil
  if consumer.watching then ok, message, code = idle_lock.watch(consumer) end
  if ok then ok, message, code = later.look(consumer) end
  if ok then list, message, code = fetch.look(consumer) end
  if list then ids.tidy(consumer.store) end
  if list and list[1] then -- once here, not in each of many workers
    ok, message, code = consumer.presence:ensure()
    if not ok then list = nil end
  end
  if not list then
    if code ~= "connection_loss" then return fail_all(consumer, message, code) end
    fail_tries(consumer, message, code)
    if consumer.line.count > 0 then consumer.wakeup:pause(AGAIN) end
    return
  end
  consumer.looked = seen
  consumer.batch, consumer.at, consumer.batch_until = list, 1, consumer.host.adapter.now() + FRESH
end

local function look(consumer)
  consumer.asking = true
  look_at_servers(consumer)
  consumer.asking = false
end

local function run(consumer)
  while consumer.line.count > 0 do
    local place = next_place(consumer)
    if place then
      consumer.working = consumer.working + 1
      daemon(consumer, work, consumer, consumer.line:pop(), place)
    elseif consumer.looked ~= consumer.events then
      look(consumer)
    elseif #consumer.batch > 0 then -- all places were given out, and there may be more
      consumer.events = consumer.events + 1
    else
      fail_tries(consumer, "there is no item", "timeout")
      if consumer.line.count > 0 then idle(consumer) end
    end
  end
end

local function finish(consumer)
  consumer.running, consumer.watching, consumer.asking = false, false, false
  if consumer.acquiring then consumer.idle_lock:cancel() end
  idle_lock.release(consumer)
end

-- Makes sure that the task runs while coroutines wait.
function M:serve()
  if self.running then return self.wakeup:wake() end
  self.running = true
  if self.at > #self.batch then self.events = self.events + 1 end
  tasks.behind(self.host, { quiet = true, on_end = function(task)
    finish(self)
    if not task.ok then fail_all(self, "queue " .. self.store.path .. ": " .. tostring(task.results[1]), "error") end
  end }, run, self)
end

-- An item of this process came back to the queue. It is ahead of the places in our listing.
function M:came_back()
  self.batch_until = 0
  self:happened()
end

-- This process puts an item with this priority: lists again if the item is ahead of the places in our listing.
function M:more_urgent(priority)
  local place = self.batch[self.at]
  if place and place.lane.name > layout.priority_name(priority) then self.batch_until = 0 end
end

-- ---- Waiting -----------------------------------------------------------------------------------

local function leave(consumer, waiter)
  if waiter.gone then return end
  waiter.gone = true
  if waiter.item then return daemon(consumer, unwanted, consumer, waiter.item) end
  consumer.line:remove(waiter)
  if consumer.line.count == 0 then consumer.wakeup:wake() end
end

-- A separate function, so that the closure uses no variable of the frame that waits: if that coroutine is killed (in nginx), its variables
-- are lost.
local function new_waiter(consumer, queue, method, try)
  local waiter = { method = method, try = try }
  waiter.record = wait.record(function(record)
    activity.forget(consumer.host, record)
    leave(consumer, waiter)
  end)
  if not try then activity.begin(consumer.host, waiter.record, queue) end
  return waiter
end

-- method: "claim" or "take".
function M:wait_for(queue, method, timeout)
  wait.check()
  if self.claims + self.working + self.line.count >= CLAIMS then
    return nil, ("queue:%s %s: this process has %d claims, waiting calls included; ack some first"):format(method,
      self.store.path, CLAIMS), "full"
  end
  local session, name = self.store.session, ("queue:%s %s"):format(method, self.store.path)
  if timeout == 0 and limits.away(session) then return limits.unconnected(session, name) end
  local waiter = new_waiter(self, queue, method, timeout == 0)
  self.line:push(waiter)
  if not self.watching then self.events = self.events + 1 end
  self:serve()
  local limit = timeout
  if waiter.try then limit = limits.try_seconds(session) end
  local ok, done = coroutines.pcall(wait.pause, self.host, waiter.record, limit)
  local asking = waiter.try or self.asking or not waiter.ahead -- without `ahead` it has left the line, and a worker claims for it
  if not (ok and done) then waiter.record:give_up() end
  if not ok then error(done, 0) end
  activity.forget(self.host, waiter.record)
  if waiter.item then return items.given(waiter.item) end
  if waiter.code == "timeout" then return nil, name .. ": " .. waiter.message, "timeout" end
  if waiter.message then return nil, waiter.message, waiter.code end
  return limits.passed(session, name, asking)
end

core.own(debug.getinfo(1, "S").source)
return M
