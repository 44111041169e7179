-- Items that were claimed: ack, nack, and giving back. claim.lua says how an item is claimed.
--
-- Ack: delete the claim, and the item in the version that our claim has given it (`finish` in store.lua). So a consumer that has lost its
-- claim cannot ack for another one.
--
-- What can go wrong: the session is lost, and the claim with it (the item is free again, at its place). The answer is lost: after an ack
-- the item is gone.

local check = require "zkrecipes.check"
local collected = require "zkrecipes.collected"
local core = require "zkrecipes.core"
local coroutines = require "zkrecipes.host.coroutines"
local failure = require "zkrecipes.failure"
local layout = require "zkrecipes.recipes.queue.layout"
local places = require "zkrecipes.recipes.queue.place"
local requests = require "zkrecipes.lost_answers"
local activity = require "zkrecipes.status.activity"
local tasks = require "zkrecipes.host.tasks"

local M = {}

local Item = { __name = "zkrecipes.item" }
Item.__index = Item

local faster, uncertain = places.faster, places.uncertain

-- ---- An item -----------------------------------------------------------------------------------

-- Ends the item for its consumer.
local function finish(state, how)
  if state.over then return end -- what ended it first counts
  state.consumer.claims = state.consumer.claims - 1
  state.over = how
end

-- Gives back an item that the program has dropped. An item that is closed is also collected, so this may be called several times.
local function lose(state)
  local host = state.consumer.host
  if state.over or host.engine:forked() then return end
  tasks.later(host, tasks.behind, host, { quiet = true }, M.let_go, state)
end

-- claim: the path of the claim; nil if the item was taken. Then `tombstone` is the place of the tombstone of its id, if it has an id.
function M.new(consumer, place, entry, version, claim, tombstone)
  local state = { consumer = consumer, place = place, entry = entry, version = version, claim = claim, tombstone = tombstone }
  if claim then consumer.claims = consumer.claims + 1 end
  return setmetatable({ state = state, data = entry.data, id = entry.id, attempts = entry.attempts,
    priority = entry.priority, path = layout.item_path(place), guard = claim and collected.guard(lose, state) }, Item)
end

-- Returns a plain table about the item, for listings.
function M.view(consumer, place, entry, version, claimed)
  local item = M.new(consumer, place, entry, version)
  item.state, item.claimed = nil, claimed
  return setmetatable(item, nil)
end

-- ---- What becomes of it ------------------------------------------------------------------------

local function lost(state, method)
  finish(state, "lost")
  local why = "the claim was lost, so the item went back to the queue"
  if state.unsure and method == "nack" then why = "a canceled call acked the item, or " .. why end
  return nil, ("item:%s %s: %s"):format(method, layout.item_path(state.place), why), "lost"
end

local function ack(state)
  local unsure = state.unsure
  state.unsure = true -- stays so for the next call if this one ends without an answer
  local done, message, code = state.consumer.store:finish(state.place, state.entry, { version = state.version,
    claim = state.claim, held = true, doubted = unsure })
  if not uncertain(code) then state.unsure = unsure end
  if done then
    finish(state, "acked")
    return true
  end
  if faster(code) then return lost(state, "ack") end
  return nil, message, code
end

-- Gives the item back to its place: true; or nil, message, code. text: what it holds then; nil: the same.
local function give_back(state, text)
  local unsure = state.given_back
  state.given_back = true -- perhaps: for the next call, if this one ends without an answer
  local done, message, code = state.consumer.store:give_back(state.place, state.entry, { version = state.version, claim = state.claim,
    text = text, doubted = unsure })
  if not uncertain(code) then state.given_back = unsure end
  if done then
    finish(state, "nacked")
    state.consumer:came_back()
    return true
  end
  if faster(code) then return lost(state, "nack") end
  return nil, message, code
end

-- The same entry before our claim. It is a copy, so the attempt is taken off once, however many requests are sent.
local function before_claim(entry)
  return { attempts = entry.attempts - 1, priority = entry.priority, claimant = entry.claimant, id = entry.id, data = entry.data }
end

local function try_let_go(state, text)
  local _, message, code = give_back(state, text)
  return state.over, message, code
end

-- Back to its place, because no coroutine has it now: the attempt does not count. Waits until that is done, or the claim is gone with its
-- session, because no caller repeats it.
function M.let_go(state)
  if state.over or state.letting_go then return end
  state.letting_go = true
  local text = layout.encode(before_claim(state.entry))
  local ok, problem = coroutines.pcall(requests.insist, state.consumer.store.session, try_let_go, state, text)
  state.letting_go = false
  if not ok then error(problem, 0) end
end

-- Moves the item to the dead letters or to the delayed items.
local function move_away(state, consumer, lane)
  local ok, message, code = places.move(consumer, state.place, state.entry, state.version, lane, true)
  if ok then
    finish(state, "nacked")
    return true
  end
  if faster(code) then return lost(state, "nack") end
  return nil, message, code
end

local function nack(state, delay)
  local consumer, entry = state.consumer, state.entry
  if entry.attempts < consumer.max_attempts and delay == 0 then return give_back(state) end
  consumer = places.for_now(consumer)
  if entry.attempts >= consumer.max_attempts then return move_away(state, consumer, consumer.store.dead) end
  local now, message, code = consumer.store:now()
  if not now then return nil, message, code end
  entry.due = math.ceil(now + delay * 1000)
  return move_away(state, consumer, consumer.store.later)
end

-- ---- Methods -----------------------------------------------------------------------------------

local function state_of(item, method)
  check.self(item, Item, method)
  local state = item.state
  if state.over == "lost" then return nil, lost(state, method) end
  if state.over then core.misuse(("item:%s %s: the item was %s before"):format(method, layout.item_path(state.place), state.over)) end
  return state
end

-- Calls fn(state, ...) and keeps the item alive meanwhile, because a collected item is given back.
local function keeping(item, fn, ...)
  local state = item.state
  state.item = item
  local ok, message, code = fn(state, ...)
  state.item = nil
  if state.over then activity.ended(state.consumer.host, item) end
  return ok, message, code
end

function Item:ack()
  local state, _, message, code = state_of(self, "ack")
  if not state then return nil, message, code end
  if not state.claim then core.misuse("bad call of 'ack' (the item was taken, not claimed; there is nothing to ack)") end
  return keeping(self, ack)
end

function Item:nack(delay)
  check.seconds(delay, 1, "nack", true)
  local state, _, message, code = state_of(self, "nack")
  if not state then return nil, message, code end
  if not state.claim then core.misuse("bad call of 'nack' (the item was taken, not claimed; put it again)") end
  return keeping(self, nack, delay or 0)
end

local function abandon(item)
  if item.state.claim then pcall(lose, item.state) end
end

-- The running coroutine has it.
function M.given(item)
  if item.state.claim then activity.granted(item.state.consumer.host, item, abandon) end
  return item
end

Item.__close = abandon
check.class("item", Item, Item)
failure.name(Item, "item")

core.own(debug.getinfo(1, "S").source)
return M
