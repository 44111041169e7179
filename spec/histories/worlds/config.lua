-- Configuration. The rules:
-- Each value that `get` returns existed, and values come in the leader's order.
-- A successful write is in the history once. A failed write is not in it.
-- No write comes between the value that an update or a conditional set has read and the value that it writes.
-- If a write is declined, the reason was true at some moment of the call.
-- While the data do not decode, `get` returns the last good value.
-- When the faults are over, `get` returns what the leader has.
-- In some histories an allocation fails now and then.

local PATH = "/f/conf"
local SLACK = 0.02 -- seconds: the trace rounds
local DEFAULT = { id = "default" }
local GARBAGE = "garbage"

-- A call whose write may have been done, or may still be done.
local DOUBTFUL = { connection_loss = true, canceled = true, closed = true }

-- ---- The codec -----------------------------------------------------------------------------------

-- A value is { id =, before = }: the call that wrote it, and the call whose value it replaced.
local codec = {}

-- A codec that sometimes waits.
local function slow_codec(h, zk)
  return { encode = codec.encode, decode = function(data)
    if not h.settled and h:chance(0.3) then zk.sleep(h:within(0.01)) end
    return codec.decode(data)
  end }
end

function codec.encode(value)
  if value.broken then error "cannot encode" end
  return value.id .. " after " .. tostring(value.before)
end

function codec.decode(data)
  local id, before = data:match "^(%S+) after (%S+)$"
  if not id then return nil, "no value" end
  return { id = id, before = before }
end

-- ---- What the leader had -------------------------------------------------------------------------

-- A rule that needs the history of the leader, which is complete only at the end.
local function later(h, fn) h.rules[#h.rules + 1] = fn end

-- Each state of the znode: { at, there, mzxid, czxid, data }; in the first one it is not there.
local function states_of(h)
  if h.states then return h.states end
  local states = { { at = -1, there = false } }
  for _, change in ipairs(h.changes) do
    local before = states[#states]
    if change.path == PATH and change.kind ~= "set_acl" then
      local zxid = ("%016x"):format(tonumber(change.zxid, 16))
      states[#states + 1] = { at = change.at, there = change.kind ~= "delete", mzxid = zxid,
        czxid = change.kind == "create" and zxid or before.czxid, data = change.data }
    end
  end
  h.states = states
  return states
end

local function value_in(state) return state.data and codec.decode(state.data) end

-- True if the znode was in a state that fits at some moment between `from` and `to`.
local function was(h, from, to, fits)
  local states = states_of(h)
  for i, state in ipairs(states) do
    local ends = states[i + 1] and states[i + 1].at or math.huge
    if state.at <= to + SLACK and ends >= from - SLACK and fits(state) then return true end
  end
  return false
end

local function is(state, stat)
  if not stat then return not state.there end
  return state.there and state.mzxid == stat.mzxid and state.czxid == stat.czxid
end

-- ---- The rules of the writes ---------------------------------------------------------------------

local function check_call(h, call, place)
  h:expect(place or not call.done, "%s was answered and is not in the history", call.id)
  if not place then return end
  h:expect(not call.failed, "%s failed with %s and is in the history", call.id, call.failed or "")
  local at = h.states[place].at
  h:expect(at >= call.began - SLACK and (not call.done or at <= call.ended + SLACK), "%s was done outside of its call", call.id)
end

local function check_follows(h, call, place)
  local value, before = value_in(h.states[place]), h.states[place - 1]
  if not call.conditional then return end
  local seen = value_in(before) or DEFAULT
  h:expect(before.data == nil or value_in(before), "%s follows data that do not decode", call.id)
  h:expect(seen.id == value.before, "%s follows %s but has read %s", call.id, seen.id, value.before)
  if call.stat then h:expect(is(before, call.stat), "%s does not follow the state that it expects", call.id) end
end

local function check_writes(h)
  local places = {}
  for place, state in ipairs(states_of(h)) do
    local value = value_in(state)
    h:expect(value or not state.data or state.data == GARBAGE, "no call has written %s", tostring(state.data))
    if value then
      h:expect(h.calls[value.id], "no call has written %s", value.id)
      h:expect(not places[value.id], "%s was done twice", value.id)
      places[value.id] = place
      check_follows(h, h.calls[value.id], place)
    end
  end
  for id, call in pairs(h.calls) do check_call(h, call, places[id]) end
end

-- ---- Writers -------------------------------------------------------------------------------------

local function some_limit(h) return h:chance(0.3) and { timeout = h:chance(0.3) and 0 or h:within(6) } or nil end

local function begin(h, name, conditional)
  h.number = h.number + 1
  local call = { id = ("%s:%d"):format(name, h.number), began = h.world:now(), conditional = conditional }
  h.calls[call.id] = call
  return call
end

-- Codes that no fault explains are violations.
local function finish(h, call, allowed, done, message, code)
  call.ended = h.world:now()
  if done then
    call.done = true
    return
  end
  if done == false then
    call.failed = "false"
    return
  end
  h:expect(DOUBTFUL[code] or code == "timeout" or allowed[code] or h.starves and code == "no_memory", "%s: %s", call.id, message)
  if not DOUBTFUL[code] then call.failed = code end
end

local function set(h, zk, config, name)
  local call = begin(h, name, false)
  finish(h, call, {}, h:attempt(zk, function() return config:set({ id = call.id }, nil, some_limit(h)) end))
end

-- A set on the condition that the znode has not changed since `get`.
local function set_if(h, zk, config, name)
  local call = begin(h, name, true)
  local value, stat = config:get()
  if not stat then return end
  call.stat = stat
  finish(h, call, { bad_version = true }, h:attempt(zk, function()
    return config:set({ id = call.id, before = value.id }, stat, some_limit(h))
  end))
  if call.failed == "bad_version" then
    later(h, function()
      h:expect(was(h, call.began, call.ended, function(state) return not is(state, stat) end), "%s: the expected state was there", call.id)
    end)
  end
end

local function declined(h, call, seen)
  h:expect(seen, "%s returns false, and fn was not called", call.id)
  later(h, function()
    h:expect(was(h, call.began, call.ended, function(state)
      return state.data == seen.data and (not seen.stat or is(state, seen.stat))
    end), "%s declines %s, which was not there from %.3f to %.3f", call.id, tostring(seen.data), call.began, call.ended)
  end)
end

local function update(h, zk, config, name)
  local call, declines, broken, seen = begin(h, name, true), h:chance(0.2), h:chance(0.05), nil
  finish(h, call, { conflict = true, error = broken }, h:attempt(zk, function()
    return config:update(function(value, stat)
      seen = { data = value.id ~= DEFAULT.id and codec.encode(value) or nil, stat = stat }
      h:expect(not value.touched, "%s: fn gets a value that was touched", call.id)
      value.touched = true
      if h:chance(0.1) then zk.sleep(h:within(1)) end
      if declines then return nil end
      return { id = call.id, before = value.id, broken = broken }
    end, some_limit(h))
  end))
  if call.failed == "false" then
    h:expect(declines, "%s returns false", call.id)
    declined(h, call, seen)
  end
  if call.failed == "conflict" then
    later(h, function()
      h:expect(was(h, call.began, call.ended, function(state) return state.data and not value_in(state) end),
        "%s: all data decode", call.id)
    end)
  end
end

local function writer(h, zk, config, name)
  for _ = 1, h:below(8) do
    zk.sleep(h:chance(0.6) and 0 or h:within(6))
    h:pick { update, update, update, set, set_if, set_if }(h, zk, config, name)
  end
end

-- Writes data that do not decode, deletes the znode, or creates it.
local function stranger(h, zk, session)
  for _ = 1, h:below(6) do
    zk.sleep(h:within(h:chance(0.5) and 0.1 or 6))
    local choice = h:below(4)
    if choice == 1 then session:set(PATH, GARBAGE, nil, { timeout = 5 }) end
    if choice == 2 then session:delete_tree(PATH, { timeout = 5 }) end
    if choice == 3 then session:create(PATH, nil, { timeout = 5, parents = true }) end
    if choice == 4 then
      local call = begin(h, "stranger", false)
      session:create(PATH, codec.encode { id = call.id }, { timeout = 5, parents = true })
    end
  end
end

-- ---- Readers -------------------------------------------------------------------------------------

-- Each value that `get` returns existed, and is newer than the value before.
local function check_shown(h, value, stat, last)
  if not stat then
    h:expect(value.id == DEFAULT.id, "%s is shown without a stat", value.id)
    return
  end
  local id, now = value.id, h.world:now()
  later(h, function()
    h:expect(was(h, -1, now, function(state)
      return is(state, stat) and (value_in(state) or not state.data and DEFAULT or {}).id == id
    end), "%s was never there as %s", id, stat.mzxid)
  end)
  h:expect(not last.stat or stat.mzxid >= last.stat.mzxid and stat.czxid >= last.stat.czxid, "%s comes after a newer one", value.id)
  last.stat = stat
end

local function is_late(h, code)
  return code == "timeout" or code == "connection_loss" or code == "canceled" or h.starves and code == "no_memory"
end

local function looker(h, zk, config)
  local last = {}
  while not h.healed do
    zk.sleep(h:within(h:chance(0.5) and 0.05 or 3))
    local value, stat = config:get()
    check_shown(h, value, stat, last)
    if h:chance(0.1) then
      local ok, message, code = h:attempt(zk, function() return config:await(function() return h:chance(0.2) end, h:within(4)) end)
      h:expect(ok or is_late(h, code), "await: %s", message)
    end
  end
end

local function follower(h, zk, config)
  local changes, last, told = config:changes(), {}, nil
  while not h.settled do
    local value, stat, code = changes:next(h:within(4))
    if value then
      check_shown(h, value, stat, last)
      h:expect(not (told and told.stat and stat) or told.stat.mzxid ~= stat.mzxid, "a state is reported twice")
      told = { id = value.id, stat = stat }
    else
      h:expect(is_late(h, code), "next: %s", stat)
    end
    if h:chance(0.3) then zk.sleep(h:within(6)) end
  end
  local value, stat = config:get()
  local rest = changes:next(0)
  h:expect(rest == nil, "a change is reported late: %s", rest and rest.id)
  h:expect(told and told.id == value.id and (told.stat or {}).mzxid == (stat or {}).mzxid, "a reader does not know of %s", value.id)
end

-- After the faults: waits until the copy is current.
local function check_current(h, config)
  h:expect(config:await(function() return config:age() == 0 end, 200) or config:age() == 0, "the age is %f", config:age())
  local value, stat = config:get()
  local states = states_of(h)
  local state = states[#states]
  local expected = value_in(state)
  if state.data and not expected then
    local message, code = config:problem()
    h:expect(code == "conflict" and message, "data that do not decode are not reported")
    h:expect(not stat or stat.mzxid < state.mzxid, "data that do not decode are shown")
    return
  end
  h:expect(not config:problem(), "a problem is reported: %s", config:problem())
  h:expect(value.id == (expected or DEFAULT).id and is(state, stat), "get gives %s, but the leader has %s", value.id, tostring(state.data))
end

local function opened(h, zk, session)
  while true do
    local config, message, code = session:config(PATH, { codec = h.slow and slow_codec(h, zk) or codec, default = DEFAULT })
    if config then return config end
    h:expect(h.starves and code == "no_memory", "config: %s", message)
    zk.sleep(0.1)
  end
end

return function(h)
  h.calls, h.rules, h.number = {}, {}, 0
  local book = {} -- no other reference, so that `check` can drop them
  for place = 1, 1 + h:below(3) do
    local zk = h:process()
    local session = h:session(zk)
    h:user("opener " .. place, zk, function()
      local config = opened(h, zk, session)
      book[#book + 1] = config
      for number = 1, h:below(3) do
        local name = ("%d.%d"):format(place, number)
        h:user("writer " .. name, zk, function() writer(h, zk, config, name) end)
      end
      h:user("looker " .. place, zk, function() looker(h, zk, config) end)
      h:user("follower " .. place, zk, function() follower(h, zk, config) end)
    end)
    if h:chance(0.5) then h:user("stranger " .. place, zk, function() stranger(h, zk, session) end) end
  end
  h.starves, h.slow = h:chance(0.3), h:chance(0.2)
  function h.settle()
    h.world:advance(60)
    h.settled = true
  end
  function h.check()
    h.world:advance(30) -- until all canceled calls have ended
    for _, config in ipairs(book) do check_current(h, config) end
    check_writes(h)
    for _, rule in ipairs(h.rules) do rule() end
    for i, config in ipairs(book) do
      config:close()
      book[i] = nil
    end
    collectgarbage()
    collectgarbage()
  end
end
