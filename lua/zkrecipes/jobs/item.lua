-- Items: how one is claimed, and what becomes of it.
--
-- Claim: 1. Read it. 2. In one multi: create the claim, ephemeral, under the item's name (so there is one at most); write the
-- item with one attempt more and the claim's tag (so its version changes, and whoever claims later has another one).
-- Ack: delete both, the item in the version of our claim. A consumer whose claim was lost cannot ack for another one.
-- Take: create and delete the claim and delete the item, at once.
--
-- What can go wrong: somebody else was faster (gone); the session is lost, and with it the claim (the item is free again, at
-- its place); the answer is lost: after a claim the item's tag tells, after an ack the item's version; after a take nothing
-- does, so then the item may be lost: that is what "at most once" means.

local core = require "zkrecipes.core"
local failure = require "zkrecipes.jobs.failure"
local layout = require "zkrecipes.jobs.layout"
local tasks = require "zkrecipes.tasks"

local M = {}

local Item = { __name = "zkrecipes.item" }
Item.__index = Item
M.meta = Item

local GONE = "gone"
M.UNREADABLE = "unreadable" -- whatever it is, it is no item
local REMEMBERED = 1000 -- ids of acked items, by one process
local REMEMBER = 60     -- seconds

-- ---- Ids of what is done -----------------------------------------------------------------------

-- Forgets what was acked long ago. The check makes sure that they are the session's own.
local function forget_old(desk)
  local store, list, now = desk.store, desk.remembered, desk.host.adapter.now()
  if #list == 0 or not desk.presence or #list < REMEMBERED and now - list[1].at < REMEMBER then return end
  local parts, presence = { { "check", desk.presence } }, desk.presence
  while list[1] and #parts < 100 and (now - list[1].at >= REMEMBER or #list > REMEMBERED / 2) do
    local old = table.remove(list, 1)
    if old.presence == presence then parts[#parts + 1] = { "delete", old.path } end
  end
  if #parts > 1 then store.session:multi(parts) end
end

-- The id stays known for a while, as long as this session lives.
local function add_id_parts(desk, parts, entry)
  if not entry.id then return end
  local path = layout.id_path(desk.store.path, entry.id)
  parts[#parts + 1] = { "delete", path }
  parts[#parts + 1] = { "create", path, "done", { ephemeral = true } }
end

local function remember_id(desk, entry)
  if not entry.id then return end
  local path = layout.id_path(desk.store.path, entry.id)
  table.insert(desk.remembered, { path = path, at = desk.host.adapter.now(), presence = desk.presence })
  forget_old(desk)
end

-- ---- Moving ------------------------------------------------------------------------------------

-- Appends the entry to another lane, and deletes it here. true; or nil, message, code: when somebody was faster, no_node
-- or bad_version.
function M.move(desk, place, entry, version, lane, claim_parts)
  local store, path = desk.store, layout.item_path(place)
  local extra = claim_parts or {}
  extra[#extra + 1] = { "delete", path, version }
  extra[#extra + 1] = { "set", place.lane.out, "" }
  local moved = { tag = store:new_tag(), attempts = entry.attempts, priority = entry.priority, id = entry.id,
    data = entry.data, due = entry.due }
  local list = { moved }
  if entry.id then list.ids, list.known = { moved }, true end
  return store:append(lane, list, extra, function()
    local stat, message, code = store.session:exists(path)
    if stat == nil then return nil, message, code end
    return not stat
  end)
end

local function claim_path(desk, place)
  return desk.store.path .. "/claims/" .. layout.claim_name(place.lane, place.bucket, place.name)
end

-- Parts that fail when it is claimed.
function M.unclaimed(desk, place)
  local path = claim_path(desk, place)
  return { { "create", path, "", { ephemeral = true } }, { "delete", path } }
end

-- ---- Claiming ----------------------------------------------------------------------------------

-- Its claim is over.
local function finish(state, how)
  if not state.over then state.desk.claims = state.desk.claims - 1 end
  state.over = how
end

-- Lua 5.1 collects tables without asking; userdata it asks.
local function guard(state, lose)
  if not newproxy then return nil end -- luacheck: ignore 113
  local sentinel = newproxy(true)     -- luacheck: ignore 113
  getmetatable(sentinel).__gc = function() pcall(lose, state) end
  return sentinel
end

-- Gives back what nobody has any more. In a finalizer it is called under pcall: the engine may be collected before the item,
-- and LuaJIT would raise the error wherever the program is. That may be where no coroutine can be begun (cqueues: outside of a
-- controller).
local function lose(state)
  local host = state.desk.host
  if state.over or host.engine:forked() then return end
  local function give_back() tasks.spawn(host, { daemon = true, quiet = true }, M.give_back, state, true) end
  if pcall(give_back) then return end
  table.insert(host.dropped, give_back)
  host.engine:ring()
end

local function new_item(desk, place, entry, version, claim)
  local state = { desk = desk, place = place, entry = entry, version = version, claim = claim }
  if claim then desk.claims = desk.claims + 1 end
  return setmetatable({ state = state, data = entry.data, id = entry.id, attempts = entry.attempts,
    priority = entry.priority, path = layout.item_path(place), sentinel = claim and guard(state, lose) }, Item)
end

-- What an item looks like to who only looks.
function M.view(desk, place, entry, version, claimed)
  local item = new_item(desk, place, entry, version)
  item.state, item.claimed = nil, claimed
  return setmetatable(item, nil)
end

-- entry, version; or nil and GONE or UNREADABLE; or nil, message, code.
local function read(desk, place)
  local blob, stat, code = desk.store.session:get(layout.item_path(place))
  if code == "no_node" then return nil, GONE end
  if code then return nil, stat, code end
  local entry = layout.decode(blob)
  if not entry then return nil, M.UNREADABLE end
  return entry, stat.version
end
M.read = read

local function faster(code) return code == "no_node" or code == "node_exists" or code == "bad_version" end

-- The item, when the claim is ours; as claim.
local function look_once(desk, place, entry, claim)
  local store = desk.store
  local settled, message, code = store:settle()
  if not settled then return nil, message, code end
  local found, version, why = read(desk, place)
  if not found then return nil, version, why end
  if found.claimant ~= entry.claimant then return nil, GONE end
  local stat
  stat, message, code = store.session:exists(claim)
  if stat == nil then return nil, message, code end
  if not stat or stat.ephemeral_owner ~= store.session.id then return nil, GONE end
  return new_item(desk, place, entry, version, claim)
end

-- After a claim whose answer was lost: is it ours?
local function look_for_claim(desk, place, entry, claim, unsure)
  local item, message, code
  repeat
    item, message, code = look_once(desk, place, entry, claim)
    if code == "connection_loss" and unsure then unsure(message, code) end
  until code ~= "connection_loss"
  return item, message, code
end

local function bury(desk, place, entry, version)
  local ok, message, code = M.move(desk, place, entry, version, desk.store.dead, M.unclaimed(desk, place))
  if ok or faster(code) then return nil, GONE end
  return nil, message, code
end

-- item; or nil and GONE or UNREADABLE; or nil, message, code. unsure(message, code) is called, if given, when it takes long to find out.
function M.claim(desk, place, unsure)
  local presence, message, code = desk:be_present()
  if not presence then return nil, message, code end
  local entry, version, why = read(desk, place)
  if not entry then return nil, version, why end
  if entry.attempts >= desk.max_attempts then return bury(desk, place, entry, version) end
  local store, claim = desk.store, claim_path(desk, place)
  entry.attempts, entry.claimant = entry.attempts + 1, store:new_tag()
  local done
  done, message, code = store.session:multi {
    { "create", claim, entry.claimant, { ephemeral = true } },
    { "set", layout.item_path(place), layout.encode(entry), version },
    { "check", presence },
  }
  if done then
    return new_item(desk, place, entry, done[2].version, claim)
  elseif code == "connection_loss" then
    return look_for_claim(desk, place, entry, claim, unsure)
  elseif faster(code) then
    if code == "no_node" then desk:check_presence(presence) end
    return nil, GONE
  end
  return nil, message, code
end

-- An item that is ours alone, and on no server any more; or as claim, and true behind it when the item may be gone.
function M.take(desk, place)
  local ok, message, code = desk:be_present()
  if not ok then return nil, message, code end
  local entry, version, why = read(desk, place)
  if not entry then return nil, version, why end
  local store, path = desk.store, layout.item_path(place)
  local parts = M.unclaimed(desk, place)
  parts[#parts + 1] = { "delete", path, version }
  parts[#parts + 1] = { "set", place.lane.out, "" }
  add_id_parts(desk, parts, entry)
  local done
  done, message, code = store.session:multi(parts)
  if done then
    remember_id(desk, entry)
    entry.attempts = entry.attempts + 1
    return new_item(desk, place, entry, version)
  elseif faster(code) then
    return nil, GONE
  elseif code ~= "connection_loss" then
    return nil, message, code
  end
  if store:settle() and store.session:exists(path) then return nil, GONE end
  return nil, ("queue:take %s: the connection was lost; %s may have been taken for nobody"):format(store.path, path), code,
    true
end

-- ---- What becomes of it ------------------------------------------------------------------------

local function lost(state, method)
  finish(state, "lost")
  local why = "the claim was lost, the item went back to the queue"
  if state.unsure and method == "nack" then why = "it was acked, by a call that was canceled, or " .. why end
  return nil, ("item:%s %s: %s"):format(method, layout.item_path(state.place), why), "lost"
end

-- After a lost answer: "done" when the item is not in the version of our claim any more ..., "again", or nil, message, code.
local function look_again(state)
  local store = state.desk.store
  local settled, message, code = store:settle()
  if not settled then return nil, message, code end
  local stat
  stat, message, code = store.session:exists(layout.item_path(state.place))
  if stat == nil then return nil, message, code end
  if not stat then return "deleted" end
  return stat.version == state.version and "again" or "changed"
end

-- Deletes it, and its claim if it has one.
local function ack(state)
  local desk, place = state.desk, state.place
  local parts = { { "delete", state.claim }, { "delete", layout.item_path(place), state.version },
    { "set", place.lane.out, "" } }
  add_id_parts(desk, parts, state.entry)
  local seen
  repeat
    local unsure = state.unsure
    state.unsure = true -- also for the next call, if this one ends without an answer
    local done, message, code = desk.store.session:multi(parts)
    seen = nil
    if not done then
      local gone = faster(code)
      if code ~= "connection_loss" then state.unsure = unsure end
      if gone and not unsure then return lost(state, "ack") end
      if not gone and code ~= "connection_loss" then return nil, message, code end
      seen, message, code = look_again(state)
      if not seen then return nil, message, code end
      if seen == "changed" or gone and seen == "again" then return lost(state, "ack") end
    end
  until seen ~= "again"
  finish(state, "acked")
  remember_id(desk, state.entry)
  return true
end

-- Back to its place. untouched: the attempt does not count, and nobody waits who could ask again.
function M.give_back(state, untouched)
  local desk, path = state.desk, layout.item_path(state.place)
  local lane = state.place.lane
  local parts = { { "delete", state.claim }, { "check", path, state.version }, { "set", lane.bell, "" },
    { "set", lane.out, "" } }
  if untouched then
    state.entry.attempts = state.entry.attempts - 1
    parts[2] = { "set", path, layout.encode(state.entry), state.version }
  end
  while not state.over do
    local unsure = state.given_back
    state.given_back = true -- perhaps: for the next call, if this one ends without an answer
    local done, message, code = desk.store.session:multi(parts)
    if not done and code ~= "connection_loss" then state.given_back = unsure end
    if done or faster(code) and unsure then
      finish(state, "nacked")
    elseif faster(code) then
      return lost(state, "nack")
    elseif code ~= "connection_loss" then
      return nil, message, code
    else
      local settled
      settled, message, code = desk.store:settle()
      if not settled and not (untouched and code == "connection_loss") then return nil, message, code end
      if settled and desk.store.session:exists(state.claim) == false then finish(state, "nacked") end
    end
  end
  desk:came_back()
  return true
end

-- To the dead letters, or to the delayed ones.
local function move_away(state, lane)
  local claim = { { "delete", state.claim } }
  local ok, message, code = M.move(state.desk, state.place, state.entry, state.version, lane, claim)
  if ok then
    finish(state, "nacked")
    return true
  end
  if faster(code) then return lost(state, "nack") end
  return nil, message, code
end

local function nack(state, delay)
  local desk, entry = state.desk, state.entry
  if entry.attempts >= desk.max_attempts then return move_away(state, desk.store.dead) end
  if delay == 0 then return M.give_back(state) end
  local now, message, code = desk.store:now()
  if not now then return nil, message, code end
  entry.due = math.ceil(now + delay * 1000)
  return move_away(state, desk.store.later)
end

-- ---- Methods -----------------------------------------------------------------------------------

local check = require "zkrecipes.check"

local function state_of(item, method)
  check.self(item, Item, method)
  local state = item.state
  if state.over == "lost" then return nil, lost(state, method) end
  if state.over then core.misuse(("item:%s: it was %s before"):format(method, state.over)) end
  return state
end

-- Calls fn(state, ...) and keeps the item alive meanwhile: when it is collected it is given back.
local function keeping(item, fn, ...)
  local state = item.state
  state.item = item
  local ok, message, code = fn(state, ...)
  state.item = nil
  return ok, message, code
end

function Item:ack()
  local state, _, message, code = state_of(self, "ack")
  if not state then return nil, message, code end
  if not state.claim then core.misuse("item:ack: it was taken, not claimed; there is nothing to ack") end
  return keeping(self, ack)
end

function Item:nack(delay)
  check.seconds(delay, 1, "nack", true)
  local state, _, message, code = state_of(self, "nack")
  if not state then return nil, message, code end
  if not state.claim then core.misuse("item:nack: it was taken, not claimed; put it again") end
  return keeping(self, nack, delay or 0)
end

local function abandon(item)
  if item.state.claim then pcall(lose, item.state) end
end

Item.__close, Item.__gc = abandon, abandon
check.class("item", Item, Item)
failure.name(Item, "item")

core.own(debug.getinfo(1, "S").source)
return M
