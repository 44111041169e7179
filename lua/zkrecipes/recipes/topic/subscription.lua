-- What topic:subscribe gives: the messages in order, and acks. The work is done by the reader (reader.lua) and, if the subscriber has a
-- name, by its bookmark (bookmark.lua).

local check = require "zkrecipes.check"
local collected = require "zkrecipes.collected"
local core = require "zkrecipes.core"
local failure = require "zkrecipes.failure"
local limits = require "zkrecipes.limit"
local readers = require "zkrecipes.recipes.topic.reader"
local tasks = require "zkrecipes.host.tasks"
local wait = require "zkrecipes.host.wait"
local activity = require "zkrecipes.status.activity"

local M = {}

local Subscription = { __name = "zkrecipes.subscription" }
Subscription.__index = Subscription

local CLOSED, POSITION_MAX = "it was closed", 2 ^ 53

-- subscription:next([timeout]): { data =, position =, time =, missed = }; or nil, message, code.
function Subscription:next(timeout)
  check.seconds(timeout, 1, "next", true)
  wait.check()
  local reader = self.reader
  local left = wait.limit(reader.host, timeout)
  while not self.closed do
    local message = reader:pop()
    if message then
      self.position = message.position
      return message
    end
    if reader.over then return nil, reader.over[1], reader.over[2] end
    local seconds, record = left(), reader.waiters:enter()
    if seconds ~= 0 then activity.begin(reader.host, record, self) end
    if seconds == 0 or not wait.pause(reader.host, record, seconds) then
      record:give_up()
      return limits.passed(reader.session, "subscription:next")
    end
  end
  return nil, CLOSED, "closed"
end

-- subscription:ack(position [, timeout]): all messages up to this one are done.
function Subscription:ack(position, timeout)
  check.count(position, POSITION_MAX, 1, "ack")
  check.seconds(timeout, 2, "ack", true)
  if not self.bookmark then core.misuse("bad call of 'ack' (only a subscription with a name can ack)") end
  if position > self.position then
    check.bad(1, "ack", ("position of a message that 'next' gave expected, got %.0f"):format(position))
  end
  return self.bookmark:ack(position, timeout)
end

-- subscription:close()
function Subscription:close()
  self.closed = true
  self.guard:disarm()
  self.reader:shut(CLOSED, "closed")
  return true
end

failure.name(Subscription, "subscription")
check.selves("subscription", Subscription, Subscription)
Subscription.__close = function(subscription) subscription:close() end
Subscription.__call = function(subscription) return (subscription:next()) end

local function state(subscription)
  if subscription.closed or subscription.reader.over then return nil end
  return ("read up to %.0f"):format(subscription.position)
end

local function dropped(reader) tasks.later(reader.host, reader.shut, reader, CLOSED, "closed") end

-- A subscription, and what makes `for` close it. bookmark: nil: it has no name. at: the position of the first message.
function M.new(session, path, born, at, bookmark)
  local reader = readers.start(session, path, born, at)
  local subscription = setmetatable({ path = path, reader = reader, bookmark = bookmark, position = at - 1,
    guard = collected.guard(dropped, reader) }, Subscription)
  activity.takes_part(reader.host, subscription, state)
  return subscription, nil, nil, subscription
end

core.own(debug.getinfo(1, "S").source)
return M
