-- How an item is claimed, or taken.
--
-- Claim: 1. Read it. 2. In one multi: create the claim, ephemeral, under the item's name (so there is one at most); write the
-- item with one attempt more and the claim's tag (so its version changes, and whoever claims later has another one).
-- Take: create and delete the claim and delete the item, at once.
--
-- What can go wrong: another process was faster (gone); the answer is lost. After a claim the item's tag tells what happened. After a
-- take nothing does, if the item is gone; nor if the session is another one by now, because the request may still arrive. Then the
-- item may be lost: that is what "at most once" means.
-- A session that is given up still gets answers until it is closed. A claim that it got ends with it, so the item is not given:
-- the consumer has another session by then, and would never be told that this claim is lost.

local core = require "zkrecipes.core"
local ids = require "zkrecipes.recipes.queue.ids"
local items = require "zkrecipes.recipes.queue.item"
local layout = require "zkrecipes.recipes.queue.layout"
local places = require "zkrecipes.recipes.queue.place"

local M = {}

-- The item, when the claim is ours; as claim.
local function look_once(desk, place, entry, claim)
  local store = desk.store
  local settled, message, code = store:settle()
  if not settled then return nil, message, code end
  local found, version, why = places.read(desk, place)
  if not found then return nil, version, why end
  if found.claimant ~= entry.claimant then return nil, places.GONE end
  local stat
  stat, message, code = store.session:exists(claim)
  if stat == nil then return nil, message, code end
  if not stat or stat.ephemeral_owner ~= store.session.id then return nil, places.GONE end
  return items.new(desk, place, entry, version, claim)
end

-- After a claim whose answer was lost, or whose session may be another one than ours is now: is it ours?
local function look_for_claim(desk, place, entry, claim, unsure)
  local item, message, code
  repeat
    item, message, code = look_once(desk, place, entry, claim)
    if code == "connection_loss" and unsure then unsure(message, code) end
  until code ~= "connection_loss"
  return item, message, code
end

local function bury(desk, place, entry, version)
  local ok, message, code = places.move(desk, place, entry, version, desk.store.dead, places.unclaimed(desk, place))
  if ok or places.faster(code) then return nil, places.GONE end
  return nil, message, code
end

-- item; or nil and GONE or UNREADABLE; or nil, message, code. unsure(message, code) is called, if given, when it takes long to find out.
function M.claim(desk, place, unsure)
  local presence, message, code = desk.presence:ensure()
  if not presence then return nil, message, code end
  local entry, version, why = places.read(desk, place)
  if not entry then return nil, version, why end
  if entry.attempts >= desk.max_attempts then return bury(desk, place, entry, version) end
  local store, claim = desk.store, places.claim_path(desk, place)
  entry.attempts, entry.claimant = entry.attempts + 1, store:new_tag()
  local done
  local id = store.session.id
  done, message, code = store.session:multi {
    { "create", claim, entry.claimant, { ephemeral = true } },
    { "set", layout.item_path(place), layout.encode(entry), version },
    { "check", presence },
  }
  if done and id and store.session.id == id then
    return items.new(desk, place, entry, done[2].version, claim)
  elseif done or code == "connection_loss" then
    return look_for_claim(desk, place, entry, claim, unsure)
  elseif places.faster(code) then
    if code == "no_node" then desk.presence:check(presence) end
    return nil, places.GONE
  end
  return nil, message, code
end

-- An item that is ours alone, and on no server any more; or as claim, and true behind it when the item may be gone.
function M.take(desk, place)
  local ok, message, code = desk.presence:ensure()
  if not ok then return nil, message, code end
  local entry, version, why = places.read(desk, place)
  if not entry then return nil, version, why end
  if entry.attempts >= desk.max_attempts then return bury(desk, place, entry, version) end
  local store, path = desk.store, layout.item_path(place)
  local parts = places.unclaimed(desk, place)
  parts[#parts + 1] = { "delete", path, version }
  parts[#parts + 1] = { "set", place.lane.out, "" }
  local mark, problem, reason = ids.leave_mark(store, parts, place, entry)
  if mark == nil then return nil, problem, reason end
  local done
  local id = desk.presence.id
  done, message, code = store.session:multi(parts)
  if done then
    entry.attempts = entry.attempts + 1
    return items.new(desk, place, entry, version, nil, mark and ids.left(store, mark, done))
  elseif places.faster(code) then
    if ids.behind(store, mark) then return M.take(desk, place) end
    return nil, places.GONE
  elseif code ~= "connection_loss" then
    return nil, message, code
  end
  if store:settle() and store.session:exists(path) and store.session.id == id then return nil, places.GONE end
  return nil, ("queue:take %s: the connection was lost; the item %s may have been removed without being delivered"):format(store.path, path), code,
    true
end

core.own(debug.getinfo(1, "S").source)
return M
