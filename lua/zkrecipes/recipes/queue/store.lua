-- The steps that change a queue on the servers: put, claim, move and remove items. Each step is one multi, and knows what to do if its
-- answer is lost: wait for a connection, `sync`, and read the outcome.
--
-- Put: 1. Check that the bucket is not sealed, create the item in it, and change `in`. 2. If the number of the new item is beyond the
-- bucket's size, seal the bucket and make the next one. A put that comes too late for a bucket goes to the next one.
--
-- The end of an item: delete its claim and its znode, and count it in `out`.
--
-- What can go wrong: the directories do not exist yet (they are made). Another client seals the bucket, or has emptied and deleted it (the
-- lane is read again). The answer is lost.

local core = require "zkrecipes.core"
local layout = require "zkrecipes.recipes.queue.layout"
local limits = require "zkrecipes.limit"
local requests = require "zkrecipes.lost_answers"

local M = {}
M.__index = M

local ROUNDS = 5 -- how often a write whose answer was lost is repeated
local EXACT = 10 -- seconds for which the local clock may carry on a time that a server told, where the time must be exact

function M.new(session, path)
  local self = setmetatable({ session = session, path = path, lanes = {}, tags = 0 }, M)
  self.dead = layout.lane(path .. "/dead", "dead")
  self.later = layout.lane(path .. "/later", "later")
  self.done = layout.lane(path .. "/done", "done")
  return self
end

-- Returns the store with requests that share a time limit (limit.lua).
function M:within(limit)
  if limit.session == self.session then return self end
  return setmetatable({ session = limit.session, whole = self }, { __index = self, __newindex = self })
end

-- Returns the store for one step of a method: without a time limit of the caller, the step takes no longer than one request may.
function M:for_now() return self.whole and self or self:within(limits.request(self.session)) end

-- Returns the store without that limit, for what continues in the background.
function M:unlimited() return self.whole or self end

local handles = setmetatable({}, { __mode = "k" }) -- session > how many stores it has

local function know_id(self)
  local id = self.session.id
  if id and id ~= self.id then
    local session = limits.real(self.session)
    handles[session] = (handles[session] or 0) + 1
    self.id, self.number = id, handles[session]
  end
  return self.id
end

-- Tags begin with the id of a session, the present one or an earlier one. True if an id is known; or nil, message, code.
function M:ready()
  if know_id(self) then return true end
  for _ = 1, ROUNDS do -- the session may be lost before this coroutine runs again
    local stat, message, code = self.session:exists(self.path)
    if stat == nil then return nil, message, code end
    if know_id(self) then return true end
  end
  return nil, "session: it was lost several times in a row", "connection_loss"
end

-- Returns a tag that no other client uses or has used. The store must be ready.
function M:new_tag()
  know_id(self)
  self.tags = self.tags + 1
  return ("%s_%d_%d"):format(self.id, self.number, self.tags)
end

function M:lane(priority)
  local name = layout.priority_name(priority)
  self.lanes[name] = self.lanes[name] or layout.lane(self.path .. "/lanes/" .. name, name)
  return self.lanes[name]
end

-- ---- Time --------------------------------------------------------------------------------------

local function seconds(self) return core.host(limits.real(self.session)).adapter.now() end

-- Learns the server's clock, in milliseconds, from the stat of a write that was just answered. The server's clock is ahead of that by the
-- time that the answer took, and never behind.
function M:tell_time(stat)
  self.told = seconds(self)
  self.offset = stat.mtime - self.told * 1000
end

-- Writes the data that the znode has already, so repeating it does no harm.
local function ask_time(self)
  local stat, message, code
  for _ = 1, ROUNDS do
    stat, message, code = self.session:set(self.path, "")
    if code == "no_node" then
      local made, problem, why = self:make(self.later)
      if not made then return nil, problem, why end
    elseif code ~= "connection_loss" then
      break
    end
  end
  if not stat then return nil, message, code end
  self:tell_time(stat)
  return true
end

-- Returns the server's clock now. The first call writes.
function M:now()
  if not self.offset then
    local ok, message, code = ask_time(self)
    if not ok then return nil, message, code end
  end
  return self.offset + seconds(self) * 1000
end

-- As now(), but writes unless a server has told the time within the last EXACT seconds.
function M:exact_now()
  if not self.told or seconds(self) - self.told > EXACT then
    local ok, message, code = ask_time(self)
    if not ok then return nil, message, code end
  end
  return self:now()
end

-- ---- Directories -------------------------------------------------------------------------------

-- Repeats the request until the znode exists.
local function surely(request, session, what, data, options)
  local made, message, code
  for _ = 1, ROUNDS do
    made, message, code = request(session, what, data, options)
    if code ~= "connection_loss" then break end
  end
  if made or code == "node_exists" then return true end
  return nil, message, code
end

local function make(self, path)
  return surely(self.session.create, self.session, path, "", { parents = true })
end

-- Makes the lane with its first bucket, in one request.
local function make_lane(self, lane)
  local parts = { { "create", lane.path, "0" }, { "create", lane.put_count, "" }, { "create", lane.out, "" } }
  if lane ~= self.later then parts[4] = { "create", layout.bucket_path(lane, 0), "" } end
  return surely(self.session.multi, self.session, parts)
end

-- Makes all directories that the first item needs. The caller repeats what fails.
function M:make(lane)
  for _, name in ipairs { "lanes", "claims", "consumers" } do
    local ok, message, code = make(self, self.path .. "/" .. name)
    if not ok then return nil, message, code end
  end
  for _, each in ipairs { self.dead, self.later, self.done, lane } do
    local ok, message, code = make_lane(self, each)
    if not ok then return nil, message, code end
  end
  return true
end

-- Returns the number of the bucket that takes items; or nil, message, code.
function M:tail(lane)
  if lane.tail then return lane.tail end
  local data, message, code = self.session:get(lane.path)
  if code == "no_node" then
    local ok, problem, why = self:make(lane)
    if not ok then return nil, problem, why end
    data, message, code = self.session:get(lane.path)
  end
  if code then return nil, message, code end
  lane.tail = lane.tail or layout.tail_number(data)
  if lane.tail then return lane.tail end
  return nil, ("the znode %s holds no number of a bucket, so no queue has created it; use another path"):format(lane.path), "conflict"
end

-- Seals the bucket and makes the next one. If another process was faster, its request has no effect.
local function roll(self, lane, number)
  if lane.tail ~= number then return end
  lane.tail = nil
  self.session:multi {
    { "set", layout.bucket_path(lane, number), "", 0 },
    { "create", layout.bucket_path(lane, number + 1), "" },
    { "set", lane.path, tostring(number + 1) },
  }
end

-- ---- Lost answers ------------------------------------------------------------------------------

-- Waits until all earlier requests have arrived at the server, or never will. True; or nil, message, code.
function M:settle()
  return self.session:sync(self.path)
end

-- Looks for an item with this tag in the bucket. Returns its name; false if there is none; or nil, message, code.
local function find_tag(self, lane, bucket, tag)
  local names, message, code = self.session:children(layout.bucket_path(lane, bucket))
  if code == "no_node" then return false end
  if not names then return nil, message, code end
  for i = 1, #names do
    if layout.tag(names[i]) == tag then return names[i] end
  end
  return false
end

-- After a lost answer: true or the item's name if the put was done, false if not; or nil, message, code.
local function was_put(self, lane, bucket, entries, done)
  local found, message, code = self:settle()
  if found and done then
    found, message, code = done()
  elseif found then
    found, message, code = find_tag(self, lane, bucket, entries[1].tag)
  end
  if found == nil then message = message .. "; the item may or may not have been put" end
  return found, message, code
end

-- ---- Putting -----------------------------------------------------------------------------------

-- Returns the parts of a multi that puts entries into a bucket. The first part checks that the bucket is not sealed (except in `later`);
-- then there are two parts for each entry. entries.ids: the entries that have an id (`says`: what its znode says in place of the lane);
-- entries.known: the znodes of the ids exist already.
function M:put_parts(lane, bucket, entries)
  local path, parts = layout.bucket_path(lane, bucket), {}
  if lane ~= self.later then parts[1] = { "check", path, 0 } end
  for i = 1, #entries do
    local entry = entries[i]
    local name = (entry.due and ("%013d-"):format(entry.due) or "") .. entry.tag .. "-q-"
    parts[#parts + 1] = { "create", path .. "/" .. name, layout.encode(entry), { sequential = true } }
    parts[#parts + 1] = { "set", lane.put_count, "" }
  end
  local made = entries.ids or {}
  for i = 1, #made do
    local place = ("%s %d %s"):format(made[i].says or lane.name, bucket, made[i].tag)
    local at = layout.id_path(self.path, made[i].id)
    parts[#parts + 1] = entries.known and { "set", at, place } or { "create", at, place }
  end
  return parts
end

local function bucket_for(self, lane, entries)
  if lane == self.later then return layout.slot_of(entries[1].due) end
  return self:tail(lane)
end

-- Call it after a put that was done. at: the index of the last create's result.
function M:after_put(lane, bucket, results, at)
  self:tell_time(results[at + 1])
  if lane ~= self.later and layout.sequence(results[at]) >= layout.BUCKET - 1 then roll(self, lane, bucket) end
end

local function make_missing(self, lane, bucket, entries)
  lane.tail = nil
  if lane == self.later then
    local ok, message, code = self:make(lane)
    if ok then ok, message, code = make(self, layout.bucket_path(lane, bucket)) end
    if not ok then return nil, message, code end
  end
  for i = 1, #(entries.ids or {}) do
    local at, folder = layout.id_path(self.path, entries.ids[i].id)
    local ok, message, code = make(self, entries.known and at or folder) -- `at`: somebody has deleted it
    if not ok then return nil, message, code end
  end
  return true
end

-- Appends entries to a lane, all or none. `extra`: more parts for the same multi. `done()`, if given, finds out after a lost answer whether
-- the request was done. True; or nil, message, code: no_node if a znode of `extra` does not exist, node_exists if an id is known.
function M:append(lane, entries, extra, done)
  local missing = 0
  while true do
    local bucket, message, code = bucket_for(self, lane, entries)
    if not bucket then return nil, message, code end
    local results
    local parts = self:put_parts(lane, bucket, entries)
    for i = 1, #(extra or {}) do parts[#parts + 1] = extra[i] end
    results, message, code = requests.transact(self.session, parts, was_put, self, lane, bucket, entries, done)
    if results then
      if results ~= true then self:after_put(lane, bucket, results, 2 * #entries - (lane == self.later and 1 or 0)) end
      return true
    end
    if code == "no_node" and missing < ROUNDS then
      missing = missing + 1
      if extra and not self:all_there(extra) then return nil, message, code end
      local ok, problem, why = make_missing(self, lane, bucket, entries)
      if not ok then return nil, problem, why end
    elseif code == "bad_version" and not extra then
      if lane.tail == bucket then lane.tail = nil end
    elseif not (code == "bad_version" and self:is_behind(lane, bucket)) then
      return nil, message, code
    end
  end
end

-- True if another bucket takes items now; then the next request uses that one. True also if the servers cannot be asked: the next request
-- says why.
function M:is_behind(lane, bucket)
  local stat = self.session:exists(layout.bucket_path(lane, bucket))
  if stat and stat.version == 0 then return false end
  if lane.tail == bucket then lane.tail = nil end
  return self:tail(lane) ~= bucket
end

-- True if every znode that these parts delete or change exists.
function M:all_there(parts)
  local made = {}
  for i = 1, #parts do
    if parts[i][1] == "create" then
      made[parts[i][2]] = true
    elseif not made[parts[i][2]] and self.session:exists(parts[i][2]) == false then
      return false
    end
  end
  return true
end

-- ---- Counting ----------------------------------------------------------------------------------

-- Returns the number of items in a lane, claimed ones included.
function M:length(lane)
  local out, message, code = self.session:exists(lane.out)
  if out == nil then return nil, message, code end
  local puts
  puts, message, code = self.session:exists(lane.put_count)
  if puts == nil then return nil, message, code end
  if not puts or not out then return 0 end
  return (puts.version - out.version) % 4294967296
end

-- Returns the number of items in the queue, without the dead letters.
function M:size()
  local lanes, message, code = self:list_lanes()
  if not lanes then return nil, message, code end
  lanes[#lanes + 1] = self.later
  local sum = 0
  for i = 1, #lanes do
    local length
    length, message, code = self:length(lanes[i])
    if not length then return nil, message, code end
    sum = sum + length
  end
  return sum
end

-- Returns the lanes of all priorities, the most urgent first.
function M:list_lanes()
  local names, message, code = self.session:children(self.path .. "/lanes")
  if code == "no_node" then return {} end
  if not names then return nil, message, code end
  table.sort(names)
  local lanes = {}
  for i = 1, #names do
    local priority = layout.priority_number(names[i])
    if priority then lanes[#lanes + 1] = self:lane(priority) end
  end
  return lanes
end

core.own(debug.getinfo(1, "S").source)
return M
