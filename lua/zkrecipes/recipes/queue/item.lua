-- Items that were claimed or taken, as users see them. src/recipes/queue/claimed.c has the claims: ack, nack, and letting go; ack_all.c
-- acks a list of them.
--
-- What can go wrong: the program drops an item without ack or nack. Its claim is collected with it, and returns it to its place.

local check = require "zkrecipes.check"
local classes = require "zkrecipes.classes"
local core = require "zkrecipes.core"
local failure = require "zkrecipes.failure"
local activity = require "zkrecipes.status.activity"

local M = {}

local Item = { __name = "zkrecipes.item" }
Item.__index = Item

local inner = core.classes.claim.inner
local ack, nack = classes.waiting(inner.ack), classes.waiting(inner.nack)
local ack_all = classes.waiting(core.classes.queue.inner.ack_all)

-- ---- An item -----------------------------------------------------------------------------------

-- queue: kept alive, because it has the claims of this process. claim: of the core; nil if the item was taken.
function M.new(queue, claim, data, id, attempts, priority, path)
  return setmetatable({ queue = queue, claim = claim, data = data, id = id, attempts = attempts, priority = priority, path = path }, Item)
end

-- ---- Methods -----------------------------------------------------------------------------------

-- Returns the claim; raises if there is nothing to end.
local function claim_of(item, method, instead)
  check.self(item, Item, method)
  local claim = item.claim
  if not claim then core.misuse(("bad call of '%s' (the item was taken, not claimed; %s)"):format(method, instead)) end
  local over = claim.over
  if over == "lost" then return nil end
  if over then core.misuse(("item:%s %s: the item was %s before"):format(method, item.path, over)) end
  return claim
end

local function was_lost(item, method)
  return nil, ("item:%s %s: the claim was lost, so the item went back to the queue"):format(method, item.path), "lost"
end

-- If the item is over, the running coroutine does not have it any more.
local function note_end(item, claim)
  if claim.over then activity.ended(item.queue.host, item) end
end

-- Calls fn(claim, ...). The item is kept until then: its claim would be let go if it were collected.
local function ending(item, fn, ...)
  local claim = item.claim
  local ok, message, code = fn(claim, ...)
  note_end(item, claim)
  return ok, message, code
end

function Item:ack()
  local claim = claim_of(self, "ack", "there is nothing to ack")
  if not claim then return was_lost(self, "ack") end
  return ending(self, ack)
end

function Item:nack(delay)
  check.seconds(delay, 1, "nack", true)
  local claim = claim_of(self, "nack", "put it again")
  if not claim then return was_lost(self, "nack") end
  return ending(self, nack, delay or 0)
end

-- ---- Several items -----------------------------------------------------------------------------

-- Why it cannot be acked with others of this queue; or nil.
local function problem_of(item, queue)
  if getmetatable(item) ~= Item then return "is no item" end
  if not item.claim then return "was taken, not claimed" end
  if item.queue ~= queue then return "is an item of another queue" end
  if item.claim.over == "nacked" then return "was nacked before" end
end

-- The method of a queue. The list is copied, because the program may change it meanwhile.
function M.ack_all(queue, list)
  check.list(list, 1, "ack_all")
  local items, claims, seen, lost, lives = {}, {}, {}, {}, false
  for i = 1, #list do
    local item = list[i]
    local problem = problem_of(item, queue) or seen[item] and "is in the list twice"
    if problem then check.bad(1, "ack_all", ("entry %d %s"):format(i, problem)) end
    items[i], claims[i], seen[item] = item, item.claim, true
    if item.claim.over == "lost" then lost[#lost + 1] = item end
    lives = lives or not item.claim.over
  end
  if not lives then return #items - #lost, lost end
  local count, others, code, done = ack_all(queue.core, claims)
  for i = 1, #items do note_end(items[i], claims[i]) end
  if not count then return nil, others, code, done or 0 end
  for i = 1, #others do others[i] = items[others[i]] end
  return count, others
end

-- ---- What a coroutine has ----------------------------------------------------------------------

local function abandon(item)
  if item.claim then pcall(inner.let_go, item.claim) end
end

-- The running coroutine has it.
function M.given(host, item)
  if item.claim then activity.granted(host, item, abandon) end
  return item
end

Item.__close = abandon
check.class("item", Item, Item)
failure.name(Item, "item")

core.own(debug.getinfo(1, "S").source)
return M
