-- Claims or takes an item.
--
-- Claim: 1. Read the item. 2. In one multi, create the claim, an ephemeral znode under the item's name (so there is one claim at most), and
-- write the item with one attempt more and the tag of this claim. This changes the item's version, so a later claim has another version.
-- Take: in one multi, create and delete the claim, and delete the item.
--
-- What can go wrong: another process was faster (the item is gone). The answer is lost, or there is no memory for it: after a claim the
-- item's tag shows the outcome.
-- After a take nothing shows it if the item is gone, or if the session is another one by now, because the old request may still arrive.
-- Then the item may be lost: that is what "at most once" means.
-- A session that was given up still gets answers until it is closed. A claim made in it ends with it. Such an item is not delivered: the
-- consumer has another session by then, and would never be told that the claim is lost.
-- A claim is made only in the session of our znode in `consumers`: both are deleted together, which wakes the idle processes. If the claim
-- were of another session, no process would notice that it has ended.

local core = require "zkrecipes.core"
local items = require "zkrecipes.recipes.queue.item"
local layout = require "zkrecipes.recipes.queue.layout"
local places = require "zkrecipes.recipes.queue.place"
local limits = require "zkrecipes.limit"
local requests = require "zkrecipes.lost_answers"

local M = {}

-- Returns the item if the claim is ours; otherwise as claim().
local function look_once(consumer, place, entry, claim)
  local store = consumer.store
  local settled, message, code = store:settle()
  if not settled then return nil, message, code end
  local found, version, why = places.read(consumer, place)
  if not found then return nil, version, why end
  if found.claimant ~= entry.claimant then return nil, places.GONE end
  local stat
  stat, message, code = store.session:exists(claim)
  if stat == nil then return nil, message, code end
  if not stat or stat.ephemeral_owner ~= store.session.id then return nil, places.GONE end
  return items.new(consumer, place, entry, version, claim)
end

-- The answer to a claim was lost, or the session may have changed: finds out whether the claim is ours. It asks until it knows: a claim
-- that no coroutine knows of would keep its item as long as the session lives.
local function look_for_claim(consumer, place, entry, claim, unsure)
  return requests.insist(limits.real(consumer.store.session), function()
    local item, message, code = look_once(consumer, place, entry, claim)
    if requests.PASSES[code] and unsure then unsure(message, code) end
    return item, message, code
  end)
end

local function bury(consumer, place, entry, version)
  local ok, message, code = places.move(consumer, place, entry, version, consumer.store.dead, false)
  if ok or places.faster(code) then return nil, places.GONE end
  return nil, message, code
end

-- Returns the item; or nil and GONE or UNREADABLE; or nil, message, code. unsure(message, code), if given, is called when the outcome
-- cannot be found out soon.
function M.claim(consumer, place, unsure)
  local presence, id, problem = consumer.presence:ensure()
  if not presence then return nil, id, problem end
  local entry, version, why = places.read(consumer, place)
  if not entry then return nil, version, why end
  if entry.attempts >= consumer.max_attempts then return bury(consumer, place, entry, version) end
  local store, claim = consumer.store, places.claim_path(consumer, place)
  entry.attempts, entry.claimant = entry.attempts + 1, requests.tag(limits.real(store.session), id)
  local done, message, code = limits.multi_in(store.session, {
    { "create", claim, entry.claimant, { ephemeral = true } },
    { "set", layout.item_path(place), layout.encode(entry), version },
    { "check", presence },
  }, id)
  if done and store.session.id == id then
    return items.new(consumer, place, entry, done[2].version, claim)
  elseif code == "lost" then
    return M.claim(consumer, place, unsure) -- nothing was sent
  elseif done or places.uncertain(code) then
    return look_for_claim(consumer, place, entry, claim, unsure)
  elseif places.faster(code) then
    if code == "no_node" then consumer.presence:check(presence) end
    return nil, places.GONE
  end
  return nil, message, code
end

-- Returns an item that only this process has: it is on no server any more. Otherwise as claim(), with true at the end if the item may be
-- lost.
function M.take(consumer, place)
  local ok, message, code = consumer.presence:ensure()
  if not ok then return nil, message, code end
  local entry, version, why = places.read(consumer, place)
  if not entry then return nil, version, why end
  if entry.attempts >= consumer.max_attempts then return bury(consumer, place, entry, version) end
  local store, path, id = consumer.store, layout.item_path(place), consumer.presence.id
  local done, bucket, name = store:finish(place, entry, { version = version, claim = places.claim_path(consumer, place), once = true })
  message, code = bucket, name
  if done then
    entry.attempts = entry.attempts + 1
    return items.new(consumer, place, entry, version, nil, entry.id and { lane = store.done, bucket = bucket, name = name })
  elseif places.faster(code) then
    return nil, places.GONE
  elseif not places.uncertain(code) then
    return nil, message, code
  end
  if store:settle() and store.session:exists(path) and store.session.id == id then return nil, places.GONE end
  local trouble = code == "no_memory" and "memory is exhausted" or "the connection was lost"
  return nil, ("queue:take %s: %s; the item %s may have been removed without being delivered"):format(store.path, trouble, path), code,
    true
end

core.own(debug.getinfo(1, "S").source)
return M
