-- The desk: what the coroutines of one process that want items from one queue have in common. They wait in a line (line.lua); one
-- task looks for items and starts a worker for each, so many claims are in flight, and none of them runs in a coroutine of the
-- user's, which may end at any moment.
--
-- 1. While somebody waits: the next place of the last listing goes to a worker; when there is none, a new listing.
-- 2. Nothing there: the desk queues up for the seat, a fair lock of all processes that are idle. Whoever has it watches what
--    comes in; the others wait and are not woken. So a put wakes one process. It keeps the seat while somebody waits there.
-- 3. The dead: their claims go with their sessions, and so does `consumers/<session>`, which whoever has the seat watches.
--
-- What can go wrong: a waiter leaves while his worker claims (the item goes to the next, or back); the session is lost (the seat,
-- too: the desk queues up again); an item that was listed is gone (the worker takes the next place).

local coroutines = require "zkrecipes.coroutines"
local core = require "zkrecipes.core"
local fetch = require "zkrecipes.jobs.fetch"
local items = require "zkrecipes.jobs.item"
local later = require "zkrecipes.jobs.later"
local layout = require "zkrecipes.jobs.layout"
local lines = require "zkrecipes.jobs.line"
local tasks = require "zkrecipes.tasks"
local wait = require "zkrecipes.wait"

local M = {}
M.__index = M

local CLAIMS = 5000 -- of one process: the end of a session is one transaction, which must not be too large
local FRESH = 2    -- seconds for which a listing is trusted
local AGAIN = 0.1  -- seconds until what failed for want of a connection is tried again

function M.new(store, seat, max_attempts)
  return setmetatable({ store = store, host = core.host(store.session), seat = seat, max_attempts = max_attempts,
    line = lines.new(), claims = 0, batch = {}, at = 1, batch_until = 0, events = 0, looked = -1,
    working_on = {}, unreadable = {}, remembered = {}, watches = {} }, M)
end

local function daemon(desk, fn, ...) return tasks.spawn(desk.host, { daemon = true, quiet = true }, fn, ...) end

-- ---- Presence ----------------------------------------------------------------------------------

-- Sees to it that the consumer is known, in the present session: its znode, or nil, message, code.
function M:be_present()
  local store = self.store
  if self.presence and self.presence_of == store.session.id then return self.presence end
  local ready, problem, why = store:ready()
  if not ready then return nil, problem, why end
  local path = store.path .. "/consumers/" .. store:new_tag()
  local made, message, code = store.session:create(path, "", { ephemeral = true })
  if not made then return nil, message, code end
  self.presence, self.presence_of = path, store.session.id
  return path
end

-- A claim failed, perhaps because it is gone.
function M:check_presence(path)
  if path == self.presence and self.store.session:exists(path) == false then self.presence = nil end
end

-- How many consumers there are, and which one this is (from 0).
function M:rank()
  local now = self.host.adapter.now()
  if not self.ranked or now > self.ranked then
    local names = self.presence and self.store.session:children(self.store.path .. "/consumers")
    self.count, self.number = 1, 0
    if names then
      table.sort(names)
      for i = 1, #names do
        if self.store.path .. "/consumers/" .. names[i] == self.presence then self.count, self.number = #names, i - 1 end
      end
    end
    self.ranked = now + FRESH
  end
  return self.count, self.number
end

-- ---- Being stirred -----------------------------------------------------------------------------

local function stir(desk)
  desk.stirred = true
  if desk.parked then wait.wake(desk.host, desk.parked) end
end

-- Something has happened: look again.
local function happened(desk)
  desk.events = desk.events + 1
  stir(desk)
end

local function park(desk, timeout)
  if not desk.stirred then
    desk.parked = wait.record()
    wait.pause(desk.host, desk.parked, timeout)
    desk.parked = nil
  end
  desk.stirred = false
end

-- ---- Telling -----------------------------------------------------------------------------------

local function tell(desk, waiter, item, message, code)
  waiter.item, waiter.message, waiter.code = item, message, code
  wait.wake(desk.host, waiter.record)
end

local function fail_all(desk, message, code)
  local waiter = desk.line:pop()
  while waiter do
    tell(desk, waiter, nil, message, code)
    waiter = desk.line:pop()
  end
end

-- Those who only try do not wait for an item, nor for a connection.
local function fail_tries(desk, message, code)
  local tries = desk.line:pop_tries()
  for i = 1, #tries do tell(desk, tries[i], nil, message, code) end
end

-- ---- Workers -----------------------------------------------------------------------------------

local function next_place(desk)
  if desk.host.adapter.now() > desk.batch_until then return nil end
  local place = desk.batch[desk.at]
  desk.at = desk.at + 1
  return place
end

-- An item for which nobody waits any more.
local function unwanted(desk, item)
  if item.state.claim then
    items.give_back(item.state, true)
    return
  end
  local entry, store = item.state.entry, desk.store
  entry.tag, entry.id, entry.attempts = store:new_tag(), nil, entry.attempts - 1
  store:append(item.state.place.lane, { entry })
end

local function deliver(desk, waiter, item)
  if waiter.gone then
    local other = desk.line:pop()
    if other and other.method ~= waiter.method then
      desk.line:put_back(other)
      other = nil
    end
    waiter = other
  end
  if waiter then return tell(desk, waiter, item) end
  unwanted(desk, item)
end

-- What to do when the answer of a claim is lost and there is no connection: the worker sees to the claim, which may be ours,
-- but who only tries does not wait for that.
local function unsure_of(desk, waiter)
  return waiter.try and function(message, code)
    if waiter.gone then return end
    waiter.gone = true
    tell(desk, waiter, nil, message, code)
  end
end

-- Claims for this waiter, the place or one behind it.
local function work(desk, waiter, place)
  local unsure = unsure_of(desk, waiter)
  local item, message, code, done
  while place and not item and not code do
    desk.working_on[place.key] = true
    local ok
    ok, item, message, code, done = coroutines.pcall(items[waiter.method], desk, place, unsure)
    desk.working_on[place.key] = nil
    if not ok then
      tell(desk, waiter, nil, "queue " .. desk.store.path .. ": " .. tostring(item), "error")
      error(item, 0)
    end
    if not item and not code then
      if message == items.UNREADABLE then
        fetch.leave_out(desk, place)
      else
        desk.ranked = nil -- somebody else is here
      end
      place = next_place(desk)
    end
  end
  if item then
    deliver(desk, waiter, item)
  elseif code and (code ~= "connection_loss" or waiter.try or done) then
    tell(desk, waiter, nil, message, code)
  else
    if not waiter.gone then desk.line:put_back(waiter) end
    desk.events = desk.events + 1
    desk:serve()
  end
end

-- ---- The seat ----------------------------------------------------------------------------------

local function close_watches(desk)
  for path, watch in pairs(desk.watches) do
    desk.watches[path] = nil
    watch:close()
  end
end

local function watch_path(desk, path)
  if desk.watches[path] then return true end
  local watch, message, code = desk.store.session:watch(path)
  if not watch then return nil, message, code end
  desk.watches[path] = watch
  daemon(desk, function()
    while desk.watches[path] == watch and watch:wait() do happened(desk) end
    if desk.watches[path] == watch then desk.watches[path] = nil end
  end)
  return true
end

local function watch_paths(desk, paths)
  for i = 1, #paths do
    local ok, message, code = watch_path(desk, paths[i])
    if not ok then return nil, message, code end
  end
  return true
end

-- Before the look: what comes in after it is told; the lanes are watched before they are listed. True; or nil, message, code:
-- without a watch nobody may sleep there.
local function watch_all(desk)
  local store = desk.store
  local ok, problem, why = watch_paths(desk, { store.path .. "/lanes", store.later.bell, store.path .. "/consumers" })
  if not ok then return nil, problem, why end
  local lanes, message, code = store:list_lanes()
  if not lanes then return nil, message, code end
  local bells = {}
  for i = 1, #lanes do bells[i] = lanes[i].bell end
  return watch_paths(desk, bells)
end

local function stand_up(desk)
  local hold = desk.hold
  desk.hold = nil
  close_watches(desk)
  if hold then hold:release() end
end

-- Waits until it is this desk's turn to watch.
local function sit_down(desk)
  local hold, _, code = desk.seat:acquire()
  desk.seating = nil
  if not hold then
    if code ~= "closed" and code ~= "canceled" then wait.pause(desk.host, wait.record(), AGAIN) end
    return happened(desk)
  end
  if desk.line.count == 0 then return hold:release() end
  desk.hold = hold
  hold:on_lost(function() happened(desk) end)
  desk.watching = true
  happened(desk)
end

local function seated(desk) return desk.hold and desk.hold:valid() end

-- Nothing is there: waits for what comes.
local function idle(desk)
  if desk.hold and not desk.hold:valid() then stand_up(desk) end
  if not desk.hold and not desk.seating then
    desk.seating = true
    daemon(desk, sit_down, desk)
  end
  local due = desk.next_due
  local left = due and math.max((due - desk.store:now()) / 1000, 0.001)
  park(desk, seated(desk) and left or nil)
  if due and seated(desk) and desk.store:now() >= due then desk.events = desk.events + 1 end
end

-- ---- The task ----------------------------------------------------------------------------------

local function look(desk)
  local seen = desk.events
  local ok, places, message, code = true, nil, nil, nil
  if desk.watching then ok, message, code = watch_all(desk) end
  if ok then ok, message, code = later.look(desk) end
  if ok then places, message, code = fetch.look(desk) end
  if places and places[1] then -- here, before many workers do it at once
    ok, message, code = desk:be_present()
    if not ok then places = nil end
  end
  if not places then
    if code ~= "connection_loss" then return fail_all(desk, message, code) end
    fail_tries(desk, message, code)
    if desk.line.count > 0 then park(desk, AGAIN) end
    return
  end
  desk.looked = seen
  desk.batch, desk.at, desk.batch_until = places, 1, desk.host.adapter.now() + FRESH
end

local function run(desk)
  while desk.line.count > 0 do
    local place = next_place(desk)
    if place then
      daemon(desk, work, desk, desk.line:pop(), place)
    elseif desk.looked ~= desk.events then
      look(desk)
    elseif #desk.batch > 0 then -- it is used up, and there may be more
      desk.events = desk.events + 1
    else
      fail_tries(desk, "there is no item", "timeout")
      if desk.line.count > 0 then idle(desk) end
    end
  end
end

local function finish(desk)
  desk.running, desk.watching = false, false
  if desk.seating then desk.seat:cancel() end
  stand_up(desk)
end

-- Sees to it that those who wait are served.
function M:serve()
  if self.running then return stir(self) end
  self.running = true
  if self.at > #self.batch then self.events = self.events + 1 end
  tasks.spawn(self.host, { daemon = true, quiet = true, on_end = function(task)
    finish(self)
    if not task.ok then fail_all(self, "queue " .. self.store.path .. ": " .. tostring(task.results[1]), "error") end
  end }, run, self)
end

-- Ours came back: it is before what we have listed.
function M:came_back()
  self.batch_until = 0
  happened(self)
end

-- Ours is put with this priority: does it come before what we have listed?
function M:more_urgent(priority)
  local place = self.batch[self.at]
  if place and place.lane.name > layout.priority_name(priority) then self.batch_until = 0 end
end

-- ---- Waiting -----------------------------------------------------------------------------------

local function leave(desk, waiter)
  if waiter.gone then return end
  waiter.gone = true
  if waiter.item then return daemon(desk, unwanted, desk, waiter.item) end
  desk.line:remove(waiter)
  if desk.line.count == 0 then stir(desk) end
end

-- method: "claim" or "take".
function M:wait_for(method, timeout)
  wait.check()
  if self.claims + self.line.count > CLAIMS then
    return nil, ("queue:%s %s: this process has %d claims"):format(method, self.store.path, self.claims), "full"
  end
  local waiter = { method = method, try = timeout == 0 }
  waiter.record = wait.record(function() leave(self, waiter) end)
  self.line:push(waiter)
  if not self.watching then self.events = self.events + 1 end
  self:serve()
  local limit = timeout
  if waiter.try then limit = nil end
  local ok, done = coroutines.pcall(wait.pause, self.host, waiter.record, limit)
  if not (ok and done) then waiter.record:give_up() end
  if not ok then error(done, 0) end
  if waiter.item then return waiter.item end
  local name = ("queue:%s %s: "):format(method, self.store.path)
  if waiter.code == "timeout" then return nil, name .. waiter.message, "timeout" end
  if waiter.message then return nil, waiter.message, waiter.code end
  return nil, name .. "the time limit passed", "timeout"
end

core.own(debug.getinfo(1, "S").source)
return M
